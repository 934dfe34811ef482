"""Cosmos 3 Edge (NVIDIA 2026; transformers/models/cosmos3_edge): SigLIP over linear patches,
squares of patches through two layers, and a decoder whose layers lie at the top of files."""

from ..layers.composing import respelled
from ..layers.decoders import plain
from ..layers.multimodal import two_linears
from ..trees import ModelConfig, builder, config_defaults, register_pair, register_part
from ..trees.modules import Activation, LayerNorm, Module
from .llama import LLAMA

_NAME = "Cosmos3Edge"
#: A part of a layer -> its name in files of the whole.
_FILES = {
    "q_proj": "to_q",
    "k_proj": "to_k",
    "v_proj": "to_v",
    "o_proj": "to_out",
    "fc1": "up_proj",
    "fc2": "down_proj",
}
_TEXT = LLAMA.like(f"{_NAME}Text", **config_defaults("cosmos3_edge"), null_head_dim=True, mlp=plain)


def _model(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    text = c.section("text_config")
    h = vision.dim("hidden_size", default=1152)
    side = vision.dim("spatial_merge_size", default=2)
    inner = c.dim("projector_hidden_size", default=11520)
    out = _TEXT.width(text)
    merging = two_linears(
        f"{_NAME}PatchMerger",
        c,
        h * side * side,
        inner,
        out,
        act=Activation("GELU"),
        names=("linear_fc1", "act_fn", "linear_fc2"),
        norm=LayerNorm(h, eps=1e-6),
    )
    parts = {"visual": builder(f"{_NAME}VisionModel")(vision), "language_model": _TEXT.model(text)}
    return respelled(Module(f"{_NAME}Model", dict(parts)), _FILES).adding(projector=merging)


def _generation(c: ModelConfig) -> Module:
    """The class ties nothing, whatever tie_word_embeddings says."""
    model = _model(c)
    head = _TEXT.words(c.section("text_config"))
    decoder = model.inside("language_model").children
    rest = {"model": model.without("language_model"), "lm_head": head}
    return Module(f"{_NAME}ForConditionalGeneration", {**decoder, **rest})


register_pair("cosmos3_edge", _NAME, _generation, _model, "multimodal", prefix="")
register_part("cosmos3_edge_text", f"{_NAME}TextModel", _TEXT.model, "text decoder")
