"""Switch Transformers (Fedus et al. 2021). Source: transformers/models/switch_transformers.

T5 in which every n-th layer has experts, of which the router picks one for a token.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.composing import Part, composed, renamed_classes, with_defaults
from ..layers.experts import numbered_experts
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Dropout, Layers, Linear, Module
from . import t5

_DEFAULTS = {
    "vocab_size": 32128, "d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12,
    "num_sparse_encoder_layers": 3, "num_sparse_decoder_layers": 3, "num_heads": 12,
    "num_experts": 8,
}  # fmt: skip


def _dense(c: ModelConfig) -> Module:
    d, inner = c.dim("d_model"), c.dim("d_ff")
    return Module(
        "T5DenseActDense",
        wi=Linear(d, inner, bias=False, kind="up"),
        wo=Linear(inner, d, bias=False, kind="down"),
        dropout=Dropout(c.number("dropout_rate", default=0.1)),
        act=activation(c.text("dense_act_fn", default="relu")),
        component=Component.MLP,
    )


def _sparse(c: ModelConfig) -> Module:
    count = c.count("num_experts", minimum=1)
    expert = _dense(c)
    for name in ("wi", "wo"):
        expert.inside(name).kind = "expert"
    return numbered_experts(c, "T5", expert, c.dim("d_model"), count, 1)


def _block(c: ModelConfig, *, decoder: bool, positions: bool, sparse: bool) -> Module:
    block = t5.block(c, decoder=decoder, positions=positions)
    last = block.inside("layer", "2" if decoder else "1")
    rest = {name: child for name, child in last.children.items() if name != "DenseReluDense"}
    last.children = {"mlp": _sparse(c) if sparse else _dense(c), **rest}
    return block


def _is_sparse(index: int, step: int) -> bool:
    """As SwitchTransformersStack decides."""
    return step > 0 and (index % step == 1 or step == 1)


def _decoder_layers(c: ModelConfig) -> Dim:
    """12 where nothing is said, as many as the encoder's where null is."""
    said = "num_decoder_layers" in c.values
    return c.count("num_decoder_layers", default=c.fields.count("num_layers") if said else 12)


def _stack(c: ModelConfig, *, decoder: bool) -> Module:
    side = "decoder" if decoder else "encoder"
    said = int(_decoder_layers(c) if decoder else c.fields.count("num_layers"))
    # The config class takes the other spelling into account for the encoder alone, and last.
    layers = said if decoder else int(c.count("num_layers"))
    sparse = int(c.count(f"num_sparse_{side}_layers"))
    # A saved config names the step, which is ``layers // sparse``, or ``layers``.
    step = c.count(f"{side}_sparse_step", default=said // sparse if sparse else said)
    wanted = [(i == 0, _is_sparse(i, int(step))) for i in range(layers)]
    built = {
        form: _block(c, decoder=decoder, positions=form[0], sparse=form[1]) for form in set(wanted)
    }
    stack = t5.stack(c, decoder=decoder)
    stack.children |= {
        "embed_tokens": t5.table(c, tied_to=_table_of(c)),
        "block": Layers([built[form] for form in wanted]),
    }
    return stack


def _table_of(c: ModelConfig) -> str | None:
    """All tables and the head are one unless the config unties them."""
    return "shared.weight" if c.tied() else None


def _encoder_alone(c: ModelConfig) -> Module:
    """One that decodes has the decoder's layers too."""
    return _stack(c, decoder=t5.encoder_decodes(c))


def _head(c: ModelConfig) -> Module:
    return to_words(c.dim("d_model"), c.dim("vocab_size"), _table_of(c))


_MODEL: dict[str, Part] = {
    "shared": t5.table,
    "encoder": lambda c: _stack(c, decoder=False),
    "decoder": lambda c: _stack(c, decoder=True),
}
_CLASSES = composed(
    {
        "T5ForConditionalGeneration": {**_MODEL, "lm_head": _head},
        "T5Model": _MODEL,
        "T5EncoderModel": {"shared": t5.table, "encoder": _encoder_alone},
    }
)

register(
    "switch_transformers",
    with_defaults(
        _DEFAULTS,
        renamed_classes(_CLASSES, "T5", "SwitchTransformers"),
        synonyms=t5.SYNONYMS,
    ),
    category="encoder-decoder",
)
