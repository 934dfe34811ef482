"""Pure functions on tensors: labels, quantisation, GGUF's names, counts, comparisons.

Neither reads nor prints. Imports architectures, formats and below. A new packing is a file in
``quantization/`` and a line in its ``registry``; a new word of tensor names goes to
``labels/words``.
"""
