"""StableLM under its first class (Stability AI 2023), with the tensors of transformers' StableLM.
Source of shapes: modeling_stablelm_epoch.py in stabilityai/stablelm-3b-4e1t and stablelm-2-1_6b.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.heads import register_decoder
from ..trees.modules import Module
from .stablelm import STABLELM


def model(c: ModelConfig) -> Module:
    eps = c.raw("norm_eps", "layer_norm_eps")
    root = STABLELM.model(c.with_defaults(layer_norm_eps=1e-5 if eps is None else eps))
    renamed(renamed(root, "StableLm", ""), "Model", "StableLMEpochModel")
    root.children.pop("rotary_emb", None)
    return root


register_decoder(
    "stablelm_epoch",
    "StableLMEpoch",
    model,
    heads=(),
    source="modeling_stablelm_epoch.py of stabilityai/stablelm-3b-4e1t; checked against StableLm",
)
