"""DINOv2 with registers (Darcet et al. 2023). Source: transformers/models/dinov2_with_registers.

DINOv2 (dinov2.py) with tokens of no patch, where the model may put down what it likes.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.vision import labels_classifier
from ..trees.catalog import register
from ..trees.modules import Module, Parameter, Weight
from . import dinov2

_NAME = "Dinov2WithRegisters"


def _with_registers(c: ModelConfig, built: Module) -> Module:
    table = built["embeddings"]
    assert isinstance(table, Module)
    parts: dict[str, Module | Parameter] = {}
    for name, part in table.children.items():
        parts[name] = part
        if name == "mask_token":
            count = c.dim("num_register_tokens", default=4, minimum=0)
            hidden = c.dim("hidden_size", default=768)
            parts["register_tokens"] = Weight(
                1, count, hidden, component=Component.EMBEDDING, kind="register_token"
            )
    table.children = parts
    return renamed(built, "Dinov2", _NAME)


def _config(c: ModelConfig) -> ModelConfig:
    # The class always has the token of masked patches, and its patches are of 16 pixels.
    return ModelConfig({**c.with_defaults(patch_size=16).values, "use_mask_token": True}, c.path)


def model(c: ModelConfig) -> Module:
    return _with_registers(c, dinov2.model(_config(c)))


def backbone(c: ModelConfig) -> Module:
    return _with_registers(c, dinov2.model(_config(c), name="Dinov2Backbone"))


def image_classification(c: ModelConfig) -> Module:
    hidden = c.dim("hidden_size", default=768)
    return Module(
        f"{_NAME}ForImageClassification",
        dinov2_with_registers=model(c),
        classifier=labels_classifier(c, 2 * hidden),
        part="vision",
    )


register(
    "dinov2_with_registers",
    {
        f"{_NAME}Model": model,
        f"{_NAME}ForImageClassification": image_classification,
        f"{_NAME}Backbone": backbone,
    },
    base=f"{_NAME}Model",
    base_prefix="dinov2_with_registers",
    category="vision",
)
