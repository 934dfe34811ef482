"""Hunyuan-VL and HunyuanOCR (Tencent 2025; transformers/models/hunyuan_vl): a ViT that ends in two
convolutions (a trace), and Hunyuan. File names are those of the first release."""

from ..layers.composing import renamed, respelled
from ..layers.decoders import Decoder, pre_norm
from ..layers.multimodal import register_flat
from ..trees import Activation, Dim, ModelConfig, Module, Sequential, builder

_NAME = "HunYuanVL"


def _vision_model(config: ModelConfig, out: Dim) -> Module:
    """The tower as a save of the model without its head spells it."""
    c = config.section("vision_config").with_values(text_hidden_size=int(out))
    names = {"fc1": "dense_h_to_4h", "fc2": "dense_4h_to_h", "patch_merger": "perceive"}
    tower = respelled(builder(f"{_NAME}VisionTransformer")(c), names)
    merger = tower.inside("perceive")
    first, second = (merger.inside(name) for name in ("proj_conv", "proj_out"))
    squares = Sequential(first, Activation("GELU"), second)
    merger.children = {"proj": squares, **merger.without("proj_conv", "proj_out").children}
    return tower


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    norms = {"q_norm": "query_layernorm", "k_norm": "key_layernorm"}
    block = respelled(pre_norm(d, c, kind), norms)
    for part in ("Attention", "DecoderLayer"):
        renamed(block, f"{d.name}{part}", f"{d.name}DenseV1{part}")
    return block


TEXT = Decoder(_NAME, vocab_size=290943, rms_norm_eps=1e-5, qk_norm=True, layer=_layer)
#: What whole files call other than a save of the model without its head does.
_FILES = {
    "vision_tower": "vit",
    "layer_norm1": "input_layernorm",
    "layer_norm2": "post_attention_layernorm",
}
register_flat("hunyuan_vl", _NAME, TEXT, {"vision_tower": _vision_model}, tied=True, files=_FILES)
