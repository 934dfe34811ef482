"""The nouns: refs, dims, tensors, components, config, checkpoint, results; each with its JSON form.

Plain frozen data without reading or printing. Imports nothing but errors. A new field goes to its
noun and its ``to_dict``, to ``schemas/`` and, where it is shown, to ``reports``.
"""
