"""Llama 4 (Meta 2025), text and vision (transformers/models/llama4). Every
``interleave_moe_layer_step``-th layer has one shared and many routed experts, which files hold
fused (experts, in, out); the others a dense MLP of their own width."""

from collections.abc import Callable

from ..layers import mixtures as m
from ..layers.composing import respelled_classes
from ..layers.decoders import Decoder, gated_of, pre_norm
from ..layers.heads import register_tower
from ..layers.multimodal import projector
from ..layers.windows import every, windows
from ..trees import Component, Linear, ModelConfig, Module, auto_class, auto_model, register_part
from ..trees.config_defaults import config_defaults

_SPELLED = {"DecoderLayer": {"mlp": "feed_forward"}, "MLP": {"act_fn": "activation_fn"}}


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
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
    "Llama4Text",
    **config_defaults("llama4"),
    null_head_dim=True,
    kinds=_kinds,
    rotary=False,
    layer=lambda d, c, kind: respelled_classes(pre_norm(d, c, kind), _SPELLED, d.name),
    moe=m.sparse(
        "Moe",
        {
            "experts": m.stacked(act=True, transposed=True),
            "router": lambda x: Linear(
                x.width, x.count, False, component=Component.ROUTER, class_name="Llama4Router"
            ),
            "shared_expert": m.always,
        },
        count=m.counts("num_local_experts", default=16, minimum=1),
        used=1,
        shared=lambda _c, inner: inner,
    ),
    mlp=lambda d, c: gated_of(d, c, c.dim("intermediate_size_mlp", default=16384)),
    windows=lambda c: windows(c, 8192, _without_rope(c), key="attention_chunk_size"),
)
register_tower("llama4_text", "Llama4", TEXT.model, aliases={"language_model.": ""})


def conditional_generation(c: ModelConfig) -> Module:
    """The text tower decides about tying."""
    text = c.section("text_config")
    vision = c.section("vision_config")
    width = vision.dim("vision_output_dim", default=7680)
    return Module(
        "Llama4ForConditionalGeneration",
        vision_model=auto_model(vision, default_type="llama4_vision_model", part="vision"),
        multi_modal_projector=projector(
            "Llama4MultiModalProjector", linear_1=Linear(width, TEXT.width(text), bias=False)
        ),
        language_model=auto_class(text, "ForCausalLM", default_type="llama4_text"),
    )


register_part("llama4", "Llama4ForConditionalGeneration", conditional_generation, "multimodal")
