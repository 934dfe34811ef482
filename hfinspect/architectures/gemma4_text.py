"""Gemma 4's text model (Gemma Team 2026; transformers/models/gemma4). Full attention has wider
heads and, where ``attention_k_eq_v``, fewer of them and no values. Small models have an embedding
of their own for every layer and late layers that reuse earlier keys and values; the large one adds
experts next to the dense MLP."""

from typing import Final

from ..layers.blocks import Heads, gated_mlp, layer_overrides, layer_types, rms_norms
from ..layers.decoders import Decoder
from ..layers.experts import stacked_experts
from ..layers.heads import register_tower
from ..layers.windows import every, windows
from ..trees import Component, Dim, KeysValues, ModelConfig
from ..trees.modules import Activation, Buffer, Linear, Module, Weight
from .gemma3n_text import FOUR_NORMS, per_layer_gate, per_layer_tables, saved_unless, sharing
from .llama import LLAMA

ACT: Final = "gelu_pytorch_tanh"
norm = rms_norms("Gemma4RMSNorm", 1e-6)


def _per_layer(c: ModelConfig) -> Dim:
    return c.dim("hidden_size_per_layer_input", default=256, minimum=0)


def types(c: ModelConfig) -> tuple[str, ...]:
    """Five sliding layers, then a full one; the last is full whatever the list says."""
    count = int(c.count("num_hidden_layers", default=30))
    found = layer_types(
        c, count, lambda i: "sliding_attention" if (i + 1) % 6 else "full_attention"
    )
    return (*found[:-1], "full_attention") if found else ()


def _overrides(c: ModelConfig, i: int, kind: str) -> ModelConfig:
    """What layer ``i`` has of its own: head_dim and num_key_value_heads."""
    if c.has("per_layer_config"):
        return layer_overrides(c, i)
    if kind != "full_attention":
        return ModelConfig({}, c.path)
    own = {"head_dim": int(c.dim("global_head_dim", default=512))}
    if c.flag("attention_k_eq_v", default=False) and c.has("num_global_key_value_heads"):
        own["num_key_value_heads"] = int(c.dim("num_global_key_value_heads"))
    return ModelConfig(own, f"{c.path}global_")


#: Heads of a layer, whether it takes keys and values of an earlier one, and sees everything.
Kind = tuple[Heads, bool, bool]


def attention(d: Decoder, c: ModelConfig, kind: Kind) -> Module:
    (heads, shared, full), h = kind, d.width(c)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    bias = c.flag("attention_bias", default=False)
    value = saved_unless(shared, Linear(h, kv_width, bias=bias, kind="value"))
    return Module(
        "Gemma4TextAttention",
        q_proj=Linear(h, width, bias=bias, kind="query"),
        q_norm=norm(c, heads.dim),
        k_norm=saved_unless(shared, norm(c, heads.dim)),
        v_norm=None if shared else Activation("Gemma4RMSNorm"),
        k_proj=saved_unless(shared, Linear(h, kv_width, bias=bias, kind="key")),
        v_proj=None if full and c.flag("attention_k_eq_v", default=False) else value,
        o_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
        # Values that are the keys are kept apart: the keys are rotated.
        keeps=(KeysValues(kv_width, kv_width, heads=heads.kv),),
    )


def experts(c: ModelConfig) -> dict[str, Module]:
    """The router and the fused experts, which run next to the dense MLP with norms of their own."""
    h, count = hidden(c), c.count("num_experts", minimum=1)
    inner, act = c.dim("moe_intermediate_size"), c.text("hidden_activation", default=ACT)
    used, norms = c.count("top_k_experts"), ("post_{}_1", "post_{}_2", "pre_{}_2")
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
        **{name.format("feedforward_layernorm"): norm(c, h) for name in norms},
    }


def layer(d: Decoder, c: ModelConfig, kind: Kind) -> Module:
    h, inner = d.width(c), d.inner(c)
    if kind[1] and c.flag("use_double_wide_mlp", default=False):
        inner = inner * 2
    act, width = c.text("hidden_activation", default=ACT), _per_layer(c)
    return Module(
        "Gemma4TextDecoderLayer",
        {
            "self_attn": attention(d, c, kind),
            "mlp": gated_mlp("Gemma4TextMLP", h, inner, act=act),
            **{name: norm(c, h) for name in FOUR_NORMS},
            "layer_scalar": Buffer(1),
            **(per_layer_gate(h, width, norm(c, h)) if width else {}),
            **(experts(c) if c.flag("enable_moe_block", default=False) else {}),
        },
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[Kind]:
    reused = int(c.count("num_kv_shared_layers", default=0))
    if reused > layers:
        raise c.error("num_kv_shared_layers", reused, f"at most num_hidden_layers = {layers}")
    found = []
    for i, kind in enumerate(types(c)):
        own = _overrides(c, i, kind)
        heads = Heads(
            c.dim("num_attention_heads", default=8),
            own.dim("num_key_value_heads", default=c.dim("num_key_value_heads", default=4)),
            own.dim("head_dim", default=c.dim("head_dim", default=256)),
        )
        found.append((heads, i >= layers - reused, kind != "sliding_attention"))
    return found


def _further(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    h, width, count = d.width(c), _per_layer(c), c.count("num_hidden_layers", default=30)
    table = "Gemma4TextScaledWordEmbedding"
    return per_layer_tables(c, table, h, count, width, norm(c, width)) if width else {}


_TEXT = LLAMA.like(
    "Gemma4Text", vocab_size=262144, hidden_size=2304, intermediate_size=9216, num_hidden_layers=30,
    norm=lambda _d, c, size: norm(c, size), layer=layer, kinds=_kinds, further=_further,
    windows=lambda c: windows(c, 512, every(6, last=True)), embedding="ScaledWordEmbedding",
)  # fmt: skip
hidden = _TEXT.width


def text_model(c: ModelConfig) -> Module:
    return sharing(_TEXT.model(c), int(c.count("num_kv_shared_layers", default=0)))


register_tower("gemma4_text", "Gemma4", text_model, tied=True)
