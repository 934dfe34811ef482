"""Gemma 4's text model (Gemma Team 2026). Source: transformers/models/gemma4/modeling_gemma4.py.

Sliding and full attention layers differ in shape: full ones have wider heads (``global_head_dim``)
and, where ``attention_k_eq_v``, fewer of them and no value projection. Newer configs list such
differences in ``per_layer_config``. Small models have an embedding of their own for every layer and
late layers that reuse earlier keys and values; the large one adds experts next to the dense MLP.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import (
    Heads,
    activation,
    gated_mlp,
    layer_overrides,
    layer_types,
    rms_norms,
    size,
)
from ..layers.heads import register_tower
from ..layers.windows import every, windows
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Buffer, Embedding, Layers, Linear, Module, Weight
from .gemma3n_text import FOUR_NORMS, per_layer_gate, per_layer_tables, saved_unless

hidden = size("hidden_size", default=2304)
norm = rms_norms("Gemma4RMSNorm", 1e-6)


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


def _heads(c: ModelConfig, own: ModelConfig) -> Heads:
    return Heads(
        c.dim("num_attention_heads", default=8),
        own.dim("num_key_value_heads", default=c.dim("num_key_value_heads", default=4)),
        own.dim("head_dim", default=c.dim("head_dim", default=256)),
    )


def attention(c: ModelConfig, heads: Heads, *, shared: bool, keys_are_values: bool) -> Module:
    h = hidden(c)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    bias = c.flag("attention_bias", default=False)
    value = Linear(h, kv_width, bias=bias, kind="value")
    return Module(
        "Gemma4TextAttention",
        q_proj=Linear(h, width, bias=bias, kind="query"),
        q_norm=norm(c, heads.dim),
        k_norm=saved_unless(shared, norm(c, heads.dim)),
        v_norm=None if shared else Activation("Gemma4RMSNorm"),
        k_proj=saved_unless(shared, Linear(h, kv_width, bias=bias, kind="key")),
        v_proj=None if keys_are_values else saved_unless(shared, value),
        o_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
        # Values that are the keys are kept apart: the keys are rotated.
        keeps=(KeysValues(kv_width, kv_width, heads=heads.kv),),
    )


def experts(c: ModelConfig) -> dict[str, Module]:
    """The router and the fused experts, which run next to the dense MLP with norms of their own."""
    h = hidden(c)
    count = c.count("num_experts", minimum=1)
    inner = c.dim("moe_intermediate_size")
    active = (min(int(c.count("top_k_experts")), int(count)), int(count))
    return {
        "router": Module(
            "Gemma4TextRouter",
            scale=Weight(h, kind="scale"),
            per_expert_scale=Weight(count, kind="scale"),
            norm=Activation("Gemma4RMSNorm"),
            proj=Linear(h, count, bias=False),
            component=Component.ROUTER,
        ),
        "experts": Module(
            "Gemma4TextExperts",
            gate_up_proj=Weight(count, 2 * inner, h, active=active),
            down_proj=Weight(count, h, inner, active=active),
            act_fn=activation(c.text("hidden_activation", default="gelu_pytorch_tanh")),
            component=Component.MLP,
            kind="expert",
        ),
        "post_feedforward_layernorm_1": norm(c, h),
        "post_feedforward_layernorm_2": norm(c, h),
        "pre_feedforward_layernorm_2": norm(c, h),
    }


def layer(c: ModelConfig, heads: Heads, *, shared: bool, full: bool) -> Module:
    h = hidden(c)
    inner = c.dim("intermediate_size", default=9216)
    if shared and c.flag("use_double_wide_mlp", default=False):
        inner = inner * 2
    act = c.text("hidden_activation", default="gelu_pytorch_tanh")
    keys_are_values = full and c.flag("attention_k_eq_v", default=False)
    per_layer = c.dim("hidden_size_per_layer_input", default=256, minimum=0)
    return Module(
        "Gemma4TextDecoderLayer",
        {
            "self_attn": attention(c, heads, shared=shared, keys_are_values=keys_are_values),
            "mlp": gated_mlp("Gemma4TextMLP", h, inner, act=act),
            **{name: norm(c, h) for name in FOUR_NORMS},
            "layer_scalar": Buffer(1),
            **(per_layer_gate(h, per_layer, norm(c, h)) if per_layer else {}),
            **(experts(c) if c.flag("enable_moe_block", default=False) else {}),
        },
    )


def layers(c: ModelConfig) -> Layers:
    kinds = types(c)
    reused = int(c.count("num_kv_shared_layers", default=0))
    if reused > len(kinds):
        raise c.error("num_kv_shared_layers", reused, f"at most num_hidden_layers = {len(kinds)}")
    first_shared = len(kinds) - reused
    built: dict[tuple[int, int, bool, bool], Module] = {}
    blocks = []
    for i, kind in enumerate(kinds):
        heads = _heads(c, _overrides(c, i, kind))
        shared, full = i >= first_shared, kind != "sliding_attention"
        key = (int(heads.kv), int(heads.dim), shared, full)
        if key not in built:
            built[key] = layer(c, heads, shared=shared, full=full)
        blocks.append(built[key])
    return Layers(blocks, windows=windows(c, 512, every(6, last=True)), reused=reused)


def text_model(c: ModelConfig) -> Module:
    h = hidden(c)
    count = c.count("num_hidden_layers", default=30)
    per_layer = c.dim("hidden_size_per_layer_input", default=256, minimum=0)
    table = "Gemma4TextScaledWordEmbedding"
    return Module(
        "Gemma4TextModel",
        {
            "embed_tokens": Embedding(c.dim("vocab_size", default=262144), h, class_name=table),
            "layers": layers(c),
            "norm": norm(c, h),
            "rotary_emb": Activation("Gemma4TextRotaryEmbedding"),
            **(
                per_layer_tables(c, table, h, count, per_layer, norm(c, per_layer))
                if per_layer
                else {}
            ),
        },
    )


register_tower("gemma4_text", "Gemma4", text_model, tied=True)
