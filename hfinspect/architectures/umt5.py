"""UMT5 (Chung et al. 2023). Source of shapes: transformers/models/umt5/modeling_umt5.py.

mT5 in which every layer has its own table of relative positions, not the first alone.
"""

from ..core.config import ModelConfig
from ..layers.composing import changed
from ..trees.modules import Layers, Module, each_module
from .mt5 import DEFAULTS
from .t5 import CLASSES, register_kin


def _first_everywhere(_: ModelConfig, root: Module) -> None:
    """T5's stacks with the first block, which holds the table, in place of all others."""
    for module in each_module(root):
        blocks = module.children.get("block")
        if isinstance(blocks, Layers) and blocks.children:
            equal = Layers.of(len(blocks.children), blocks.inside("0"))
            equal.static = blocks.static
            module.children["block"] = equal


register_kin("umt5", "UMT5", DEFAULTS, changed(CLASSES, _first_everywhere))
