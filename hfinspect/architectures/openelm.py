"""OpenELM (Mehta et al. 2024): every layer has its own number of heads and width of the MLP."""

from ..core.config import MAX_DIM
from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.composing import composed
from ..layers.vision import MAX_RATIO, multiple
from ..trees import Component, Dim, ModelConfig, named
from ..trees.modules import Layers, Linear, Module, RMSNorm, once


def _layer(d: s.NamedDecoder, c: ModelConfig, query: Dim, kv: Dim, ratio: float) -> Module:
    h = d.width(c)
    head = c.dim("head_dim", default=128)
    normed = "normalize_qk_projections"
    divisor = int(c.dim("ffn_dim_divisor", default=256, maximum=2**20))
    meaning = f"{ratio:g} times model_dim, rounded to a multiple of {divisor}"
    inner = named(min(multiple(ratio * int(h), divisor), MAX_DIM), f"ffn({ratio:g})", meaning)
    gated = c.flag("ffn_with_glu", default=True)
    norm = d.norms(c, head) if c.flag(normed, default=False) else None
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
        ffn_norm=s.norm(d, c),
        attn_norm=s.norm(d, c),
    )


def _layers(d: s.NamedDecoder, c: ModelConfig) -> Layers:
    count = int(c.count("num_transformer_layers", default=12))
    heads = []
    for key in ("num_query_heads", "num_kv_heads"):
        counts = c.dims(key)
        heads.append(counts * count if len(counts) == 1 else c.dims(key, count=count))
    multipliers = c.raw(key := "ffn_multipliers")
    ratios = multipliers if isinstance(multipliers, list) else [multipliers] * count
    if len(ratios) != count:
        raise c.miscounted(key, len(ratios), f"one for each of {count} layers")
    for ratio in ratios:
        good = isinstance(ratio, (int, float)) and not isinstance(ratio, bool)
        if not good or not 0 < ratio <= MAX_RATIO:
            raise c.error(key, ratio, f"numbers above 0, at most {MAX_RATIO}")
    rows = list(zip(*heads, map(float, ratios), strict=True))
    return Layers(once(rows, lambda row: _layer(d, c, *row)))


_OPENELM = s.NamedDecoder(
    "OpenELM",
    width=size("model_dim", default=2048),
    vocab=size("vocab_size", default=32000),
    bias=s.never,
    norms=lambda _c, width: RMSNorm(width, class_name="OpenELMRMSNorm"),
    model={
        "token_embeddings": s.words,
        "layers": _layers,
        "norm": s.norm,
        "classifier": s.where(s.unless("share_input_output_layers", default=True), s.lm_head),
    },
)
_OPENELM.register(
    "openelm",
    composed({"OpenELMForCausalLM": {"transformer": _OPENELM.base}, "OpenELMModel": _OPENELM.base}),
    source="modeling_openelm.py and configuration_openelm.py of apple/OpenELM-270M",
)
