"""GIT (Wang et al. 2022): a CLIP tower (a trace), and BERT's layers without segments as decoder;
videos add a vector per frame. Source of shapes: transformers/models/git/modeling_git.py."""

from ..layers.composing import with_defaults
from ..layers.encoders import BASE, encoder, hidden, unsegmented
from ..layers.heads import causal_lm
from ..layers.multimodal import projector
from ..trees import Component, ModelConfig, builder, exact, register
from ..trees.modules import LayerNorm, Linear, Module, Sequential, Weight

_DEFAULTS = {**BASE, "num_hidden_layers": 6, "max_position_embeddings": 1024}


def _model(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    width = vision.dim("hidden_size", default=768)
    h = hidden(c)
    norm = LayerNorm(h, eps=vision.number("layer_norm_eps", default=1e-5))
    project = projector("GitProjection", visual_projection=Sequential(Linear(width, h), norm))
    frame = Weight(exact(1), exact(1), width, kind="position")
    frames = dict.fromkeys(map(str, range(c.count("num_image_with_embedding", default=0))), frame)
    times = Module("ParameterList", {**frames}, component=Component.EMBEDDING, part="vision")
    tower = builder("GitVisionModel")(vision)
    parts = {"embeddings": unsegmented(c, "Git"), "image_encoder": tower}
    parts |= {"encoder": encoder(c, "Git"), "visual_projection": project}
    return Module("GitModel", parts, img_temporal_embedding=times)


_WORDS = "embeddings.word_embeddings"
_NAME = "GitForCausalLM"
_CAUSAL = causal_lm(_NAME, _model, prefix="git", embedding=_WORDS, bias=True, head="output")
_CLASSES = with_defaults(_DEFAULTS, {_NAME: _CAUSAL, "GitModel": _model})
register("git", _CLASSES, base_prefix="git", category="multimodal")
