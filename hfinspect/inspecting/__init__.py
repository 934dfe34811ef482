"""What was read of a model, as the result that fits its layout.

A run (``inspect_run``) opens a target once, reads it once, and makes its result and its prediction
once, which go on together as ``Inspected``. Imports sizing, analysis, checkpoints and below.
A new layout gets a file of its own and a branch in ``model``.
"""
