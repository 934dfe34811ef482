"""What packed tensors and their bookkeeping stand for, from headers and the quantisation config.

A file reads the modules of a checkpoint one by one, from tensor names and shapes: what the config
claims is compared with the shapes and never replaces them. What cannot be known is unknown, with a
finding. Imports trees, formats and below. A new layout is a file with ``read`` (and ``plan``, where
a config predicts it) and its ``quant_method`` in ``registry``.
"""
