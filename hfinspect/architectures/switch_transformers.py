"""Switch Transformers (Fedus et al. 2021). Source: transformers/models/switch_transformers.

T5 in which every n-th layer has experts, of which the router picks one for a token.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.composing import changed, renamed_classes, with_defaults
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
    """T5's, whose MLP is called otherwise, or has experts."""
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


def _blocks(c: ModelConfig, *, decoder: bool) -> Layers:
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
    return Layers([built[form] for form in wanted])


def _routed(c: ModelConfig, root: Module) -> None:
    """The blocks in place of T5's. All tables and the head are one unless the config unties them;
    an encoder alone that decodes has as many layers as a decoder."""
    table = "shared.weight" if c.tied() else None
    alone = "decoder" not in root.children and t5.encoder_decodes(c)
    for name, decodes in (("encoder", alone), ("decoder", True)):
        stack = root.children.get(name)
        if isinstance(stack, Module):
            stack.children["embed_tokens"] = t5.table(c, tied_to=table)
            stack.children["block"] = _blocks(c, decoder=decodes)
    if "lm_head" in root.children:
        root.children["lm_head"] = to_words(c.dim("d_model"), c.dim("vocab_size"), table)


_HEADS = ("T5ForConditionalGeneration", "T5Model", "T5EncoderModel")
_CLASSES = changed({name: t5.CLASSES[name] for name in _HEADS}, _routed)
register(
    "switch_transformers",
    with_defaults(
        _DEFAULTS, renamed_classes(_CLASSES, "T5", "SwitchTransformers"), synonyms=t5.SYNONYMS
    ),
    category="encoder-decoder",
)
