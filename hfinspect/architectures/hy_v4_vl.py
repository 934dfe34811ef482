"""Hunyuan 4 that sees (Tencent 2026; transformers/models/hy_v4_vl): the text of Hunyuan 4, larger,
and a tower, a trace, whose norms files of the whole call otherwise."""

from ..layers.composing import composed, respelled
from ..layers.heads import to_words
from ..layers.multimodal import within
from ..trees import ModelConfig, Module, builder, config_defaults, register
from ..trees.catalog import register_part
from ..trees.modules import each_module
from . import hy_v4

_NAME = "HYV4VL"
_WHOLE = "HYV4VLForConditionalGeneration"
_NORMS = {"layer_norm1": "input_layernorm", "layer_norm2": "post_attention_layernorm"}
_SPELLED = {
    "fc1": "dense_h_to_4h",
    "fc2": "dense_4h_to_h",
    "patch_merger": "perceive",
    "before_rms": "norm",
    "proj_conv": "proj.0",
    "proj_out": "proj.2",
}


def _text(c: ModelConfig) -> Module:
    root = hy_v4.bare(c.with_defaults(**config_defaults("hy_v4_vl"))).called("HYV4TextModel")
    for module in each_module(root):
        if module.class_name.startswith("HYV4"):
            module.class_name = module.class_name.replace("HYV4", _NAME, 1)
    return root


def _vision(c: ModelConfig) -> Module:
    return respelled(builder(f"{_NAME}VisionModel")(c), _SPELLED)


def _generation(c: ModelConfig) -> Module:
    model = within("text_config", _text)(c)
    vocab, width = model.inside("embed_tokens").tensor().shape
    tied_to = "model.embed_tokens.weight" if c.tied(default=False) else None
    tower = respelled(within("vision_config", _vision)(c), _NORMS)
    return Module(
        _WHOLE,
        model=model.called(f"{_NAME}Model"),
        lm_head=to_words(width, vocab, tied_to),
        vit=tower,
    )


_PARTS = {
    "vision_tower": within("vision_config", _vision),
    "language_model": within("text_config", _text),
}
_CLASSES = composed({_WHOLE: _generation, f"{_NAME}Model": _PARTS})
register("hy_v4_vl", _CLASSES, base=_WHOLE, category="multimodal")
register_part("hy_v4_vl_text", f"{_NAME}TextModel", _text, "text decoder")
