"""UMT5 (Chung et al. 2023). Source of shapes: transformers/models/umt5/modeling_umt5.py.

mT5 in which every layer has its own table of relative positions, not the first alone.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed_classes, with_defaults
from ..trees.catalog import Builder, register
from ..trees.modules import Layers, Module
from .mt5 import DEFAULTS
from .t5 import CLASSES as T5_CLASSES
from .t5 import SYNONYMS


def _first_everywhere(module: Module) -> Module:
    """T5's stacks with the first block, which holds the table, in place of all others."""
    for child in list(module.children.values()):
        if not isinstance(child, Module):
            continue
        if child.class_name == "T5Stack":
            blocks = child["block"]
            assert isinstance(blocks, Layers)
            first = blocks.children.get("0")
            if isinstance(first, Module):
                equal = child.children["block"] = Layers.of(len(blocks.children), first)
                equal.static = blocks.static
        else:
            _first_everywhere(child)
    return module


def _with_positions(build: Builder) -> Builder:
    def positioned(c: ModelConfig) -> Module:
        return _first_everywhere(build(c))

    return positioned


_classes = {name: _with_positions(build) for name, build in T5_CLASSES.items()}

register(
    "umt5",
    with_defaults(DEFAULTS, renamed_classes(_classes, "T5", "UMT5"), synonyms=SYNONYMS),
    category="encoder-decoder",
)
