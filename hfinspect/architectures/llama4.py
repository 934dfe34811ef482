"""Llama 4 (Meta 2025), text and vision. Source of shapes: transformers/models/llama4.

Every ``interleave_moe_layer_step``-th layer has one shared and many routed experts, which files
hold fused (experts, in, out); the others a dense MLP of their own width.  The vision tower unfolds
patches through a linear and shuffles pixels into a projector of its own.
"""

from collections.abc import Callable

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import causal_lm
from ..layers.vision import pair, patch_count
from ..layers.windows import every, windows
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Weight,
)  # fmt: skip

# ---- text


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=5120)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number("rms_norm_eps", default=1e-5), class_name="Llama4TextRMSNorm"
    )


def gated(c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    h = _hidden(c)
    return Module(
        "Llama4TextMLP",
        gate_proj=Linear(h, inner, bias=False, kind=kind or "gate"),
        up_proj=Linear(h, inner, bias=False, kind=kind or "up"),
        down_proj=Linear(inner, h, bias=False, kind=kind or "down"),
        activation_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


def sparse(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=8192)
    count = c.count("num_local_experts", default=16, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=1)
    return Module(
        "Llama4TextMoe",
        experts=Module(
            "Llama4TextExperts",
            gate_up_proj=Weight(count, h, inner * 2),
            down_proj=Weight(count, inner, h),
            act_fn=activation(c.text("hidden_act", default="silu")),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        router=Linear(
            h, count, bias=False, component=Component.ROUTER, class_name="Llama4Router"
        ),
        shared_expert=gated(c, inner, "shared_expert"),
        component=Component.MLP,
    )  # fmt: skip


def layer(c: ModelConfig, mlp: Module) -> Module:
    h = _hidden(c)
    # A head_dim that is present and null means hidden / heads; absent it is 128.
    head_dim = None if "head_dim" in c.values else 128
    return Module(
        "Llama4TextDecoderLayer",
        self_attn=grouped_attention(
            "Llama4TextAttention",
            h,
            grouped_heads(c, h, heads=40, kv=8, head_dim=head_dim),
            bias=c.flag("attention_bias", default=False),
        ),
        feed_forward=mlp,
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def sparse_layers(c: ModelConfig, count: int) -> set[int]:
    """moe_layers, else every interleave_moe_layer_step-th."""
    step = int(c.dim("interleave_moe_layer_step", default=1))
    return {int(i) for i in c.dims("moe_layers", default=range(step - 1, count, step), minimum=0)}


def _without_rope(c: ModelConfig) -> Callable[[int, int], bool]:
    """Layers without rotary positions see everything: zeros of ``no_rope_layers``, or every
    ``no_rope_layer_interval``-th."""
    listed = c.raw("no_rope_layers")
    if isinstance(listed, list) and listed:
        return lambda i, _: i < len(listed) and not listed[i]
    return every(int(c.dim("no_rope_layer_interval", default=4)))


def text_model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=48))
    routed = sparse_layers(c, count)
    with_experts = layer(c, sparse(c))
    dense = layer(c, gated(c, c.dim("intermediate_size_mlp", default=16384)))
    return Module(
        "Llama4TextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=202048), _hidden(c)),
        layers=Layers(
            (with_experts if i in routed else dense for i in range(count)),
            windows=windows(c, 8192, _without_rope(c), key="attention_chunk_size"),
        ),
        norm=_norm(c),
    )


_causal = causal_lm("Llama4ForCausalLM", text_model)

# ---- vision


def vision_layer(c: ModelConfig, h: Dim) -> Module:
    heads = c.dim("num_attention_heads", default=16)
    width, inner = heads * (h // heads), c.dim("intermediate_size", default=5632)
    return Module(
        "Llama4VisionEncoderLayer",
        self_attn=Module(
            "Llama4VisionAttention",
            q_proj=Linear(h, width, kind="query"),
            k_proj=Linear(h, width, kind="key"),
            v_proj=Linear(h, width, kind="value"),
            o_proj=Linear(width, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "Llama4VisionMLP",
            activation_fn=Activation("GELU", "approximate='none'"),
            fc1=Linear(h, inner, kind="up"),
            fc2=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
        input_layernorm=LayerNorm(h),
        post_attention_layernorm=LayerNorm(h),
    )


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


def vision_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    patch = pair(c, "patch_size", default=14)
    patches = patch_count(pair(c, "image_size", default=448), patch)
    layers = Layers.of(c.count("num_hidden_layers", default=34), vision_layer(c, h))
    return Module(
        "Llama4VisionModel",
        class_embedding=Weight(h, component=Component.EMBEDDING, kind="class_token"),
        positional_embedding_vlm=Weight(
            patches + 1, h, component=Component.EMBEDDING, kind="position"
        ),
        patch_embedding=Module(
            "Llama4UnfoldConvolution",
            linear=Linear(
                c.dim("num_channels", default=3) * patch[0] * patch[1], h, bias=False, kind="patch"
            ),
            component=Component.EMBEDDING,
        ),
        layernorm_pre=LayerNorm(h),
        layernorm_post=LayerNorm(h),
        model=Module("Llama4VisionEncoder", layers=layers),
        vision_adapter=vision_adapter(c),
        part="vision",
    )


# ---- both


def conditional_generation(c: ModelConfig) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    language = _causal(text)
    language.scope = True  # the text tower decides about tying
    return Module(
        "Llama4ForConditionalGeneration",
        vision_model=vision_model(vision),
        multi_modal_projector=Module(
            "Llama4MultiModalProjector",
            linear_1=Linear(
                vision.dim("vision_output_dim", default=7680), _hidden(text), bias=False
            ),
            component=Component.PROJECTOR,
            part="projector",
        ),
        language_model=language,
    )


register(
    "llama4_text",
    {"Llama4ForCausalLM": _causal, "Llama4TextModel": text_model},
    base_prefix="model",
    aliases={"language_model.": ""},
    category="text decoder",
)

register_part("llama4_vision_model", "Llama4VisionModel", vision_model, "vision")

register_part("llama4", "Llama4ForConditionalGeneration", conditional_generation, "multimodal")
