"""OpenELM (Mehta et al. 2024). No class in transformers. Source of shapes: modeling_openelm.py and
configuration_openelm.py in apple/OpenELM-270M.

Every layer has its own number of heads (num_query_heads, num_kv_heads) and its own MLP width:
``ffn_multipliers`` times model_dim, rounded to a multiple of ``ffn_dim_divisor``. The embedding
serves as the head.
"""

from ..core.components import Component
from ..core.config import MAX_DIM, ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import size
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm

#: A hundred times any real ratio of MLP to model width.
_MAX_RATIO = 1000.0


_width = size("model_dim", default=2048)


def _norm(size: Dim) -> Module:
    return RMSNorm(size, class_name="OpenELMRMSNorm")


def _divisible(value: float, divisor: int) -> int:
    """The nearest multiple, never less than nine tenths of the value."""
    found = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return found + divisor if found < 0.9 * value else found


def _per_layer(c: ModelConfig, key: str, count: int) -> tuple[Dim, ...]:
    found = c.dims(key)
    if len(found) == 1:
        found *= count
    if len(found) != count:
        raise c.error(key, f"{len(found)} entries", f"one for each of {count} layers")
    return found


def _ratios(c: ModelConfig, count: int) -> list[float]:
    found = c.raw("ffn_multipliers")
    values = found if isinstance(found, list) else [found] * count
    if len(values) != count:
        raise c.error("ffn_multipliers", f"{len(values)} entries", f"one for each of {count}")
    for value in values:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 0 < value <= _MAX_RATIO:
            raise c.error("ffn_multipliers", value, f"numbers above 0, at most {_MAX_RATIO:g}")
    return [float(value) for value in values]


def _layer(c: ModelConfig, query: Dim, kv: Dim, ratio: float) -> Module:
    h, head = _width(c), c.dim("head_dim", default=128)
    divisor = int(c.dim("ffn_dim_divisor", default=256, maximum=2**20))
    inner = named(
        min(_divisible(ratio * int(h), divisor), MAX_DIM),
        f"ffn({ratio:g})",
        f"{ratio:g} times model_dim, rounded to a multiple of {divisor}",
    )
    gated = c.flag("ffn_with_glu", default=True)
    normed = c.flag("normalize_qk_projections", default=False)
    return Module(
        "OpenELMDecoderLayer",
        attn=Module(
            "OpenELMMultiHeadCausalAttention",
            qkv_proj=Linear(h, (query + 2 * kv) * head, bias=False, kind="qkv"),
            q_norm=_norm(head) if normed else None,
            k_norm=_norm(head) if normed else None,
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
    rows = list(
        zip(
            _per_layer(c, "num_query_heads", count),
            _per_layer(c, "num_kv_heads", count),
            _ratios(c, count),
            strict=True,
        )
    )
    made = {row: _layer(c, *row) for row in dict.fromkeys(rows)}
    shared = c.flag("share_input_output_layers", default=True)
    vocab = c.dim("vocab_size", default=32000)
    head = to_words(_width(c), vocab)
    return Module(
        "OpenELMModel",
        token_embeddings=Embedding(vocab, _width(c)),
        layers=Layers(made[row] for row in rows),
        norm=_norm(_width(c)),
        classifier=None if shared else head,
    )


register(
    "openelm",
    {
        "OpenELMForCausalLM": lambda c: Module("OpenELMForCausalLM", transformer=model(c)),
        "OpenELMModel": model,
    },
    base_prefix="transformer",
    category="text decoder",
    source="modeling_openelm.py and configuration_openelm.py of apple/OpenELM-270M",
)
