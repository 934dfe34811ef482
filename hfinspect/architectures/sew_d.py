"""SEW-D (Wu et al. 2021): SEW whose layers are DeBERTa v2's (transformers/models/sew_d)."""

from ..layers.composing import renamed
from ..layers.speech_encoders import Speech
from ..trees import ModelConfig, Module, config_defaults
from .deberta_v2 import DEBERTA_V2
from .sew import DEFAULTS, SEW

_DEFAULTS = {**DEFAULTS, **config_defaults("sew_d")}


def _model(s: Speech, c: ModelConfig) -> Module:
    built = SEW.like(s.name, s.prefix).model(c)
    name = f"{s.name}TransformerEncoder"
    layers = renamed(DEBERTA_V2.encoder(DEBERTA_V2, c), "DebertaV2", s.name).called(name)
    parts = {**built.inside("encoder").children, "encoder": layers}
    order = "pos_conv_embed", "pool", "encoder", "upsample"
    return built.adding(encoder=Module(f"{s.name}Encoder", {at: parts[at] for at in order}))


SEW.like("SEWD", "sew_d", defaults=_DEFAULTS, make_model=_model).register("sew-d")
