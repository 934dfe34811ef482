"""Component, part and layer of each tensor: from the catalog's tree, or from its name.

``place`` asks the tree where the architecture is known and ``by_name`` where it is not. Imports
trees, formats and below. A new word of tensor names is a line in ``words``, what no word decides is
a row in the tables of ``rules``; names that nothing explains stay ``other``.
"""
