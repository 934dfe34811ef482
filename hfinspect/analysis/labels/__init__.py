"""Component, part and layer of each tensor: from the catalog's tree, or from its name."""
