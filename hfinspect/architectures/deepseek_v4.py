"""DeepSeek-V4 (DeepSeek-AI 2026; transformers/models/deepseek_v4). Names are those of a fresh save,
the Hub's but for the ends: ``embed.weight``, ``norm.weight``, ``hc_head_fn`` and no ``model.``
there, and ``attn.kv_norm`` where a save writes ``attn.norm``. The Hub's multi-token-prediction
blocks ``mtp.N``: SGLang, models/deepseek_v4_nextn.py."""

from collections.abc import Sequence
from functools import partial

from ..layers import mixtures as m
from ..layers.blocks import hyper_connections, size, stream_weights
from ..layers.decoders import Decoder
from ..layers.experts import experts, w_expert
from ..layers.heads import causal_lm
from ..layers.layer_kinds import side_by_side, words
from ..trees import Buffer, Component, Dim, Layers, Linear, ModelConfig, Module, Weight, register
from ..trees.cache_layout import CacheItem, KeysValues
from .qwen3_next import with_predictor

_RATIOS = {
    0: "sliding_attention",
    4: "compressed_sparse_attention",
    128: "heavily_compressed_attention",
}
# Old keys are left out, compressed lightly, with an indexer (CSA), or heavily (HCA).
SLIDING, LIGHT, HEAVY = _RATIOS.values()
_USUAL = words(lambda _c, i: LIGHT if i >= 2 and i % 2 else HEAVY, *_RATIOS.values(), longer=True)


def _attention_types(d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    """layer_types, else compress_ratios, which go on with those of multi-token prediction."""
    if c.has("layer_types") or not c.has("compress_ratios"):
        return _USUAL(d, c, layers)
    ratios = [int(ratio) for ratio in c.dims("compress_ratios", minimum=0)][:layers]
    if len(ratios) != layers or not set(ratios) <= set(_RATIOS):
        raise c.error("compress_ratios", c.raw("compress_ratios"), "0, 4 or 128 per layer")
    return [_RATIOS[ratio] for ratio in ratios]


def _compressor(
    d: Decoder, c: ModelConfig, kind: str, at: str, width: Dim, name: str = "Compressor"
) -> Module:
    """Keys of several tokens into one: a weighted mean with a bias by position. Of ``rate`` tokens
    it keeps one row, all those in no full group with their gates, and where groups overlap the last
    one. Source: DeepseekV4HCACache and DeepseekV4CSACache."""
    older, default = ("compress_rate_hca", 128) if kind == HEAVY else ("compress_rate_csa", 4)
    rates = c.section("compress_rates")
    wide = width * 2 if kind == LIGHT else width
    rate = c.dim(older) if c.has(older) else rates.dim(kind, default=default)
    row = partial(KeysValues, heads=1, every=rate)
    rows = [row(width, 0, name=f"{at}'s keys")]
    rows.append(row(wide, wide, name=f"{at}'s remainder", of="rest"))
    if kind == LIGHT:  # a group takes part of the one before it
        rows.append(row(width, width, name=f"{at}'s last group", of="last"))
    return Module(
        name,
        ape=Weight(rate, wide),
        wkv=Linear(d.width(c), wide, bias=False, kind="kv_down"),
        wgate=Linear(d.width(c), wide, bias=False, kind="gate"),
        norm=d.norm(d, c, width),
        cache=tuple(rows),
    )


def _attention(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Keys are the values too, of one head; the plain windowed layer of transformers holds both."""
    h = d.width(c)
    rank = c.dim("q_lora_rank", default=1024)
    head = c.dim("head_dim", default=512)
    heads = c.dim("num_attention_heads", default=64)
    groups = c.dim("o_groups", default=8)
    out = groups * c.dim("o_lora_rank", default=1024)
    older = d.norm(d, c, head)
    older.saved = False
    grouped = Linear(heads * head // groups, out, bias=False, kind="output")
    block = Module(
        "DeepseekV4Attention",
        wq_a=Linear(h, rank, bias=False, kind="query_down"),
        q_norm=d.norm(d, c, rank),
        wq_b=Linear(rank, heads * head, bias=False, kind="query_up"),
        wkv=Linear(h, head, bias=False, kind="kv_down"),
        norm=d.norm(d, c, head),
        kv_norm=older,
        wo_a=grouped.called("DeepseekV4GroupedLinear"),
        wo_b=Linear(out, h, bias=False, kind="output"),
        attn_sink=Weight(heads, kind="sink"),
        component=Component.ATTENTION,
    )
    items: list[CacheItem] = [KeysValues(head, 0, 1, latent=True, repeated=1 + (kind == SLIDING))]
    if kind != SLIDING:
        name = f"DeepseekV4{'HCA' if kind == HEAVY else 'CSA'}Compressor"
        block.adding(compressor=(keys := _compressor(d, c, kind, "compressor", head, name)))
        items += keys.cache or ()
    if kind == LIGHT:
        count = c.dim("index_n_heads", default=64)
        width = c.dim("index_head_dim", default=128)
        keys = _compressor(d, c, kind, "indexer", width)
        queries = Linear(rank, count * width, bias=False)
        scores = Linear(h, count, bias=False)
        parts = {"compressor": keys, "wq_b": queries, "weights_proj": scores}
        block.adding(indexer=Module("DeepseekV4Indexer", parts, kind="indexer"))
        items += keys.cache or ()
    block.cache = tuple(items)
    return block


def _expert(x: m.Mixture, kind: str | None = None) -> Module:
    bias = kind is not None and x.c.flag("mlp_bias", default=False)
    act = x.d.act(x.c) or "Identity"
    return w_expert("DeepseekV4MLP", x.width, x.inner, act=act, bias=bias, kind=kind)


def _gate(x: m.Mixture, kind: str) -> Module:
    """Experts by the token alone, looked up in a table, or by score."""
    if kind == "moe":
        return m.scores()(x).adding(bias=Buffer(x.count, dtype="F32"))
    table = Buffer(x.d.size(x.c, "vocab_size"), x.used, dtype="I64")
    return m.scores("HashRouter")(x).adding(tid2eid=table)


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    parts: dict[str, m.MixturePart] = {
        "gate": lambda x: _gate(x, kind[1]),
        "experts": lambda x: experts(x.count, x.used, _expert(x)),
        "shared_experts": lambda x: _expert(x, "shared_expert"),
    }
    count = m.counts("n_routed_experts", "num_local_experts", default=256)
    inner = size("moe_intermediate_size", "intermediate_size", default=2048)
    ffn = m.sparse("SparseMoeBlock", parts, count=count, used=6, inner=inner)
    block = Module("DeepseekV4DecoderLayer", attn=_attention(d, c, kind[0]), ffn=ffn(d, c))
    norms = d.norms(c, "attn_norm", "ffn_norm")
    return block.adding(**norms, **hyper_connections(c, d.width(c)))


_DEEPSEEK = Decoder(
    "DeepseekV4",
    vocab_size=129280,
    num_hidden_layers=43,
    layer=_layer,
    rotary=False,
    # A window in every layer, whatever its compressor.
    windows=lambda c: (c.dim("sliding_window", default=128),).__mul__,
    kinds=side_by_side(
        _attention_types,
        words(
            lambda c, i: "hash_moe" if i < c.count("num_hash_layers", default=3) else "moe",
            "hash_moe",
            "moe",
            key="mlp_layer_types",
            longer=True,
        ),
    ),
    # How the streams join at the end.
    further=lambda d, c: {
        "hc_head": Module("DeepseekV4HyperHead", dict(stream_weights(c, d.width(c), "hc_")))
    },
)
# The base model as a root: a save then spells the ends as the Hub does.
_BARE = _DEEPSEEK.like(
    "DeepseekV4", table="embed", further=lambda d, c: stream_weights(c, d.width(c), "hc_head_")
)


def _predictors(c: ModelConfig) -> Module | None:
    """The Hub's multi-token-prediction blocks; embedding and head are the model's own."""
    d = _DEEPSEEK
    count = int(c.count("num_nextn_predict_layers", default=0))
    h = d.width(c)
    joint = Linear(h, h, bias=False, component=Component.PROJECTOR)
    block = _layer(d, c, (SLIDING, "moe")).called("DeepseekV4ModelNextN")
    block.adding(e_proj=joint, h_proj=joint, **d.norms(c, "enorm", "hnorm", "norm"))
    block.adding(**stream_weights(c, h, "hc_head_"))
    block.part = block.kind = "mtp"
    return Layers([block] * count, part="mtp", saved=False) if count else None


_causal = causal_lm("DeepseekV4ForCausalLM", _DEEPSEEK.model, head="head")
_CLASSES = with_predictor(
    {"DeepseekV4ForCausalLM": _causal, "DeepseekV4Model": _BARE.model}, _predictors
)
_ALIASES = {"embed.": "model.embed_tokens.", "hc_head_": "model.hc_head.hc_", "lm_head.": "head."}
register("deepseek_v4", _CLASSES, base_prefix="model", aliases=_ALIASES, category="text decoder")
