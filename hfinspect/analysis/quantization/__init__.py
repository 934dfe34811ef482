"""What packed tensors and their bookkeeping stand for, known from headers and the quantisation
config.

One file per layout; ``registry`` maps the exact ``quant_method`` to it. A file reads the modules of
a checkpoint one by one, from tensor names and shapes: what the config claims is compared with the
shapes and never replaces them. What cannot be told is unknown, with a finding.
"""

from __future__ import annotations

from .decode import decode
from .decoding import Decoded, Decoding, Holds
from .packing import Packing, packing

__all__ = ["Decoded", "Decoding", "Holds", "Packing", "decode", "packing"]
