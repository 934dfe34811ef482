"""Inkling's text tower (2026). Source of shapes: transformers/models/inkling.

Sliding layers have heads of their own number and width; positions come from learned relative
logits; short convolutions after keys, values, attention and MLP; routed experts with a second kind
that is always on.  Experts lie stacked; a tower alone is saved under its names in memory.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, activation, layer_types, rms_norms, size
from ..layers.heads import lm_head
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import (
    Buffer,
    Conv,
    Embedding,
    Layers,
    Linear,
    Module,
    Weight,
    Windows,
)

SLIDING, FULL = "hybrid_sliding", "hybrid"


_hidden = size("hidden_size", default=6144)
_norm = rms_norms("InklingRMSNorm", 1e-6)


def _convolution(c: ModelConfig, width: Dim) -> Module:
    kernel = c.dim("conv_kernel_size", "sconv_kernel_size", default=4)
    return Module(
        "InklingShortConvolution",
        conv1d=Conv(width, width, kernel, dims=1, groups=width, bias=False),
        component=Component.CONV,
        keeps=(State("conv", (width, kernel), "F32"),),
    )


def attention(c: ModelConfig, kind: str) -> Module:
    h, sliding = _hidden(c), kind == SLIDING
    if sliding:
        heads = Heads(
            c.dim("swa_num_attention_heads", default=64),
            c.dim("swa_num_key_value_heads", default=16),
            c.dim("swa_head_dim", default=128),
        )
        extent = c.dim("sliding_window_size", "sliding_window", default=512)
    else:
        heads = Heads(
            c.dim("num_attention_heads", default=64),
            c.dim("num_key_value_heads", default=8),
            c.dim("head_dim", default=128),
        )
        extent = c.dim("rel_extent", default=1024)
    width, kv_width, relative = (
        heads.query * heads.dim,
        heads.kv * heads.dim,
        c.dim("d_rel", default=16),
    )
    return Module(
        "InklingAttention",
        q_proj=Linear(h, width, bias=False, kind="query"),
        k_proj=Linear(h, kv_width, bias=False, kind="key"),
        v_proj=Linear(h, kv_width, bias=False, kind="value"),
        r_proj=Linear(h, heads.query * relative, bias=False, kind="relative_position"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        k_sconv=_convolution(c, kv_width),
        v_sconv=_convolution(c, kv_width),
        q_norm=_norm(c, heads.dim),
        k_norm=_norm(c, heads.dim),
        rel_logits_proj=Module(
            "InklingRelativeLogits", proj=Weight(relative, extent, kind="relative_position")
        ),
        component=Component.ATTENTION,
    )


def mlp(c: ModelConfig, kind: str) -> Module:
    h, act = _hidden(c), activation(c.text("hidden_act", default="silu"))
    both = c.has("dense_intermediate_size")
    routed = c.dim("intermediate_size" if both else "moe_intermediate_size", default=3072)
    if kind == "dense":
        inner = c.dim("dense_intermediate_size", "intermediate_size", default=24576)
        return Module(
            "InklingMLP",
            gate_proj=Linear(h, inner, bias=False, kind="gate"),
            up_proj=Linear(h, inner, bias=False, kind="up"),
            down_proj=Linear(inner, h, bias=False, kind="down"),
            act_fn=act,
            global_scale=Weight(1, kind="scale"),
            component=Component.MLP,
        )
    count = c.count("n_routed_experts", "num_local_experts", default=256, minimum=1)
    shared = c.count("n_shared_experts", default=2)
    per_token = c.dim("num_experts_per_tok", default=6)
    return Module(
        "InklingMoE",
        gate=Module(
            "InklingTopkRouter",
            weight=Weight(count + shared, h),
            global_scale=Weight(1, kind="scale"),
            e_score_correction_bias=Buffer(count, dtype="F32"),
            component=Component.ROUTER,
        ),
        experts=Module(
            "InklingExperts",
            gate_up_proj=Weight(count, routed * 2, h),
            down_proj=Weight(count, h, routed),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        shared_experts=Module(
            "InklingSharedExperts",
            gate_proj=Weight(shared, routed, h),
            up_proj=Weight(shared, routed, h),
            down_proj=Weight(shared, h, routed),
            kind="shared_expert",
        ),
        component=Component.MLP,
    )


def layer(c: ModelConfig, kind: str, mlp_kind: str) -> Module:
    h = _hidden(c)
    return Module(
        "InklingDecoderLayer",
        self_attn=attention(c, kind),
        mlp=mlp(c, mlp_kind),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
        attn_sconv=_convolution(c, h),
        mlp_sconv=_convolution(c, h),
    )


def _types(c: ModelConfig, layers: int) -> Sequence[tuple[str, str]]:
    if c.has("local_layer_ids"):
        local = {int(i) for i in c.dims("local_layer_ids", minimum=0)}
    else:
        local = {i for i in range(layers) if (i + 1) % 6}
    dense = int(c.count("dense_mlp_idx", default=0))
    kinds = layer_types(c, layers, lambda i: SLIDING if i in local else FULL)
    mlps = layer_types(
        c, layers, lambda i: "dense" if i < dense else "sparse", key="mlp_layer_types"
    )
    return list(zip(kinds, mlps, strict=True))


def _windows(c: ModelConfig) -> Windows:
    """``local_layer_ids`` where they are listed, else all but every sixth layer."""
    local = c.raw("local_layer_ids")
    usual = every(6)
    full = (lambda i, _: i not in local) if isinstance(local, list) else usual
    return windows(c, 512, full, key="sliding_window_size")


def model(c: ModelConfig) -> Module:
    described = _types(c, int(c.count("num_hidden_layers", default=66)))
    distinct = {entry: layer(c, *entry) for entry in dict.fromkeys(described)}
    table = Embedding(
        c.dim("vocab_size", default=201024), _hidden(c), class_name="InklingNormedEmbedding"
    )
    table.children["embed_norm"] = _norm(c, _hidden(c))
    return Module(
        "InklingTextModel",
        embed_tokens=table,
        layers=Layers(
            (distinct[entry] for entry in described),
            windows=_windows(c),
        ),
        norm=_norm(c, _hidden(c)),
    )


def causal(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=201024)
    untied = ModelConfig({})  # the class ties nothing whatever tie_word_embeddings says
    head = lm_head(untied, _hidden(c), vocab, tied_to="", tied_default=False)
    return Module("InklingForCausalLM", model=model(c), lm_head=head)


register(
    "inkling_text",
    {"InklingForCausalLM": causal, "InklingTextModel": model},
    base_prefix="model",
    category="text decoder",
)
