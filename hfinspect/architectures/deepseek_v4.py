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

from ..core.components import Component, Role
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import hyper_connection, rms_norms, size
from ..layers.decoders import Decoder
from ..layers.experts import experts, w_expert
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import Buffer, Layers, Linear, Module, Parameter, Weight, Windows
from .llama import LLAMA

SLIDING, LIGHT, HEAVY = (
    "sliding_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
)
_RATIOS = {0: SLIDING, 4: LIGHT, 128: HEAVY}


_hidden = size("hidden_size", default=4096)
_norm = rms_norms("DeepseekV4RMSNorm", 1e-6)


# ---- attention


def attention_types(c: ModelConfig, layers: int) -> Sequence[str]:
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
        raise c.error(key, f"{len(found)} entries", f"one for each of {len(usual)} layers")
    for word in found:
        if word not in allowed:
            raise c.error(key, word, " or ".join(allowed))
    return found


def _rate(c: ModelConfig, kind: str, older: str, default: int) -> Dim:
    rates = c.section("compress_rates")
    return c.dim(older) if c.has(older) else rates.dim(kind, default=default)


def _compressing(c: ModelConfig, rate: Dim, width: Dim, wide: Dim) -> dict[str, Module | Parameter]:
    """Keys of ``rate`` tokens into one: a weighted mean with a bias by position."""
    h = _hidden(c)
    return {
        "ape": Weight(rate, wide),
        "wkv": Linear(h, wide, bias=False, kind="kv_down"),
        "wgate": Linear(h, wide, bias=False, kind="gate"),
        "norm": _norm(c, width),
    }


def _compressors(c: ModelConfig, kind: str, head: Dim) -> dict[str, Module]:
    if kind == SLIDING:
        return {}
    if kind == HEAVY:
        rate = _rate(c, HEAVY, "compress_rate_hca", 128)
        heavy = Module("DeepseekV4HCACompressor", _compressing(c, rate, head, head))
        return {"compressor": heavy}
    rate = _rate(c, LIGHT, "compress_rate_csa", 4)
    count, width = c.dim("index_n_heads", default=64), c.dim("index_head_dim", default=128)
    rank = c.dim("q_lora_rank", default=1024)
    return {
        "compressor": Module("DeepseekV4CSACompressor", _compressing(c, rate, head, head * 2)),
        "indexer": Module(
            "DeepseekV4Indexer",
            compressor=Module("Compressor", _compressing(c, rate, width, width * 2)),
            wq_b=Linear(rank, count * width, bias=False),
            weights_proj=Linear(_hidden(c), count, bias=False),
            kind="indexer",
        ),
    }


def attention(c: ModelConfig, kind: str) -> Module:
    h, head = _hidden(c), c.dim("head_dim", default=512)
    heads, rank = c.dim("num_attention_heads", default=64), c.dim("q_lora_rank", default=1024)
    groups, out = c.dim("o_groups", default=8), c.dim("o_lora_rank", default=1024)
    return Module(
        "DeepseekV4Attention",
        {
            "wq_a": Linear(h, rank, bias=False, kind="query_down"),
            "q_norm": _norm(c, rank),
            "wq_b": Linear(rank, heads * head, bias=False, kind="query_up"),
            "wkv": Linear(h, head, bias=False, kind="kv_down"),
            "norm": _norm(c, head),
            "kv_norm": Module(
                "DeepseekV4RMSNorm", weight=Weight(head), component=Component.NORM, saved=False
            ),
            "wo_a": Linear(heads * head // groups, groups * out, bias=False, kind="output",
                           class_name="DeepseekV4GroupedLinear"),
            "wo_b": Linear(groups * out, h, bias=False, kind="output"),
            "attn_sink": Weight(heads, kind="sink"),
            **_compressors(c, kind, head),
        },
        component=Component.ATTENTION,
        keeps=_keeps(c, kind, head),
    )  # fmt: skip


def _keeps(c: ModelConfig, kind: str, head: Dim) -> tuple[KeysValues, ...]:
    """Keys that are the values too, of one head; and of the compressors one row for ``rate``
    tokens, the tokens in no full group with their gates, and where groups overlap the last one.
    Source: DeepseekV4HCACache and DeepseekV4CSACache, which hold keys and values as one tensor;
    the plain windowed layer of transformers holds two."""
    if kind == SLIDING:
        return (KeysValues(head, 0, heads=1, latent=True, repeated=2),)
    own = KeysValues(head, 0, heads=1, latent=True)
    if kind == HEAVY:
        return (own, *_compressed("compressor", head, _rate(c, HEAVY, "compress_rate_hca", 128), 1))
    rate = _rate(c, LIGHT, "compress_rate_csa", 4)
    index = c.dim("index_head_dim", default=128)
    return (own, *_compressed("compressor", head, rate, 2), *_compressed("indexer", index, rate, 2))


def _compressed(name: str, width: Dim, rate: Dim, series: int) -> Iterator[KeysValues]:
    """``series``: 2 where a group takes part of the one before it."""
    yield KeysValues(width, 0, heads=1, name=f"{name}'s keys", every=rate)
    wide = width * series
    yield KeysValues(wide, wide, heads=1, name=f"{name}'s remainder", every=rate, of="rest")
    if series > 1:
        yield KeysValues(width, width, heads=1, name=f"{name}'s last group", every=rate, of="last")


# ---- experts


def routing_types(c: ModelConfig, layers: int) -> Sequence[str]:
    """mlp_layer_types, else num_hash_layers layers routed by the token alone."""
    hashed = int(c.count("num_hash_layers", default=3))
    usual = ["hash_moe" if i < hashed else "moe" for i in range(layers)]
    return _words(c, "mlp_layer_types", usual, ("hash_moe", "moe"))


def ffn(c: ModelConfig, kind: str) -> Module:
    h, act = _hidden(c), c.text("hidden_act", default="silu") or "Identity"
    inner = c.dim("moe_intermediate_size", "intermediate_size", default=2048)
    count = c.count("n_routed_experts", "num_local_experts", default=256)
    per_token = c.dim("num_experts_per_tok", default=6)
    gate: dict[str, Module | Parameter] = {"weight": Weight(count, h)}
    if kind == "hash_moe":
        gate["tid2eid"] = Buffer(c.dim("vocab_size", default=129280), per_token, dtype="I64")
    else:
        gate["bias"] = Parameter((count,), role=Role.BUFFER, dtype="F32")
    return Module(
        "DeepseekV4SparseMoeBlock",
        gate=Module(
            "DeepseekV4HashRouter" if kind == "hash_moe" else "DeepseekV4TopKRouter",
            gate,
            component=Component.ROUTER,
        ),
        experts=experts(count, per_token, w_expert("DeepseekV4MLP", h, inner, act=act)),
        shared_experts=w_expert(
            "DeepseekV4MLP", h, inner, act=act, bias=c.flag("mlp_bias", default=False),
            kind="shared_expert",
        ),
        component=Component.MLP,
    )  # fmt: skip


# ---- hyper-connections


def _joining(c: ModelConfig, prefix: str) -> dict[str, Module | Parameter]:
    """How the streams join at the end."""
    streams = c.dim("hc_mult", default=4)
    return {
        f"{prefix}fn": Weight(streams, streams * _hidden(c)),
        f"{prefix}base": Weight(streams),
        f"{prefix}scale": Weight(1),
    }


def layer(c: ModelConfig, attention_kind: str, routing: str) -> Module:
    return Module(
        "DeepseekV4DecoderLayer",
        {
            "attn": attention(c, attention_kind),
            "ffn": ffn(c, routing),
            "attn_norm": _norm(c, _hidden(c)),
            "ffn_norm": _norm(c, _hidden(c)),
            **hyper_connection(c, _hidden(c), "attn"),
            **hyper_connection(c, _hidden(c), "ffn"),
        },
    )


def _layer(_d: Decoder, c: ModelConfig, kind: tuple[str, str]) -> Module:
    return layer(c, *kind)


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[tuple[str, str]]:
    return list(zip(attention_types(c, layers), routing_types(c, layers), strict=True))


def _windows(c: ModelConfig) -> Windows:
    """Of every layer, whatever its compressor."""
    window = c.dim("sliding_window", default=128)
    return lambda layers: (window,) * layers


def _head(_d: Decoder, c: ModelConfig) -> dict[str, Module]:
    return {"hc_head": Module("DeepseekV4HyperHead", _joining(c, "hc_"))}


_DEEPSEEK = LLAMA.like(
    "DeepseekV4", vocab_size=129280, num_hidden_layers=43, layer=_layer, kinds=_kinds,
    windows=_windows, rotary=False, further=_head,
)  # fmt: skip
# The base model as a root: a save then spells the ends as the Hub does.
_BARE = _DEEPSEEK.like(
    "DeepseekV4", table="embed", further=lambda _d, c: _joining(c, "hc_head_")
)  # fmt: skip


def _predictors(c: ModelConfig) -> Module | None:
    """The Hub's multi-token-prediction blocks; embedding and head are the model's own."""
    count = int(c.count("num_nextn_predict_layers", default=0))
    if not count:
        return None
    h = _hidden(c)
    block = Module(
        "DeepseekV4ModelNextN",
        {
            **layer(c, SLIDING, "moe").children,
            "e_proj": Linear(h, h, bias=False, component=Component.PROJECTOR),
            "h_proj": Linear(h, h, bias=False, component=Component.PROJECTOR),
            **{name: _norm(c, h) for name in ("enorm", "hnorm", "norm")},
            **_joining(c, "hc_head_"),
        },
        part="mtp",
        kind="mtp",
    )
    return Layers([block] * count, part="mtp", saved=False)


def causal(c: ModelConfig) -> Module:
    root = causal_lm("DeepseekV4ForCausalLM", _DEEPSEEK.model, head="head")(c)
    predictors = _predictors(c)
    if predictors is not None:
        root.children["mtp"] = predictors
    return root


register(
    "deepseek_v4",
    {"DeepseekV4ForCausalLM": causal, "DeepseekV4Model": _BARE.model},
    base_prefix="model",
    aliases={"embed.": "model.embed_tokens.", "hc_head_": "model.hc_head.hc_", "lm_head.": "head."},
    category="text decoder",
)
