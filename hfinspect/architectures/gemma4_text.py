"""Gemma 4's text model (Gemma Team 2026; transformers/models/gemma4). Full attention has wider
heads and, where ``attention_k_eq_v``, no values. Small models have an embedding for every layer and
reuse keys and values in late ones; the large one has experts next to the dense MLP."""

from ..layers.blocks import Heads, gated_mlp, layer_overrides, layer_types, rms_norms
from ..layers.decoders import Decoder
from ..layers.experts import stacked_experts
from ..layers.heads import register_tower
from ..layers.windows import every, windows
from ..trees import Activation, Buffer, Component, Dim, Linear, ModelConfig, Module, Weight
from ..trees.config_defaults import config_defaults
from .gemma3n_text import FOUR_NORMS, GELU, attention, per_layer_gate, per_layer_tables, sharing

norm = rms_norms("Gemma4RMSNorm", 1e-6)
#: Heads of a layer, whether it takes keys and values of an earlier one, and sees everything.
Gemma4Kind = tuple[Heads, bool, bool]


def _per_layer(c: ModelConfig) -> Dim:
    return c.dim("hidden_size_per_layer_input", default=256, minimum=0)


def _heads(c: ModelConfig, i: int, kind: str) -> Heads:
    """Of layer ``i``: ``per_layer_config``, or the keys of full attention, may say others."""
    kv = c.dim("num_key_value_heads", default=4)
    width = c.dim("head_dim", default=256)
    if c.has("per_layer_config"):
        one = layer_overrides(c, i)
        kv = one.dim("num_key_value_heads", default=kv)
        width = one.dim("head_dim", default=width)
    elif kind == "full_attention":
        width = c.dim("global_head_dim", default=512)
        if c.flag("attention_k_eq_v", default=False):
            kv = c.dim("num_global_key_value_heads", default=kv)
    return Heads(c.dim("num_attention_heads", default=8), kv, width)


def _experts(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    """The router and the fused experts, which run next to the dense MLP with norms of their own."""
    h = d.width(c)
    count = c.count("num_experts", minimum=1)
    inner = c.dim("moe_intermediate_size")
    act = c.text("hidden_activation", default=GELU)
    used = c.count("top_k_experts")
    norms = ("post_{}_1", "post_{}_2", "pre_{}_2")
    return {
        "router": Module(
            "Gemma4TextRouter",
            scale=Weight(h, kind="scale"),
            per_expert_scale=Weight(count, kind="scale"),
            norm=Activation("Gemma4RMSNorm"),
            proj=Linear(h, count, bias=False),
            component=Component.ROUTER,
        ),
        "experts": stacked_experts("Gemma4TextExperts", count, used, h, inner, act=act),
        **d.norms(c, *(name.format("feedforward_layernorm") for name in norms)),
    }


def _layer(d: Decoder, c: ModelConfig, kind: Gemma4Kind) -> Module:
    (heads, shared, full) = kind
    h = d.width(c)
    inner = d.inner(c)
    width = _per_layer(c)
    order = "q_proj q_norm k_norm v_norm k_proj v_proj o_proj"
    look = attention(d, c, heads, shared, order)
    if full and c.flag("attention_k_eq_v", default=False):
        look.without("v_proj")  # its keeps stay: the keys, and values apart, as keys are rotated
    if shared and c.flag("use_double_wide_mlp", default=False):
        inner = inner * 2
    act = c.text("hidden_activation", default=GELU)
    return Module(
        "Gemma4TextDecoderLayer",
        {
            "self_attn": look,
            "mlp": gated_mlp("Gemma4TextMLP", h, inner, act=act),
            **d.norms(c, *FOUR_NORMS),
            "layer_scalar": Buffer(1),
            **(per_layer_gate(h, width, norm(c, h)) if width else {}),
            **(_experts(d, c) if c.flag("enable_moe_block", default=False) else {}),
        },
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[Gemma4Kind]:
    """Five sliding layers, then a full one; the last is full whatever the list says."""
    reused = int(c.count("num_kv_shared_layers", default=0))
    if reused > layers:
        raise c.error("num_kv_shared_layers", reused, f"at most num_hidden_layers = {layers}")
    kinds = []
    usual = [*["sliding_attention"] * 5, "full_attention"] * layers
    for i, kind in enumerate([*layer_types(c, layers, usual.__getitem__)[:-1], "full_attention"]):
        kinds.append((_heads(c, i, kind), i >= layers - reused, kind != "sliding_attention"))
    return kinds[:layers]


_TEXT = Decoder(
    "Gemma4Text",
    **config_defaults("gemma4_text"),
    norm=lambda _d, c, size: norm(c, size),
    layer=_layer,
    kinds=_kinds,
    further=lambda d, c: per_layer_tables(d, c, _per_layer(c)) if _per_layer(c) else {},
    windows=lambda c: windows(c, 512, every(6, last=True)),
    embedding="ScaledWordEmbedding",
)
hidden = _TEXT.width
text_model = sharing(_TEXT, 0)
register_tower("gemma4_text", "Gemma4", text_model, tied=True)
