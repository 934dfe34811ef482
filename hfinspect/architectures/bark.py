"""Bark (Suno 2023). Source of shapes: transformers/models/bark/modeling_bark.py.

Three GPTs in a row, from text to semantic tokens to coarse to fine codes, and the codec that makes
sound of them.  The first two attend causally and hold their masks in the file; the third has a
table and a head for each codebook, tied in pairs.
"""

from functools import partial

from ..core.config import ModelConfig
from ..layers import spelled
from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.spelled import Spelled
from ..trees.catalog import auto_model, register_part
from ..trees.modules import Buffer, LayerNorm, Module, ModuleList, Parameter

_outputs = size("output_vocab_size", default=10048)


def _mask(d: Spelled, c: ModelConfig) -> Parameter:
    return Buffer(1, 1, d.length(c), d.length(c), dtype="BOOL")


def _head(d: Spelled, c: ModelConfig) -> Module:
    return to_words(d.width(c), _outputs(c))


_BIASED = spelled.flagged("bias", default=True)
_ATTENTION = {"att_proj": spelled.qkv, "out_proj": spelled.output}
_GPT = Spelled(
    "Bark",
    width=size("hidden_size", default=768),
    heads=size("num_heads", "num_attention_heads", default=12),
    depth=size("num_layers", "num_hidden_layers", default=12),
    vocab=size("input_vocab_size", "vocab_size", default=10048),
    length=size("block_size", "window_size", default=1024),
    inner=spelled.times(4),
    norms=lambda c, width: LayerNorm(width, bias=_BIASED(c)),
    bias=_BIASED,
    block={
        "layernorm_1": spelled.norm, "layernorm_2": spelled.norm, "attn": spelled.attention,
        "mlp": spelled.mlp,
    },
    attention={"bias": _mask, **_ATTENTION},
    mlp={
        "in_proj": spelled.up, "out_proj": spelled.down,
        "gelu": spelled.shown("GELU", "approximate='none'"),
    },
    model={
        "input_embeds_layer": spelled.words, "position_embeds_layer": spelled.positions,
        "layers": spelled.layers, "layernorm_final": spelled.norm, "lm_head": _head,
    },
    called={"Attention": "BarkSelfAttention"},
)  # fmt: skip


# ---- the third


def _tables(d: Spelled, c: ModelConfig) -> Module:
    return ModuleList([spelled.words(d, c)] * int(c.count("n_codes_total", default=8)))


def _heads(d: Spelled, c: ModelConfig) -> Module:
    total, given = c.count("n_codes_total", default=8), c.count("n_codes_given", default=1)
    if given > total:
        raise c.error("n_codes_given", int(given), f"at most n_codes_total = {int(total)}")
    tables = [f"input_embeds_layers.{i + 1}.weight" for i in range(int(total) - int(given))]
    return ModuleList(
        to_words(d.width(c), _outputs(c), table if c.tied() else None) for table in tables
    )


_FINE = _GPT.like(
    "Bark",
    norms=lambda _c, width: LayerNorm(width),
    attention=_ATTENTION,
    model={
        "input_embeds_layers": _tables, "position_embeds_layer": spelled.positions,
        "layers": spelled.layers, "layernorm_final": spelled.norm, "lm_heads": _heads,
    },
)  # fmt: skip

#: Section of the whole -> ending of the class, and which of the two it is.
_PARTS = {
    "semantic": ("SemanticModel", _GPT), "coarse_acoustics": ("CoarseModel", _GPT),
    "fine_acoustics": ("FineModel", _FINE),
}  # fmt: skip


def _part(c: ModelConfig, ending: str, gpt: Spelled) -> Module:
    return gpt.of(c, ending, gpt.model, scope=True)


def model(c: ModelConfig) -> Module:
    made = {at: _part(c.section(f"{at}_config"), *part) for at, part in _PARTS.items()}
    codec = auto_model(c.section("codec_config"), default_type="encodec")
    return Module("BarkModel", {**made, "codec_model": codec}, part="audio")


register_part("bark", "BarkModel", model, "audio")
for _type, (_ending, _gpt) in _PARTS.items():
    register_part(_type, f"Bark{_ending}", partial(_part, ending=_ending, gpt=_gpt), "audio")
