"""SEW-D (Wu et al. 2021): SEW whose layers are DeBERTa v2's (transformers/models/sew_d)."""

from ..layers.composing import renamed
from ..layers.speech_encoders import Speech
from ..trees import ModelConfig, Module
from .deberta_v2 import DEBERTA_V2
from .sew import DEFAULTS, SEW

_DEFAULTS = {
    **DEFAULTS,
    "layer_norm_eps": 1e-7,
    "hidden_act": "gelu_python",
    "max_position_embeddings": 512,
    "position_buckets": 256,
    "share_att_key": True,
    "relative_attention": True,
    "pos_att_type": ("p2c", "c2p"),
    "norm_rel_ebd": "layer_norm",
}


def _model(s: Speech, c: ModelConfig) -> Module:
    built, name = SEW.like(s.name, s.prefix).model(c), f"{s.name}TransformerEncoder"
    layers = renamed(DEBERTA_V2.encoder(DEBERTA_V2, c), "DebertaV2", s.name).called(name)
    parts = {**built.inside("encoder").children, "encoder": layers}
    order = "pos_conv_embed", "pool", "encoder", "upsample"
    return built.adding(encoder=Module(f"{s.name}Encoder", {at: parts[at] for at in order}))


SEW.like("SEWD", "sew_d", defaults=_DEFAULTS, make_model=_model).register("sew-d")
