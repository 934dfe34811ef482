"""Memory: weights, caches, activations, training; by engine.

Pure functions from an inspection and its prediction. Imports analysis and below. A new engine is
a file in ``engines/``, a new device one in ``devices``; what a block keeps between tokens is said
where its tensors are made (``trees/keeps``).
"""
