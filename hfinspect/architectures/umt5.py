"""UMT5 (Chung et al. 2023): mT5 in which every layer has its own table of relative positions, not
the first alone (transformers/models/umt5)."""

from ..layers.composing import changed
from ..trees import Layers, ModelConfig, Module, each_module
from .mt5 import DEFAULTS
from .t5 import CLASSES, register_kin


def _first_everywhere(_: ModelConfig, root: Module) -> None:
    for stack in each_module(root):
        blocks = stack.children.get("block")
        if isinstance(blocks, Layers) and blocks.children:
            blocks.children = dict.fromkeys(blocks.children, blocks["0"])
            blocks.count = len(blocks.children)


register_kin("umt5", "UMT5", DEFAULTS, changed(CLASSES, _first_everywhere))
