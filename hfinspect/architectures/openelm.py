"""OpenELM (Mehta et al. 2024). No class in transformers. Source of shapes: modeling_openelm.py and
configuration_openelm.py in apple/OpenELM-270M.

Every layer has its own number of heads and its own width of the MLP.
"""

from collections.abc import Sequence
from functools import partial

from ..core.components import Component
from ..core.config import MAX_DIM, ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.vision import MAX_RATIO, multiple
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm

_width = size("model_dim", default=2048)
_norm = partial(RMSNorm, class_name="OpenELMRMSNorm")


def _heads(c: ModelConfig, key: str, count: int) -> Sequence[Dim]:
    found = c.dims(key)
    return found * count if len(found) == 1 else c.dims(key, count=count)


def _ratios(c: ModelConfig, count: int) -> Sequence[float]:
    key, found = "ffn_multipliers", c.raw("ffn_multipliers")
    values = found if isinstance(found, list) else [found] * count
    if len(values) != count:
        raise c.miscounted(key, len(values), f"one for each of {count} layers")
    for value in values:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 0 < value <= MAX_RATIO:
            raise c.error(key, value, f"numbers above 0, at most {MAX_RATIO}")
    return [float(value) for value in values]


def _layer(c: ModelConfig, query: Dim, kv: Dim, ratio: float) -> Module:
    h, head = _width(c), c.dim("head_dim", default=128)
    divisor = int(c.dim("ffn_dim_divisor", default=256, maximum=2**20))
    meaning = f"{ratio:g} times model_dim, rounded to a multiple of {divisor}"
    inner = named(min(multiple(ratio * int(h), divisor), MAX_DIM), f"ffn({ratio:g})", meaning)
    gated = c.flag("ffn_with_glu", default=True)
    norm = _norm(head) if c.flag("normalize_qk_projections", default=False) else None
    return Module(
        "OpenELMDecoderLayer",
        attn=Module(
            "OpenELMMultiHeadCausalAttention",
            qkv_proj=Linear(h, (query + 2 * kv) * head, bias=False, kind="qkv"),
            q_norm=norm,
            k_norm=norm,
            out_proj=Linear(query * head, h, bias=False, kind="output"),
            component=Component.ATTENTION,
        ),
        ffn=Module(
            "OpenELMFeedForwardNetwork",
            proj_1=Linear(h, 2 * inner if gated else inner, bias=False, kind="gate_up"),
            proj_2=Linear(inner, h, bias=False, kind="down"),
            component=Component.MLP,
        ),
        ffn_norm=_norm(h),
        attn_norm=_norm(h),
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_transformer_layers", default=12))
    heads = (_heads(c, key, count) for key in ("num_query_heads", "num_kv_heads"))
    rows = list(zip(*heads, _ratios(c, count), strict=True))
    made = {row: _layer(c, *row) for row in dict.fromkeys(rows)}
    vocab = c.dim("vocab_size", default=32000)
    shared = c.flag("share_input_output_layers", default=True)
    return Module(
        "OpenELMModel",
        token_embeddings=Embedding(vocab, _width(c)),
        layers=Layers(made[row] for row in rows),
        norm=_norm(_width(c)),
        classifier=None if shared else to_words(_width(c), vocab),
    )


def causal_lm(c: ModelConfig) -> Module:
    return Module("OpenELMForCausalLM", transformer=model(c))


register(
    "openelm",
    {"OpenELMForCausalLM": causal_lm, "OpenELMModel": model},
    base_prefix="transformer",
    category="text decoder",
    source="modeling_openelm.py and configuration_openelm.py of apple/OpenELM-270M",
)
