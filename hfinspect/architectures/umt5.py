"""UMT5 (Chung et al. 2023). Source of shapes: transformers/models/umt5/modeling_umt5.py.

mT5 in which every layer has its own table of relative positions, not the first alone.
"""

from ..core.config import ModelConfig
from ..layers.composing import changed, renamed_classes, with_defaults
from ..trees.catalog import register
from ..trees.modules import Layers, Module, each_module
from .mt5 import DEFAULTS
from .t5 import CLASSES as T5_CLASSES
from .t5 import SYNONYMS


def _first_everywhere(_: ModelConfig, root: Module) -> None:
    """T5's stacks with the first block, which holds the table, in place of all others."""
    for module in each_module(root):
        blocks = module.children.get("block")
        if isinstance(blocks, Layers) and blocks.children:
            equal = Layers.of(len(blocks.children), blocks.inside("0"))
            equal.static = blocks.static
            module.children["block"] = equal


_CLASSES = renamed_classes(changed(T5_CLASSES, _first_everywhere), "T5", "UMT5")
register("umt5", with_defaults(DEFAULTS, _CLASSES, synonyms=SYNONYMS), category="encoder-decoder")
