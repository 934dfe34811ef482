"""Qwen4-Exp (Qwen team 2026; transformers/models/qwen4_exp, conversion_mapping.py), text and image.
Some layers look n-grams up in hashed tables of prime sizes, which files hold in shards."""

from functools import partial
from itertools import count as numbers
from itertools import islice
from typing import Final

from ..layers.blocks import depthwise, size
from ..layers.decoders import Decoder
from ..layers.heads import register_tower
from ..layers.layer_kinds import every_nth, side_by_side, words
from ..layers.multimodal import register_worded, seeing
from ..trees import Component, Dim, KeysValues, ModelConfig, config_defaults, named, register_part
from ..trees.modules import Buffer, Embedding, Linear, Module
from .qwen3_5 import vision_model
from .qwen3_next import delta_net, gated_attention, routed

#: Heads of all n-gram tables together; the model's own example has 16 a layer. Each costs a prime.
MAX_NGRAM_HEADS: Final = 4096
_streams = size("hc_count", default=4)


def _attention(d: Decoder, c: ModelConfig) -> Module:
    width = c.dim("indexer_head_dim")
    kv = c.dim("indexer_kv_heads")
    keys = KeysValues(kv * width, 0, heads=1, name="indexer")
    rows = (c.dim("indexer_n_heads") + kv) * width
    indexer = Module(
        f"{d.name}QSAIndexer",
        index_qk_proj=Linear(d.width(c), rows, bias=False),
        q_layernorm=d.norm(d, c, width),
        k_layernorm=d.norm(d, c, width),
        kind="indexer",
        cache=(keys, KeysValues(3, 0, name="position", dtype="I64")),
    )
    return gated_attention(d, c).adding(indexer=indexer)


def _residual(d: Decoder, c: ModelConfig) -> Module:
    """How the streams mix before a block, through a low rank, and take its output back."""
    wide = d.width(c) * _streams(c)
    rank = c.dim("hc_lowrank", default=320)
    return Module(
        f"{d.name}GatedResidual",
        hc_norm=d.norm(d, c, wide),
        input_mix_weight_down=Linear(wide, rank, bias=False),
        input_mix_weight_up=Linear(rank, wide, bias=False),
        block_inject_weight=Linear(wide, _streams(c), bias=False),
    )


def _ngram_heads(c: ModelConfig) -> Dim:
    size = c.count("ngram_size", default=3, minimum=2)
    return (size - 1) * c.count("heads_per_ngram", default=8, minimum=1)


def _ngram_tables(d: Decoder, c: ModelConfig, sizes: tuple[int, ...]) -> Module:
    """One table for all heads of a layer, the size of each a prime; cut into shards of rows."""
    heads = _ngram_heads(c)
    wide = c.dim("ple_embed_dim", default=d.width(c))
    width = c.divided(wide, heads, "ple_embed_dim", "heads_per_ngram")
    multiple = int(c.dim("make_ngram_vocab_size_divisible_by", default=128))
    rows = -(-sum(sizes) // multiple) * multiple
    parts = int(c.count("split_ngram_parts", default=512, minimum=1))
    each = -(-rows // parts)
    shards = [max(min(each, rows - i * each), 0) for i in range(parts)]
    how = "primes from ngram_vocab_size_base on, summed, padded, cut in split_ngram_parts"
    tables = {size: Embedding(named(size, "shard_rows", how), width) for size in {*shards} - {0}}
    listed = {f"shard_{i}": tables[size] for i, size in enumerate(shards) if size}
    return Module(
        f"{d.name}NGramEmbedding",
        layer_multipliers=Buffer(c.count("ngram_size", default=3), dtype="I64"),
        ngram_heads_vocab_sizes=Buffer(heads, dtype="I64"),
        ngram_heads_offsets=Buffer(heads, dtype="I64"),
        ngram_embedding=Module("Embedding", dict(listed)),
        component=Component.EMBEDDING,
    )


def _lookup(d: Decoder, c: ModelConfig, sizes: tuple[int, ...]) -> Module:
    h = d.width(c)
    kernel = c.dim("ple_conv_kernel_size", default=4)
    wide = h * _streams(c)
    width = c.dim("ple_embed_dim", default=h)
    return Module(
        f"{d.name}PLELayer",
        {
            "ple_embedding": _ngram_tables(d, c, sizes),
            "key_proj": Linear(width, wide, bias=False),
            "value_proj": Linear(width, h, bias=False),
            **{f"norm_{at}": d.norm(d, c, wide) for at in ("key", "query", "conv")},
            "conv1d": depthwise(wide, kernel, component=Component.CONV),
        },
        component=Component.EMBEDDING,
    )


def _layer(d: Decoder, c: ModelConfig, kind: tuple[str, tuple[int, ...]]) -> Module:
    """Of a kind of mixer, and with tables of these sizes."""
    linear = kind[0] == "linear_attention"
    sizes = kind[1]
    return Module(
        f"{d.name}DecoderLayer",
        linear_attn=delta_net(d, c) if linear else None,
        self_attn=None if linear else d.attention(d, c),
        mlp=d.feed_forward(c, "sparse"),
        ple=_lookup(d, c, sizes) if sizes else None,
        attn_hyper_connection=_residual(d, c),
        mlp_hyper_connection=_residual(d, c),
    )


def _table_sizes(_d: Decoder, c: ModelConfig, layers: int) -> list[tuple[int, ...]]:
    """The primes from ngram_vocab_size_base on, in turn; ``ple_layer_ids`` counts layers from 1.
    Raises ConfigError beyond MAX_NGRAM_HEADS."""
    chosen = {int(i) for i in c.dims("ple_layer_ids", default=())}
    if not chosen:
        return [()] * layers
    if max(chosen) > layers:
        raise c.error("ple_layer_ids", max(chosen), f"a layer from 1 to {layers}")
    heads = int(_ngram_heads(c))
    if heads * len(chosen) > MAX_NGRAM_HEADS:
        raise c.error("heads_per_ngram", heads, f"at most {MAX_NGRAM_HEADS} in all layers")
    base = int(c.dim("ngram_vocab_size_base", default=20_000_000))
    primes = iter(primes_from(base, heads * len(chosen)))
    return [tuple(islice(primes, heads)) if i + 1 in chosen else () for i in range(layers)]


_USUAL = every_nth("full_attention_interval", 4, "indexed_attention")
# full_attention is another word for indexed.
_MIXERS = words(_USUAL, "linear_attention", "indexed_attention", "full_attention")
_TEXT = Decoder(
    "Qwen4ExpText",
    **config_defaults("qwen4_exp"),
    rotary=False,
    qk_norm=True,
    attention=_attention,
    moe=routed(512, 10),
    layer=_layer,
    kinds=side_by_side(_MIXERS, _table_sizes),
)


def _text(c: ModelConfig) -> Module:
    """The streams join where others have a norm."""
    mixer = _residual(_TEXT, c).without("block_inject_weight")
    return _TEXT.model(c).without("norm").adding(hyper_connection_mixer=mixer)


_tower = partial(vision_model, "Qwen4Exp")
register_tower("qwen4_exp_text", "Qwen4Exp", _text)
register_worded("qwen4_exp", "Qwen4Exp", seeing(_tower, _text), tied=False)
register_part("qwen4_exp_vision", "Qwen4ExpVisionModel", _tower, "vision")

#: Of Miller and Rabin's test, with these exact below 3.3 · 10^24 (Sorenson and Webster 2015) and so
#: for every number a config may hold; its cost does not grow with the root of a hostile one.
_BASES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


def is_prime(value: int) -> bool:
    odd = value - 1
    twos = (odd & -odd).bit_length() - 1

    def passes(base: int) -> bool:
        power = pow(base, odd >> twos, value)
        return power == 1 or any(pow(power, 1 << i, value) == odd for i in range(twos))

    return value in _BASES or (value > _BASES[-1] and all(map(passes, _BASES)))


def primes_from(start: int, count: int) -> list[int]:
    """The first ``count`` primes that are at least ``start``."""
    return list(islice(filter(is_prime, numbers(start)), count))
