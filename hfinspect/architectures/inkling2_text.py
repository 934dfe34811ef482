"""Inkling 2's text tower (2026). Source of shapes: transformers/models/inkling2; names of files:
transformers/conversion_mapping.py.

As Inkling, with an output gate, sinks, scaled clipping in place of norms on q and k, experts in
every layer, and full layers whose convolutions depend on the input.  Queries that weigh the earlier
blocks' outputs stand in lists of their own, counted from the second layer on for attention.
"""

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import spelled as s
from ..layers.blocks import layer_types, rms_norms, size
from ..layers.composing import without_static_cache
from ..layers.heads import to_words
from ..layers.spelled import Spelled
from ..layers.windows import every, windows
from ..trees.keeps import State
from ..trees.modules import Conv, Layers, Linear, Module, Parameter, Weight
from .inkling_text import FULL, SLIDING, heads_of

_kernel = size("conv_kernel_size", "sconv_kernel_size", default=4)


def _convolution(c: ModelConfig, width: Dim) -> Module:
    block = Conv(width, width, _kernel(c), dims=1, groups=width, bias=False)
    block.keeps = (State("conv", (width, _kernel(c)), "F32"),)
    return block


def _dynamic(d: Spelled, c: ModelConfig, width: Dim, heads: Dim) -> Module:
    """A convolution of which each head's kernel is read off the input."""
    return Module(
        "Inkling2DynamicShortConvolution",
        static_w=Weight(_kernel(c), width),
        weight_proj=Weight(heads * _kernel(c), d.width(c)),
        component=Component.CONV,
        keeps=(State("conv", (width, _kernel(c)), "F32"),),
    )


def attention(d: Spelled, c: ModelConfig, kind: str) -> Module:
    h, sliding = d.width(c), kind == SLIDING
    heads, extent = heads_of(c, kind, query=48, kv=(8, 8), window=1024)
    relative = c.dim("d_rel", default=16)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim

    def convolution() -> Module:
        return _convolution(c, kv_width) if sliding else _dynamic(d, c, kv_width, heads.kv)

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


def mlp(d: Spelled, c: ModelConfig) -> Module:
    h, inner = d.width(c), c.dim("moe_intermediate_size", "intermediate_size", default=2304)
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


def layer(d: Spelled, c: ModelConfig, kind: str) -> Module:
    sliding = kind == SLIDING
    norms = ("attn_norm",) if sliding else ("q_input_norm", "k_input_norm", "v_input_norm")
    return Module(
        "Inkling2SlidingDecoderLayer" if sliding else "Inkling2FullDecoderLayer",
        {
            "attn": attention(d, c, kind),
            "mlp": mlp(d, c),
            **{name: s.norm(d, c) for name in norms},
            "mlp_norm": s.norm(d, c),
            "attn_sconv": _convolution(c, d.width(c)),
            "mlp_sconv": _convolution(c, d.width(c)),
        },
    )


def _kinds(c: ModelConfig) -> tuple[str, ...]:
    count = c.count("num_hidden_layers", default=48)
    kinds = layer_types(c, count, lambda i: SLIDING if (i + 1) % 6 else FULL)
    for kind in kinds:
        if kind not in (SLIDING, FULL):
            raise c.error("layer_types", kind, f"{SLIDING} or {FULL}")
    return kinds


def _layers(d: Spelled, c: ModelConfig) -> Module:
    kinds = _kinds(c)
    distinct = {kind: layer(d, c, kind) for kind in dict.fromkeys(kinds)}
    reach = windows(c, 1024, every(6), key="sliding_window_size")
    return Layers((distinct[kind] for kind in kinds), windows=reach)


def queries(d: Spelled, c: ModelConfig) -> Module:
    kinds, one, three = _kinds(c), Weight(d.width(c)), Weight(3, d.width(c))
    return Module(
        "AttentionResiduals",
        attn_queries=Module(
            "ParameterList",
            {str(i): three if kind == FULL else one for i, kind in enumerate(kinds[1:])},
        ),
        mlp_queries=Module("ParameterList", {str(i): one for i in range(len(kinds))}),
        output_query=one,
    )


_TEXT = Spelled(
    "Inkling2Text", width=size("hidden_size", default=4608),
    vocab=size("vocab_size", default=201024), norms=rms_norms("Inkling2RMSNorm", 1e-6),
    model={
        "embed": s.words, "embed_norm": s.norm, "layers": _layers, "norm": s.norm,
        "attn_res": queries,
    },
    prefix="model.llm",
)  # fmt: skip
model = _TEXT.base


def causal(c: ModelConfig) -> Module:
    """The class ties nothing, whatever tie_word_embeddings says."""
    llm = model(c)
    llm.children["unembed"] = to_words(_TEXT.width(c), _TEXT.vocab(c))
    return Module("Inkling2ForCausalLM", model=Module("Inkling2TextModel", llm=llm))


_TEXT.register(
    "inkling2_text",
    without_static_cache({"Inkling2ForCausalLM": causal, "Inkling2TextModel": model}),
)
