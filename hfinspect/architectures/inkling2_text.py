"""Inkling 2's text tower (2026). Source of shapes: transformers/models/inkling2; names of files:
transformers/conversion_mapping.py. As Inkling, with an output gate, sinks, scaled clipping in place
of norms on q and k, experts in every layer, and full layers whose convolutions depend on the input.
Queries that weigh the earlier blocks' outputs stand in lists of their own, counted from the second
layer on for attention."""

from ..layers.composing import respelled, without_static_cache
from ..layers.decoders import Decoder, norms_called
from ..layers.experts import router, stacked_experts
from ..layers.layer_kinds import words
from ..layers.windows import every, windows
from ..trees import Buffer, Component, Dim, Linear, ModelConfig, Module, Weight, register
from .inkling_text import FULL, SLIDING, convolution, heads_of, kernel_size, relative_logits
from .llama import LLAMA


def _dynamic(d: Decoder, c: ModelConfig, width: Dim, heads: Dim) -> Module:
    """A convolution of which each head's kernel is read off the input."""
    plain = convolution(c, width)
    kernel = kernel_size(c)
    return Module(
        "Inkling2DynamicShortConvolution",
        static_w=Weight(kernel, width),
        weight_proj=Weight(heads * kernel, d.width(c)),
        component=Component.CONV,
        keeps=plain.keeps,
    )


def attention(d: Decoder, c: ModelConfig, kind: str) -> Module:
    h, sliding, relative = d.width(c), kind == SLIDING, c.dim("d_rel", default=16)
    heads, extent = heads_of(c, kind, query=48, kv=(8, 8), window=1024)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    shifted = convolution(c, kv_width) if sliding else _dynamic(d, c, kv_width, heads.kv)

    def clip(wide: Dim) -> Module:
        scale = Weight(heads.query, wide, kind="scale")
        return Module("Inkling2ScaledL2Clip", scale=scale)

    return Module(
        "Inkling2SlidingAttention" if sliding else "Inkling2FullAttention",
        wq_du=Linear(h, width, bias=False, kind="query"),
        wk_dv=Linear(h, kv_width, bias=False, kind="key"),
        wv_dv=Linear(h, kv_width, bias=False, kind="value"),
        wr_du=Linear(h, heads.query * relative, bias=False, kind="relative_position"),
        wo_ud=Linear(width, h, bias=False, kind="output"),
        k_sconv=shifted,
        v_sconv=shifted,
        rel_logits_proj=relative_logits("Inkling2", relative, extent),
        gate_attn=Linear(h, width, bias=False, kind="gate"),
        attn_sink_proj=Linear(h, heads.query, bias=False, kind="sink"),
        q_l2_clip=clip(heads.dim),
        rel_l2_clip=clip(relative),
        component=Component.ATTENTION,
    )


def mlp(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), c.dim("moe_intermediate_size", "intermediate_size", default=2304)
    count = c.count("n_routed_experts", "num_local_experts", default=384, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=8)
    experts = stacked_experts("Inkling2Experts", count, per_token, h, inner)
    names = {"gate_up_proj": "w13_weight", "down_proj": "w2_weight"}
    gate = router("Inkling2TopKRouter", h, count).adding(bias=Buffer(count, dtype="F32"))
    parts = {"experts": respelled(experts, names), "gate": gate}
    return Module("Inkling2SparseMoeBlock", dict(parts), component=Component.MLP)


def layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    sliding = kind == SLIDING
    norms = ("attn_norm",) if sliding else ("q_input_norm", "k_input_norm", "v_input_norm")
    return Module(
        f"Inkling2{'Sliding' if sliding else 'Full'}DecoderLayer",
        {
            "attn": attention(d, c, kind),
            "mlp": mlp(d, c),
            **d.norms(c, *norms, "mlp_norm"),
            **{name: convolution(c, d.width(c)) for name in ("attn_sconv", "mlp_sconv")},
        },
    )


_KINDS = words(lambda _c, i: SLIDING if (i + 1) % 6 else FULL, SLIDING, FULL)


def queries(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    kinds = _KINDS(d, c, int(c.count("num_hidden_layers", default=48)))
    one, three = Weight(d.width(c)), Weight(3, d.width(c))
    attending = {str(i): three if kind == FULL else one for i, kind in enumerate(kinds[1:])}
    found = Module(
        "AttentionResiduals",
        attn_queries=Module("ParameterList", dict(attending)),
        mlp_queries=Module("ParameterList", {str(i): one for i in range(len(kinds))}),
        output_query=one,
    )
    return {"attn_res": found}


_TEXT = LLAMA.like(
    "Inkling2Text", vocab_size=201024, hidden_size=4608, num_hidden_layers=48, table="embed",
    norm=norms_called("Inkling2RMSNorm"), layer=layer, kinds=_KINDS, rotary=False,
    windows=lambda c: windows(c, 1024, every(6), key="sliding_window_size"), further=queries,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    root = _TEXT.model(c)
    root.children = {"embed": root["embed"], **_TEXT.norms(c, "embed_norm"), **root.children}
    return root


def causal(c: ModelConfig) -> Module:
    """The class ties nothing, whatever tie_word_embeddings says."""
    llm = model(c).adding(unembed=_TEXT.words(c))
    return Module("Inkling2ForCausalLM", model=Module("Inkling2TextModel", llm=llm))


_CLASSES = without_static_cache({"Inkling2ForCausalLM": causal, "Inkling2TextModel": model})
register("inkling2_text", _CLASSES, base_prefix="model.llm", category="text decoder")
