"""Switch Transformers (Fedus et al. 2021): T5 in which every n-th layer has experts, of which the
router picks one for a token (transformers/models/switch_transformers)."""

from ..core.config import ModelConfig
from ..layers.composing import changed
from ..layers.experts import numbered_experts
from ..layers.heads import to_words
from ..trees.modules import Layers, Module, once
from . import t5

_DEFAULTS = {"d_model": 768, "num_layers": 12, "num_heads": 12}


def _blocks(c: ModelConfig, *, decoder: bool) -> Layers:
    # The config class takes the other spelling into account for the encoder alone, and last.
    side = "encoder"
    own_count = c.fields.count("num_layers")
    layers = c.count("num_layers")
    if decoder:  # 12 where nothing is said, as many as the encoder's where null is.
        usual = own_count if "num_decoder_layers" in c.values else 12
        side = "decoder"
        own_count = layers = c.count("num_decoder_layers", default=usual)
    sparse = int(c.count(f"num_sparse_{side}_layers", default=3))
    # A saved config names the step, which is ``layers // sparse``, or ``layers``.
    step = int(c.count(f"{side}_sparse_step", default=int(own_count) // (sparse or 1)))

    def block(kind: tuple[bool, bool]) -> Module:
        first, routed = kind
        mlp = t5.feed_forward(c, c.text("dense_act_fn", default="relu"))
        if routed:
            mlp.inside("wi").kind = mlp.inside("wo").kind = "expert"
            count = c.count("num_experts", default=8, minimum=1)
            mlp = numbered_experts(c, "T5", mlp, c.dim("d_model"), count, 1)
        return t5.block(c, decoder=decoder, positions=first, mlp=mlp)

    # As SwitchTransformersStack decides.
    kinds = [(i == 0, step > 0 and (i % step == 1 or step == 1)) for i in range(layers)]
    return Layers(once(kinds, block))


def _routed(c: ModelConfig, root: Module) -> None:
    """The blocks in place of T5's. All tables and the head are one unless the config unties them;
    an encoder alone that decodes has as many layers as a decoder."""
    table = "shared.weight" if c.tied() else None
    alone = "decoder" not in root.children and c.flag("is_decoder", default=False)
    for name, decodes in (("encoder", alone), ("decoder", True)):
        if name in root.children:
            words = t5.table(c, tied_to=table)
            blocks = _blocks(c, decoder=decodes)
            root.inside(name).adding(embed_tokens=words, block=blocks)
    if "lm_head" in root.children:
        root.adding(lm_head=to_words(c.dim("d_model"), t5.vocab(c), table))


_HEADS = ("T5ForConditionalGeneration", "T5Model", "T5EncoderModel")
_CLASSES = changed({name: t5.CLASSES[name] for name in _HEADS}, _routed)
t5.register_kin("switch_transformers", "SwitchTransformers", _DEFAULTS, _CLASSES)
