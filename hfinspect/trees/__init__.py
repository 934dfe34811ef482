"""torch.nn with shapes only, and what a tree of such modules gives.

Modules and their tensors, expansion to names and shapes, the printed structure, the catalog that
finds a family by model_type or class, and the prediction from a config. Imports core and errors.
A new kind of module goes to ``modules``; what only models share goes to ``layers``.
"""
