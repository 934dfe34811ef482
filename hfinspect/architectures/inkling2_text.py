"""Inkling 2's text tower (2026). Source of shapes: transformers/models/inkling2; names of files:
transformers/conversion_mapping.py.

As Inkling, with an output gate, sinks, scaled clipping in place of norms on q and k, experts in
every layer, and full layers whose convolutions depend on the input.  Queries that weigh the earlier
blocks' outputs stand in lists of their own, counted from the second layer on for attention.
"""

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, layer_types, size
from ..layers.composing import without_static_cache
from ..layers.heads import lm_head
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, Parameter, RMSNorm, Weight
from .inkling_text import FULL, SLIDING

_hidden = size("hidden_size", default=4608)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="Inkling2RMSNorm")


_kernel = size("conv_kernel_size", "sconv_kernel_size", default=4)


def _convolution(c: ModelConfig, width: Dim) -> Module:
    block = Conv(width, width, _kernel(c), dims=1, groups=width, bias=False)
    block.keeps = (State("conv", (width, _kernel(c)), "F32"),)
    return block


def _dynamic(c: ModelConfig, width: Dim, heads: Dim) -> Module:
    """A convolution of which each head's kernel is read off the input."""
    return Module(
        "Inkling2DynamicShortConvolution",
        static_w=Weight(_kernel(c), width),
        weight_proj=Weight(heads * _kernel(c), _hidden(c)),
        component=Component.CONV,
        keeps=(State("conv", (width, _kernel(c)), "F32"),),
    )


def _heads(c: ModelConfig, *, sliding: bool) -> tuple[Heads, Dim]:
    """The layer's heads and how far its relative logits reach."""
    if sliding:
        return Heads(
            c.dim("swa_num_attention_heads", default=48),
            c.dim("swa_num_key_value_heads", default=8),
            c.dim("swa_head_dim", default=128),
        ), c.dim("sliding_window_size", "sliding_window", default=1024)
    return Heads(
        c.dim("num_attention_heads", default=48),
        c.dim("num_key_value_heads", default=8),
        c.dim("head_dim", default=128),
    ), c.dim("rel_extent", default=1024)


def attention(c: ModelConfig, kind: str) -> Module:
    h, sliding = _hidden(c), kind == SLIDING
    heads, extent = _heads(c, sliding=sliding)
    relative = c.dim("d_rel", default=16)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim

    def convolution() -> Module:
        return _convolution(c, kv_width) if sliding else _dynamic(c, kv_width, heads.kv)

    return Module(
        "Inkling2SlidingAttention" if sliding else "Inkling2FullAttention",
        wq_du=Linear(h, width, bias=False, kind="query"),
        wk_dv=Linear(h, kv_width, bias=False, kind="key"),
        wv_dv=Linear(h, kv_width, bias=False, kind="value"),
        wr_du=Linear(h, heads.query * relative, bias=False, kind="relative_position"),
        wo_ud=Linear(width, h, bias=False, kind="output"),
        k_sconv=convolution(),
        v_sconv=convolution(),
        rel_logits_proj=Module(
            "Inkling2RelativeLogits", proj=Weight(relative, extent, kind="relative_position")
        ),
        gate_attn=Linear(h, width, bias=False, kind="gate"),
        attn_sink_proj=Linear(h, heads.query, bias=False, kind="sink"),
        q_l2_clip=Module(
            "Inkling2ScaledL2Clip", scale=Weight(heads.query, heads.dim, kind="scale")
        ),
        rel_l2_clip=Module(
            "Inkling2ScaledL2Clip", scale=Weight(heads.query, relative, kind="scale")
        ),
        component=Component.ATTENTION,
    )


def mlp(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("moe_intermediate_size", "intermediate_size", default=2304)
    count = c.count("n_routed_experts", "num_local_experts", default=384, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=8)
    return Module(
        "Inkling2SparseMoeBlock",
        experts=Module(
            "Inkling2Experts",
            w13_weight=Weight(count, inner * 2, h),
            w2_weight=Weight(count, h, inner),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        gate=Module(
            "Inkling2TopKRouter",
            weight=Weight(count, h),
            bias=Parameter((count,), role=Role.BUFFER, dtype="F32"),
            component=Component.ROUTER,
        ),
        component=Component.MLP,
    )


def layer(c: ModelConfig, kind: str) -> Module:
    sliding = kind == SLIDING
    norms = ("attn_norm",) if sliding else ("q_input_norm", "k_input_norm", "v_input_norm")
    return Module(
        "Inkling2SlidingDecoderLayer" if sliding else "Inkling2FullDecoderLayer",
        {
            "attn": attention(c, kind),
            "mlp": mlp(c),
            **{name: _norm(c) for name in norms},
            "mlp_norm": _norm(c),
            "attn_sconv": _convolution(c, _hidden(c)),
            "mlp_sconv": _convolution(c, _hidden(c)),
        },
    )


def queries(c: ModelConfig, kinds: tuple[str, ...]) -> Module:
    h = _hidden(c)
    one = Weight(h)
    three = Weight(3, h)
    return Module(
        "AttentionResiduals",
        attn_queries=Module(
            "ParameterList",
            {str(i): three if kind == FULL else one for i, kind in enumerate(kinds[1:])},
        ),
        mlp_queries=Module("ParameterList", {str(i): one for i in range(len(kinds))}),
        output_query=one,
    )


def model(c: ModelConfig) -> Module:
    count = c.count("num_hidden_layers", default=48)
    kinds = layer_types(c, count, lambda i: SLIDING if (i + 1) % 6 else FULL)
    for kind in kinds:
        if kind not in (SLIDING, FULL):
            raise c.error("layer_types", kind, f"{SLIDING} or {FULL}")
    distinct = {kind: layer(c, kind) for kind in dict.fromkeys(kinds)}
    return Module(
        "Inkling2TextModel",
        embed=Embedding(c.dim("vocab_size", default=201024), _hidden(c)),
        embed_norm=_norm(c),
        layers=Layers(
            (distinct[kind] for kind in kinds),
            windows=windows(c, 1024, every(6), key="sliding_window_size"),
        ),
        norm=_norm(c),
        attn_res=queries(c, kinds),
    )


def causal(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=201024)
    untied = ModelConfig({})  # the class ties nothing whatever tie_word_embeddings says
    llm = model(c)
    llm.children["unembed"] = lm_head(untied, _hidden(c), vocab, tied_to="", tied_default=False)
    return Module("Inkling2ForCausalLM", model=Module("Inkling2TextModel", llm=llm))


register(
    "inkling2_text",
    without_static_cache({"Inkling2ForCausalLM": causal, "Inkling2TextModel": model}),
    base_prefix="model.llm",
    category="text decoder",
)
