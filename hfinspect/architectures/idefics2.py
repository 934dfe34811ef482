"""Idefics2 (Laurençon et al. 2024). Source: transformers/models/idefics2/modeling_idefics2.py.

A SigLIP tower without pooling, a gated projection to the text's width, a Perceiver that reads all
patches into 64 latents, and Mistral.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.multimodal import Decoder, decoder, projector, register_worded
from ..trees.catalog import register_part
from ..trees.modules import Layers, Linear, Module, RMSNorm, Weight
from .idefics3 import vision_model


def _mlp(inputs: int, inner: int, outputs: int, act: str | None) -> Module:
    return Module(
        "Idefics2MLP",
        gate_proj=Linear(inputs, inner, bias=False, kind="gate"),
        up_proj=Linear(inputs, inner, bias=False, kind="up"),
        down_proj=Linear(inner, outputs, bias=False, kind="down"),
        act_fn=activation(act),
    )


def resampler(c: ModelConfig, hidden: Dim, *, alone: bool = False) -> Module:
    """Latents attend to the patches and to themselves, layer by layer. All of it is a projector of
    the composite; ``alone``, its parts are what they are."""
    head = c.dim("resampler_head_dim", default=96)
    query = c.dim("resampler_n_heads", default=16) * head
    kv = c.dim("num_key_value_heads", default=4) * head

    def norm() -> Module:
        return RMSNorm(hidden, class_name="Idefics2RMSNorm")

    mlp = _mlp(hidden, 4 * hidden, hidden, c.text("hidden_act", default="silu"))
    mlp.component = Component.MLP if alone else None
    layer = Module(
        "Idefics2PerceiverLayer",
        input_latents_norm=norm(),
        input_context_norm=norm(),
        self_attn=Module(
            "Idefics2PerceiverAttention",
            q_proj=Linear(hidden, query, bias=False, kind="query"),
            k_proj=Linear(hidden, kv, bias=False, kind="key"),
            v_proj=Linear(hidden, kv, bias=False, kind="value"),
            o_proj=Linear(query, hidden, bias=False, kind="output"),
            component=Component.ATTENTION if alone else None,
        ),
        post_attention_layernorm=norm(),
        mlp=mlp,
    )
    return Module(
        "Idefics2PerceiverResampler",
        latents=Weight(
            c.dim("resampler_n_latents", default=64),
            hidden,
            component=Component.EMBEDDING if alone else None,
        ),
        layers=Layers.of(c.count("resampler_depth", default=3), layer),
        norm=norm(),
    )


def connector(c: ModelConfig, text: Decoder) -> Module:
    vision, section = c.section("vision_config"), c.section("text_config")
    # Mistral's own default stands in where the section is silent.
    inner = section.dim("intermediate_size", default=14336)
    return projector(
        "Idefics2Connector",
        modality_projection=_mlp(
            vision.dim("hidden_size", default=768), inner, text.hidden, section.text("hidden_act")
        ),
        # As wide as the text, whatever perceiver_config says.
        perceiver_resampler=resampler(c.section("perceiver_config"), text.hidden),
    )


def base(c: ModelConfig) -> Module:
    text = decoder(c, "mistral")
    return Module(
        "Idefics2Model",
        vision_model=vision_model("Idefics2", c.section("vision_config"), width=768),
        connector=connector(c, text),
        text_model=text.base,
    )


def vision_alone(c: ModelConfig) -> Module:
    return vision_model("Idefics2", c, width=768)


def resampler_alone(c: ModelConfig) -> Module:
    return resampler(c, c.dim("hidden_size", default=4096), alone=True)


register_worded("idefics2", "Idefics2", base, tied=False, text="text_model")
register_part("idefics2_vision", "Idefics2VisionTransformer", vision_alone, "vision")
register_part("idefics2_perceiver", "Idefics2PerceiverResampler", resampler_alone, "multimodal")
