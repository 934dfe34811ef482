"""Llama 4 (Meta 2025), text and vision. Source of shapes: transformers/models/llama4.

Every ``interleave_moe_layer_step``-th layer has one shared and many routed experts, which files
hold fused (experts, in, out); the others a dense MLP of their own width.  The vision tower unfolds
patches through a linear and shuffles pixels into a projector of its own.
"""

from collections.abc import Callable

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import (
    Heads,
    activation,
    grouped_attention,
    two_layer_mlp,
)
from ..layers.composing import respelled
from ..layers.decoders import Decoder, gated_of, pre_norm
from ..layers.heads import register_tower
from ..layers.multimodal import projector
from ..layers.vision import pair, patch_count
from ..layers.windows import every, windows
from ..trees.catalog import auto_class, register_part
from ..trees.modules import (
    Activation,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)  # fmt: skip

# ---- text


def gated(d: Decoder, c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    return respelled(gated_of(d, c, inner, kind), {"act_fn": "activation_fn"})


def sparse(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), d.inner(c)
    count = c.count("num_local_experts", default=16, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=1)
    return Module(
        "Llama4TextMoe",
        experts=Module(
            "Llama4TextExperts",
            gate_up_proj=Weight(count, h, inner * 2),
            down_proj=Weight(count, inner, h),
            act_fn=activation(d.act(c)),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        router=Linear(h, count, bias=False, component=Component.ROUTER, class_name="Llama4Router"),
        shared_expert=gated(d, c, inner, "shared_expert"),
        component=Component.MLP,
    )


def layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    return respelled(pre_norm(d, c, kind), {"mlp": "feed_forward"})


def kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    """moe_layers, else every interleave_moe_layer_step-th, have experts."""
    step = int(c.dim("interleave_moe_layer_step", default=1))
    routed = set(c.dims("moe_layers", default=range(step - 1, layers, step), minimum=0))
    return ["sparse" if i in routed else "dense" for i in range(layers)]


def _without_rope(c: ModelConfig) -> Callable[[int, int], bool]:
    """Layers without rotary positions see everything: zeros of ``no_rope_layers``, or every
    ``no_rope_layer_interval``-th."""
    listed = c.raw("no_rope_layers")
    if isinstance(listed, list) and listed:
        return lambda i, _: i < len(listed) and not listed[i]
    return every(int(c.dim("no_rope_layer_interval", default=4)))


TEXT = Decoder(
    "Llama4Text", vocab_size=202048, hidden_size=5120, intermediate_size=8192,
    num_hidden_layers=48, num_attention_heads=40, num_key_value_heads=8, head_dim=128,
    null_head_dim=True, rms_norm_eps=1e-5, layer=layer, kinds=kinds, moe=sparse, rotary=False,
    mlp=lambda d, c: gated(d, c, c.dim("intermediate_size_mlp", default=16384)),
    windows=lambda c: windows(c, 8192, _without_rope(c), key="attention_chunk_size"),
)  # fmt: skip
register_tower("llama4_text", "Llama4", TEXT.model, aliases={"language_model.": ""})

# ---- vision


def vision_layer(c: ModelConfig, h: Dim) -> Module:
    heads = c.dim("num_attention_heads", default=16)
    plain = {"activation_fn": Activation("GELU", "approximate='none'")}
    mlp = two_layer_mlp("Llama4VisionMLP", h, c.dim("intermediate_size", default=5632))
    mlp.children = {**plain, **mlp.children}
    return Module(
        "Llama4VisionEncoderLayer",
        self_attn=grouped_attention(
            "Llama4VisionAttention", h, Heads(heads, heads, h // heads), bias=True
        ),
        mlp=mlp,
        input_layernorm=LayerNorm(h),
        post_attention_layernorm=LayerNorm(h),
    )


def vision_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    patch = pair(c, "patch_size", default=14)
    positions = patch_count(pair(c, "image_size", default=448), patch) + 1
    pixels = c.dim("num_channels", default=3) * patch[0] * patch[1]
    layers = Layers.of(c.count("num_hidden_layers", default=34), vision_layer(c, h))
    return Module(
        "Llama4VisionModel",
        class_embedding=Weight(h, component=Component.EMBEDDING, kind="class_token"),
        positional_embedding_vlm=Weight(
            positions, h, component=Component.EMBEDDING, kind="position"
        ),
        patch_embedding=Module(
            "Llama4UnfoldConvolution",
            linear=Linear(pixels, h, bias=False, kind="patch"),
            component=Component.EMBEDDING,
        ),
        layernorm_pre=LayerNorm(h),
        layernorm_post=LayerNorm(h),
        model=Module("Llama4VisionEncoder", layers=layers),
        vision_adapter=vision_adapter(c),
        part="vision",
    )


def conditional_generation(c: ModelConfig) -> Module:
    """The text tower decides about tying."""
    text, vision = c.section("text_config"), c.section("vision_config")
    width = vision.dim("vision_output_dim", default=7680)
    return Module(
        "Llama4ForConditionalGeneration",
        vision_model=vision_model(vision),
        multi_modal_projector=projector(
            "Llama4MultiModalProjector", linear_1=Linear(width, TEXT.width(text), bias=False)
        ),
        language_model=auto_class(text, "ForCausalLM", default_type="llama4_text"),
    )


register_part("llama4_vision_model", "Llama4VisionModel", vision_model, "vision")
register_part("llama4", "Llama4ForConditionalGeneration", conditional_generation, "multimodal")


def vision_adapter(c: ModelConfig) -> Module:
    """Pixel shuffle, then two linears; the first takes the width the config calls the tower's
    intermediate size."""
    inner = c.dim("projector_input_dim", default=4096)
    out = c.dim("projector_output_dim", default=4096)
    return Module(
        "Llama4VisionPixelShuffleMLP",
        mlp=Module(
            "Llama4VisionMLP2",
            fc1=Linear(c.dim("intermediate_size", default=5632), inner, bias=False),
            fc2=Linear(out, out, bias=False),
            activation_fn=Activation("GELU", "approximate='none'"),
        ),
        component=Component.PROJECTOR,
    )


# ---- both
