"""SEW-D (Wu et al. 2021). Source of shapes: transformers/models/sew_d/modeling_sew_d.py.

SEW (sew.py) whose layers are DeBERTa v2's: content and position apart.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.speech_encoders import Speech
from ..trees.modules import Module
from . import sew
from .deberta_v2 import DEBERTA_V2

_DEFAULTS = {
    **sew.DEFAULTS, "layer_norm_eps": 1e-7, "hidden_act": "gelu_python",
    "max_position_embeddings": 512, "position_buckets": 256, "share_att_key": True,
    "relative_attention": True, "pos_att_type": ("p2c", "c2p"), "norm_rel_ebd": "layer_norm",
}  # fmt: skip


def _layers(c: ModelConfig) -> Module:
    body = renamed(DEBERTA_V2.encoder(DEBERTA_V2, c), "DebertaV2", "SEWD")
    body.class_name = "SEWDTransformerEncoder"
    return body


def _model(_s: Speech, c: ModelConfig) -> Module:
    built = renamed(sew.SEW.model(c), "SEW", "SEWD")
    encoder = built.inside("encoder")
    upsample, pool = encoder.inside("upsample"), encoder["pool"]
    built.children["encoder"] = Module(
        "SEWDEncoder",
        pos_conv_embed=encoder["pos_conv_embed"],
        pool=pool,
        encoder=_layers(c),
        upsample=upsample,
    )
    return built


sew.SEW.like("SEWD", "sew_d", defaults=_DEFAULTS, whole=_model).register("sew-d")
