"""What every hostile file of these tests runs, and the shape of a sample."""

from __future__ import annotations

from typing import NamedTuple

from ..formats.torch_files import state_pickle
from .opcodes import call, pickled

TOUCH = "touch canary"
OPEN = "open('canary','w')"
BENIGN = state_pickle({"a.weight": (2, 2)})


class Sample(NamedTuple):
    """``file`` as it would be called; ``loader`` is a key of ``run_loaders.LOADERS``."""

    category: str
    title: str
    file: str
    loader: str
    data: bytes


EVIL = call("os.system", TOUCH)
EVIL_PICKLE = pickled(EVIL)
