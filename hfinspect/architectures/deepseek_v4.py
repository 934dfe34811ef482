"""DeepSeek-V4 (DeepSeek-AI 2026). Source of shapes: transformers/models/deepseek_v4.

Several residual streams joined and split by hyper-connections around every block; queries and
outputs through narrow projections, one shared key/value head, attention sinks; in most layers a
compressor of old keys, lightly with an indexer (CSA) or heavily (HCA); experts everywhere, routed
in the first layers by a table from token to expert.

Names are those of a fresh save, the Hub's but for the ends: ``embed.weight``, ``norm.weight``,
``hc_head_fn`` and no ``model.`` there, and ``attn.kv_norm`` where a save writes ``attn.norm``.
The Hub's multi-token-prediction blocks ``mtp.N``: SGLang, models/deepseek_v4_nextn.py.
"""

from collections.abc import Iterator, Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import mixtures as m
from ..layers.blocks import hyper_connection, size, stream_weights
from ..layers.decoders import Decoder
from ..layers.experts import experts, w_expert
from ..layers.heads import causal_lm
from ..layers.layer_kinds import side_by_side
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import Buffer, Layers, Linear, Module, Weight, Windows
from .llama import LLAMA
from .qwen3_next import with_predictor

SLIDING, LIGHT, HEAVY = (
    "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention",
)  # fmt: skip
_RATIOS = {0: SLIDING, 4: LIGHT, 128: HEAVY}
_rank, _index = size("q_lora_rank", default=1024), size("index_head_dim", default=128)


# ---- attention


def attention_types(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    """layer_types, else compress_ratios (0, 4 or 128 each; the entries after the last layer belong
    to multi-token prediction), else two heavy layers and then light and heavy by turns."""
    if not c.has("layer_types") and c.has("compress_ratios"):
        ratios = [int(ratio) for ratio in c.dims("compress_ratios", minimum=0)][:layers]
        if len(ratios) != layers or not set(ratios) <= set(_RATIOS):
            raise c.error("compress_ratios", c.raw("compress_ratios"), "0, 4 or 128 per layer")
        return [_RATIOS[ratio] for ratio in ratios]
    usual = [LIGHT if i >= 2 and i % 2 else HEAVY for i in range(layers)]
    return _words(c, "layer_types", usual, tuple(_RATIOS.values()))


def _words(c: ModelConfig, key: str, usual: list[str], allowed: tuple[str, ...]) -> Sequence[str]:
    """One word per layer; a list may be longer than the model is deep, not shorter."""
    found = c.strings(key, default=usual)[: len(usual)]
    if len(found) != len(usual):
        raise c.miscounted(key, len(found), f"one for each of {len(usual)} layers")
    for word in found:
        if word not in allowed:
            raise c.error(key, word, " or ".join(allowed))
    return found


def _rate(c: ModelConfig, kind: str) -> Dim:
    """How many tokens a compressor makes one of."""
    older, default = {HEAVY: ("compress_rate_hca", 128), LIGHT: ("compress_rate_csa", 4)}[kind]
    rates = c.section("compress_rates")
    return c.dim(older) if c.has(older) else rates.dim(kind, default=default)


def _compressors(d: Decoder, c: ModelConfig, kind: str, head: Dim) -> dict[str, Module]:
    """Keys of several tokens into one: a weighted mean with a bias by position."""
    if kind == SLIDING:
        return {}

    def compressor(name: str, width: Dim, wide: Dim) -> Module:
        return Module(
            name,
            ape=Weight(_rate(c, kind), wide),
            wkv=Linear(d.width(c), wide, bias=False, kind="kv_down"),
            wgate=Linear(d.width(c), wide, bias=False, kind="gate"),
            norm=d.norm(d, c, width),
        )

    if kind == HEAVY:
        return {"compressor": compressor("DeepseekV4HCACompressor", head, head)}
    count, width = c.dim("index_n_heads", default=64), _index(c)
    return {
        "compressor": compressor("DeepseekV4CSACompressor", head, head * 2),
        "indexer": Module(
            "DeepseekV4Indexer",
            compressor=compressor("Compressor", width, width * 2),
            wq_b=Linear(_rank(c), count * width, bias=False),
            weights_proj=Linear(d.width(c), count, bias=False),
            kind="indexer",
        ),
    }


def attention(d: Decoder, c: ModelConfig, kind: str) -> Module:
    h, head = d.width(c), c.dim("head_dim", default=512)
    heads, rank = c.dim("num_attention_heads", default=64), _rank(c)
    groups, out = c.dim("o_groups", default=8), c.dim("o_lora_rank", default=1024)
    older = d.norm(d, c, head)
    older.saved = False
    grouped = Linear(heads * head // groups, groups * out, bias=False, kind="output")
    grouped.class_name = "DeepseekV4GroupedLinear"
    return Module(
        "DeepseekV4Attention",
        {
            "wq_a": Linear(h, rank, bias=False, kind="query_down"),
            "q_norm": d.norm(d, c, rank),
            "wq_b": Linear(rank, heads * head, bias=False, kind="query_up"),
            "wkv": Linear(h, head, bias=False, kind="kv_down"),
            "norm": d.norm(d, c, head),
            "kv_norm": older,
            "wo_a": grouped,
            "wo_b": Linear(groups * out, h, bias=False, kind="output"),
            "attn_sink": Weight(heads, kind="sink"),
            **_compressors(d, c, kind, head),
        },
        component=Component.ATTENTION,
        keeps=tuple(_keeps(c, kind, head)),
    )


def _keeps(c: ModelConfig, kind: str, head: Dim) -> Iterator[KeysValues]:
    """Keys that are the values too, of one head; and of the compressors one row for ``rate``
    tokens, the tokens in no full group with their gates, and where groups overlap the last one.
    Source: DeepseekV4HCACache and DeepseekV4CSACache, which hold keys and values as one tensor;
    the plain windowed layer of transformers holds two."""
    yield KeysValues(head, 0, heads=1, latent=True, repeated=2 if kind == SLIDING else 1)
    kept = {} if kind == SLIDING else {"compressor": head}
    if kind == LIGHT:
        kept["indexer"] = _index(c)
    for name, width in kept.items():
        rate, wide = _rate(c, kind), width * 2 if kind == LIGHT else width
        yield KeysValues(width, 0, 1, name=f"{name}'s keys", every=rate)
        yield KeysValues(wide, wide, 1, name=f"{name}'s remainder", every=rate, of="rest")
        if kind == LIGHT:  # a group takes part of the one before it
            yield KeysValues(width, width, 1, name=f"{name}'s last group", every=rate, of="last")


# ---- experts and layers


def routing_types(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    """mlp_layer_types, else num_hash_layers layers routed by the token alone."""
    hashed = int(c.count("num_hash_layers", default=3))
    usual = ["hash_moe" if i < hashed else "moe" for i in range(layers)]
    return _words(c, "mlp_layer_types", usual, ("hash_moe", "moe"))


def _expert(x: m.Mixture, kind: str | None = None) -> Module:
    bias = kind is not None and x.c.flag("mlp_bias", default=False)
    act = x.d.act(x.c) or "Identity"
    return w_expert("DeepseekV4MLP", x.width, x.inner, act=act, bias=bias, kind=kind)


def _by_token(x: m.Mixture) -> Module:
    table = Buffer(x.d.size(x.c, "vocab_size"), x.used, dtype="I64")
    return m.scores("HashRouter")(x).adding(tid2eid=table)


def _by_score(x: m.Mixture) -> Module:
    return m.scores()(x).adding(bias=Buffer(x.count, dtype="F32"))


def layer(d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    h = d.width(c)
    ffn = m.sparse(
        "SparseMoeBlock",
        {
            "gate": _by_token if kind[1] == "hash_moe" else _by_score,
            "experts": lambda x: experts(x.count, x.used, _expert(x)),
            "shared_experts": lambda x: _expert(x, "shared_expert"),
        },
        count=m.counts("n_routed_experts", "num_local_experts", default=256),
        used=size("num_experts_per_tok", default=6),
        inner=size("moe_intermediate_size", "intermediate_size", default=2048),
    )
    return Module(
        "DeepseekV4DecoderLayer",
        {
            "attn": attention(d, c, kind[0]),
            "ffn": ffn(d, c),
            **d.norms(c, "attn_norm", "ffn_norm"),
            **hyper_connection(c, h, "attn"),
            **hyper_connection(c, h, "ffn"),
        },
    )


def _windows(c: ModelConfig) -> Windows:
    """Of every layer, whatever its compressor."""
    window = c.dim("sliding_window", default=128)
    return lambda layers: (window,) * layers


def _head(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    """How the streams join at the end."""
    parts = stream_weights(c, d.width(c), "hc_")
    return {"hc_head": Module("DeepseekV4HyperHead", dict(parts))}


_DEEPSEEK = LLAMA.like(
    "DeepseekV4", vocab_size=129280, num_hidden_layers=43, layer=layer, windows=_windows,
    kinds=side_by_side(attention_types, routing_types), rotary=False, further=_head,
)  # fmt: skip
# The base model as a root: a save then spells the ends as the Hub does.
_BARE = _DEEPSEEK.like(
    "DeepseekV4", table="embed", further=lambda d, c: stream_weights(c, d.width(c), "hc_head_")
)


def _predictors(c: ModelConfig) -> Module | None:
    """The Hub's multi-token-prediction blocks; embedding and head are the model's own."""
    d, count = _DEEPSEEK, int(c.count("num_nextn_predict_layers", default=0))
    h = d.width(c)
    joint = Linear(h, h, bias=False, component=Component.PROJECTOR)
    block = Module(
        "DeepseekV4ModelNextN",
        {
            **layer(d, c, (SLIDING, "moe")).children,
            **dict.fromkeys(("e_proj", "h_proj"), joint),
            **d.norms(c, "enorm", "hnorm", "norm"),
            **stream_weights(c, h, "hc_head_"),
        },
        part="mtp",
        kind="mtp",
    )
    return Layers([block] * count, part="mtp", saved=False) if count else None


_causal = with_predictor(
    causal_lm("DeepseekV4ForCausalLM", _DEEPSEEK.model, head="head"), _predictors
)
register(
    "deepseek_v4",
    {"DeepseekV4ForCausalLM": _causal, "DeepseekV4Model": _BARE.model},
    base_prefix="model",
    aliases={"embed.": "model.embed_tokens.", "hc_head_": "model.hc_head.hc_", "lm_head.": "head."},
    category="text decoder",
)
