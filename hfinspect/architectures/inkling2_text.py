"""Inkling 2's text tower (2026). Source of shapes: transformers/models/inkling2; names of files:
transformers/conversion_mapping.py. As Inkling, with an output gate, sinks, scaled clipping in place
of norms on q and k, experts in every layer, and full layers whose convolutions depend on the input.
Queries that weigh the earlier blocks' outputs stand in lists of their own, counted from the second
layer on for attention."""

from ..layers import layer_kinds
from ..layers.composing import respelled
from ..layers.decoders import Decoder, norms_called
from ..layers.experts import router, stacked_experts
from ..layers.windows import every, windows
from ..trees import Buffer, Component, Dim, Linear, ModelConfig, Module, Weight, register
from ..trees.config_defaults import config_defaults
from .inkling_text import FULL, SLIDING, convolution, heads_of, kernel_size, looking

_SPELLED = {
    "q_proj": "wq_du",
    "k_proj": "wk_dv",
    "v_proj": "wv_dv",
    "r_proj": "wr_du",
    "o_proj": "wo_ud",
}


def _attention(d: Decoder, c: ModelConfig, kind: str) -> Module:
    h = d.width(c)
    sliding = kind == SLIDING
    relative = c.dim("d_rel", default=16)
    heads, extent = heads_of(c, kind, query=48, kv=(8, 8), window=1024)
    width = heads.kv * heads.dim
    kernel = kernel_size(c)
    conv = convolution(c, width)
    if not sliding:  # each head's kernel is read off the input
        conv = Module(
            "Inkling2DynamicShortConvolution",
            static_w=Weight(kernel, width),
            weight_proj=Weight(heads.kv * kernel, h),
            component=Component.CONV,
            cache=conv.cache,
        )

    def clip(wide: Dim) -> Module:
        return Module("Inkling2ScaledL2Clip", scale=Weight(heads.query, wide, kind="scale"))

    name = "Inkling2SlidingAttention" if sliding else "Inkling2FullAttention"
    return respelled(looking(d, c, name, heads, extent, conv), _SPELLED).adding(
        gate_attn=Linear(h, heads.query * heads.dim, bias=False, kind="gate"),
        attn_sink_proj=Linear(h, heads.query, bias=False, kind="sink"),
        q_l2_clip=clip(heads.dim),
        rel_l2_clip=clip(relative),
    )


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    inner = c.dim("moe_intermediate_size", "intermediate_size", default=2304)
    count = c.count("n_routed_experts", "num_local_experts", default=384, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=8)
    experts = stacked_experts("Inkling2Experts", count, per_token, h, inner)
    gate = router("Inkling2TopKRouter", h, count).adding(bias=Buffer(count, dtype="F32"))
    respelled(experts, {"gate_up_proj": "w13_weight", "down_proj": "w2_weight"})
    component = Component.MLP
    return Module("Inkling2SparseMoeBlock", experts=experts, gate=gate, component=component)


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Sliding or full."""
    sliding = kind == SLIDING
    norms = ("attn_norm",) if sliding else ("q_input_norm", "k_input_norm", "v_input_norm")
    block = Module(f"Inkling2{'Sliding' if sliding else 'Full'}DecoderLayer")
    block.adding(attn=_attention(d, c, kind), mlp=_mlp(d, c), **d.norms(c, *norms, "mlp_norm"))
    conv = convolution(c, d.width(c))
    return block.adding(attn_sconv=conv, mlp_sconv=conv)


_KINDS = layer_kinds.words(lambda _c, i: SLIDING if (i + 1) % 6 else FULL, SLIDING, FULL)


def _queries(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    kinds = _KINDS(d, c, int(c.count("num_hidden_layers", default=48)))
    one = Weight(d.width(c))
    three = Weight(3, d.width(c))
    attending = {str(i): three if kind == FULL else one for i, kind in enumerate(kinds[1:])}
    residual = Module(
        "AttentionResiduals",
        attn_queries=Module("ParameterList").adding(**attending),
        mlp_queries=Module("ParameterList").adding(**{str(i): one for i in range(len(kinds))}),
        output_query=one,
    )
    return {"attn_res": residual}


_TEXT = Decoder(
    "Inkling2Text",
    **config_defaults("inkling2_text"),
    table="embed",
    norm=norms_called("Inkling2RMSNorm"),
    layer=_layer,
    kinds=_KINDS,
    rotary=False,
    windows=lambda c: windows(c, 1024, every(6), key="sliding_window_size"),
    further=_queries,
)


words = _TEXT.words


def model(c: ModelConfig) -> Module:
    root = _TEXT.model(c)
    root.children = {"embed": root["embed"], **_TEXT.norms(c, "embed_norm"), **root.children}
    return root


def causal(c: ModelConfig) -> Module:
    """The class ties nothing, whatever tie_word_embeddings says."""
    llm = model(c).adding(unembed=words(c))
    return Module("Inkling2ForCausalLM", model=Module("Inkling2TextModel", llm=llm))


_CLASSES = {"Inkling2ForCausalLM": causal, "Inkling2TextModel": model}
register("inkling2_text", _CLASSES, base_prefix="model.llm", category="text decoder")
