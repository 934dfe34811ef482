"""Idefics3 (Laurençon et al. 2024): a SigLIP tower without pooling (Idefics2's), one linear layer
over squares of patches, and Llama. Source: transformers/models/idefics3."""

from ..layers.composing import renamed
from ..layers.multimodal import decoder, projector, worded
from ..trees import Linear, ModelConfig, Module, builder, register, register_part


def vision_model(name: str, c: ModelConfig, *, width: int = 1152) -> Module:
    """Idefics2's under another name; ``width`` is the config class's own default hidden size."""
    tower = builder("Idefics2VisionTransformer")(c.with_defaults(hidden_size=width))
    return renamed(tower, "Idefics2", name)


def register_idefics3(name: str, model_type: str) -> None:
    def base(c: ModelConfig) -> Module:
        text = decoder(c, "llama")
        vision = c.section("vision_config")
        side = c.dim("scale_factor", default=2)
        joined = vision.dim("hidden_size", default=1152) * side * side
        inner = Module(f"{name}SimpleMLP", proj=Linear(joined, text.hidden, bias=False))
        return Module(
            f"{name}Model",
            vision_model=vision_model(name, vision),
            connector=projector(f"{name}Connector", modality_projection=inner),
            text_model=text.base,
        )

    def vision(c: ModelConfig) -> Module:
        return vision_model(name, c.section("vision_config") if c.has("vision_config") else c)

    class_name = f"{name}ForConditionalGeneration"
    tower = f"{name}VisionTransformer"
    generation = worded(class_name, base, tied=False, text="text_model")
    classes = {class_name: generation, f"{name}Model": base, tower: vision}
    register(model_type, classes, base=f"{name}Model", base_prefix="model", category="multimodal")
    register_part(f"{model_type}_vision", tower, vision, "vision")


register_idefics3("Idefics3", "idefics3")
