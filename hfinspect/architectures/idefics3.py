"""Idefics3 (Laurençon et al. 2024). Source: transformers/models/idefics3/modeling_idefics3.py.

A SigLIP tower without pooling, one linear layer over squares of patches joined together, and Llama.
SmolVLM is the same with other sizes (smolvlm.py); Idefics2 has the same tower.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.multimodal import decoder, projector, worded
from ..trees.catalog import Builder, builder, register, register_part
from ..trees.modules import Linear, Module


def vision_model(name: str, c: ModelConfig, *, width: int = 1152) -> Module:
    """Idefics2's under another name; ``width`` is the config class's own default hidden size."""
    tower = builder("Idefics2VisionTransformer")(c.with_defaults(hidden_size=width))
    return renamed(tower, "Idefics2", name)


def register_idefics3(name: str, model_type: str) -> None:
    def connector(c: ModelConfig, hidden: int) -> Module:
        side = c.dim("scale_factor", default=2)
        joined = c.section("vision_config").dim("hidden_size", default=1152) * side * side
        inner = Module(f"{name}SimpleMLP", proj=Linear(joined, hidden, bias=False))
        return projector(f"{name}Connector", modality_projection=inner)

    def base(c: ModelConfig) -> Module:
        text = decoder(c, "llama")
        return Module(
            f"{name}Model",
            vision_model=vision_model(name, c.section("vision_config")),
            connector=connector(c, text.hidden),
            text_model=text.base,
        )

    def vision(c: ModelConfig) -> Module:
        return vision_model(name, c.section("vision_config") if c.has("vision_config") else c)

    whole = f"{name}ForConditionalGeneration"
    classes: dict[str, Builder] = {
        whole: worded(whole, base, tied=False, text="text_model"),
        f"{name}Model": base,
        f"{name}VisionTransformer": vision,
    }
    register(model_type, classes, base=f"{name}Model", base_prefix="model", category="multimodal")
    register_part(f"{model_type}_vision", f"{name}VisionTransformer", vision, "vision")


register_idefics3("Idefics3", "idefics3")
