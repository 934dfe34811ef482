"""Hunyuan-VL and HunyuanOCR (Tencent 2025). Source: transformers/models/hunyuan_vl.

A ViT with a table of positions, two convolutions and a linear layer that lead to the decoder with
vectors for where an image begins, breaks and ends (a trace), and Hunyuan's decoder. File names are
those of the first release: ``vit`` and ``perceive``.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed, respelled
from ..layers.decoders import Decoder, grouped, pre_norm
from ..trees.catalog import builder, register
from ..trees.modules import Activation, Module, Sequential

_NAME = "HunYuanVL"
#: transformers' own names for parts of the tower -> those in files of the whole.
_SPELLED = {"fc1": "dense_h_to_4h", "fc2": "dense_4h_to_h", "patch_merger": "perceive"}
_NORMS = {"layer_norm1": "input_layernorm", "layer_norm2": "post_attention_layernorm"}


def vision_model(c: ModelConfig, out: Dim) -> Module:
    """The tower as a save of the model without its head spells it."""
    values = {**c.values, "text_hidden_size": int(out)}
    tower = builder(f"{_NAME}VisionTransformer")(ModelConfig(values, c.path))
    merger = respelled(tower, _SPELLED).inside("perceive")
    first, second = (merger.inside(name) for name in ("proj_conv", "proj_out"))
    squares = Sequential(first, Activation("GELU"), second)
    del merger.children["proj_conv"], merger.children["proj_out"]
    merger.children = {"proj": squares, **merger.children}
    return tower


# ---- text


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = respelled(grouped(d, c), {"q_norm": "query_layernorm", "k_norm": "key_layernorm"})
    return renamed(block, f"{d.name}Attention", f"{d.name}DenseV1Attention")


def _text_layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    return renamed(pre_norm(d, c, kind), f"{d.name}DecoderLayer", f"{d.name}DenseV1DecoderLayer")


#: ``HunYuanVLModel`` stands there in memory.
TEXT = Decoder(
    _NAME,
    vocab_size=290943,
    rms_norm_eps=1e-5,
    qk_norm=True,
    attention=_attention,
    layer=_text_layer,
)


# ---- together


def _text(c: ModelConfig) -> ModelConfig:
    """The first release has the decoder's keys at the top."""
    return c.section("text_config") if c.has("text_config") else c


def generation(c: ModelConfig) -> Module:
    text = _text(c)
    tied = "model.embed_tokens.weight" if c.tied() or text.tied() else None
    tower = vision_model(c.section("vision_config"), TEXT.width(text))
    return Module(
        f"{_NAME}ForConditionalGeneration",
        model=TEXT.model(text),
        vit=respelled(tower, _NORMS),
        lm_head=TEXT.words(text, tied),
    )


def base(c: ModelConfig) -> Module:
    """A save of it alone has the names of transformers' own attributes."""
    decoder = TEXT.named(f"{_NAME}TextModel", _text(c))
    tower = vision_model(c.section("vision_config"), TEXT.width(_text(c)))
    return Module(f"{_NAME}Model", language_model=decoder, vision_tower=tower)


register(
    "hunyuan_vl",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}ForConditionalGeneration",
    aliases={"model.language_model.": "model.", "model.vision_tower.": "vit."},
    category="multimodal",
)
