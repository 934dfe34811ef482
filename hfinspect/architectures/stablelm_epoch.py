"""StableLM under its first class (Stability AI 2023), with the tensors of transformers' StableLM.
The sources are those of stablelm-3b-4e1t and stablelm-2-1_6b."""

from ..layers.heads import register_decoder
from ..trees import ModelConfig, Module
from .stablelm import STABLELM

_PLAIN = STABLELM.like("", rotary=False)


def model(c: ModelConfig) -> Module:
    eps = c.raw("norm_eps", "layer_norm_eps")
    config = c.with_defaults(layer_norm_eps=1e-5 if eps is None else eps)
    return _PLAIN.named("StableLMEpochModel", config)


_SOURCE = "modeling_stablelm_epoch.py of stabilityai/stablelm-3b-4e1t; checked against StableLM"
register_decoder("stablelm_epoch", "StableLMEpoch", model, heads=(), source=_SOURCE)
