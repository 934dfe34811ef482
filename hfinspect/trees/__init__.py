"""torch.nn with shapes only, and what a tree of such modules gives.

Modules and their tensors, expansion to names and shapes, the printed structure, the catalog that
finds a family by model_type or class, and the prediction from a config. Imports core and errors.
A new kind of module goes to ``modules``; what only models share goes to ``layers``. The names that
most families are written in stand here: ``from ..trees import Dim, Linear, Module, ModelConfig``.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim, named
from .cache_layout import KeysValues, State
from .catalog import (
    Builder,
    auto_class,
    auto_model,
    builder,
    register,
    register_pair,
    register_part,
)
from .config_defaults import config_defaults
from .modules import (
    Activation,
    BatchNorm,
    Buffer,
    Conv,
    Dropout,
    Embedding,
    GroupNorm,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Parameter,
    RMSNorm,
    Sequential,
    Weight,
    WindowsOf,
    each_module,
)

__all__ = [
    "Activation", "BatchNorm", "Buffer", "Builder", "Component", "Conv", "Dim", "Dropout",
    "Embedding", "GroupNorm", "KeysValues", "LayerNorm", "Layers", "Linear", "ModelConfig",
    "Module", "ModuleList", "Parameter", "RMSNorm", "Sequential", "State", "Weight",
    "WindowsOf", "auto_class", "auto_model", "builder", "config_defaults", "each_module", "exact",
    "named", "register", "register_pair", "register_part",
]  # fmt: skip
