"""Idefics3 (Laurençon et al. 2024). Source: transformers/models/idefics3/modeling_idefics3.py.

A SigLIP tower without pooling, one linear layer over squares of patches joined together, and Llama.
SmolVLM is the same with other sizes (smolvlm.py); Idefics2 has the same tower.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.multimodal import decoder, projector, worded
from ..layers.vision import (
    clip_encoder,
    clip_layer,
    pair,
    patch_conv,
    patch_count,
    position_table,
)
from ..trees.catalog import Builder, register, register_part
from ..trees.modules import LayerNorm, Linear, Module


def vision_model(name: str, c: ModelConfig, *, width: int = 1152) -> Module:
    """``width`` is the config class's own default hidden size."""
    h = c.dim("hidden_size", default=width)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=32)
    eps = c.number("layer_norm_eps", default=1e-6)
    layer = clip_layer(
        name,
        h,
        c.dim("intermediate_size", default=3072),
        eps=eps,
        act=c.text("hidden_act", default="gelu_pytorch_tanh"),
        attention_name=f"{name}VisionAttention",
        mlp_name=f"{name}VisionMLP",
    )
    return Module(
        f"{name}VisionTransformer",
        embeddings=Module(
            f"{name}VisionEmbeddings",
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch),
            position_embedding=position_table(patch_count(image, patch), h),
            component=Component.EMBEDDING,
        ),
        encoder=clip_encoder(name, c.count("num_hidden_layers", default=12), layer),
        post_layernorm=LayerNorm(h, eps=eps),
        part="vision",
    )


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
