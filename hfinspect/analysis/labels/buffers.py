"""Which tensors hold no parameters: what a name and its neighbours show.

A file does not say which of its tensors a model trains. Tables of rotation, masks, counters and
running statistics have names of their own, which ``buffers.json`` lists by what they are; a frozen
batch norm is known by the counter that it lacks.  That nothing else is taken for a buffer is tested
on every class of transformers (``tests/analysis/test_real_modules.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from ...core import data_files

_TABLES: Final = data_files.read(__package__, "buffers.json")

#: Last segments that hold no parameters, each seen in files on the Hub or in what transformers
#: saves.
_LEAVES = frozenset(" ".join(chain.from_iterable(_TABLES["anywhere"].values())).split())

#: Last segments that are buffers in some modules only, by the module's name.
_IN_MODULES = {
    module: frozenset(leaves.split())
    for modules in _TABLES["in_modules"].values()
    for module, leaves in modules.items()
}

#: Modules of GGUF whose one tensor is a buffer: rope_freqs.weight, exp_probs_b.bias.
_GGUF_MODULES = frozenset({"rope_freqs", "rope_factors_long", "rope_factors_short", "exp_probs_b"})

#: Dtypes of no parameter: indexes, counters and masks. Narrower integers may be packed weights.
BUFFER_DTYPES = frozenset({"I64", "BOOL"})


def is_buffer(words: Sequence[str], *, is_frozen: bool, is_routing: bool) -> bool:
    """Of a name's lower-case segments. ``is_frozen``: the module has running statistics and does
    not count its batches, or the tensor is a table of sines; ``is_routing``: it stands next to
    experts."""
    leaf = words[-1]
    module = words[-2] if len(words) > 1 else ""
    if leaf in _LEAVES or module in _GGUF_MODULES or leaf in _IN_MODULES.get(module, ()):
        return True
    if is_frozen:
        return True
    # DeepSeek's files name the correction so: a router's matrix has no bias.
    return is_routing and module == "gate" and leaf == "bias"
