"""AutoRound: words as GPTQ or AWQ have them, or the layouts of compressed-tensors.

Source: auto_round/export (``packing_format``: auto_round:auto_gptq, auto_round:auto_awq,
auto_round:llm_compressor). Names tell which, module by module.
"""

from __future__ import annotations

from . import compressed
from . import endings as words
from .declared import Declared
from .decoding import Modules, Sheet


def read(modules: Modules, said: Declared, sheet: Sheet) -> None:
    """Every packed module."""
    words.read(modules, said, sheet)
    compressed.read(modules, said, sheet)
