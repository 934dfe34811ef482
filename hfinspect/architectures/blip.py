"""BLIP (Li et al. 2022). Source: transformers/models/blip/modeling_blip.py, modeling_blip_text.py.
A ViT with fused q, k, v, and BERT with cross-attention to the image: as decoder (captions), as
encoder (retrieval), as both (question answering)."""

from functools import partial

from ..layers import encoders, vision
from ..layers.blocks import fused_attention, size
from ..layers.composing import FormPart, composed_of, with_defaults
from ..layers.encoders import BASE, hidden
from ..layers.heads import classifier
from ..layers.multimodal import tied_section, within
from ..trees import Component, Dim, ModelConfig, register, register_part
from ..trees.modules import LayerNorm, Linear, Module, Weight

#: Sizes of BLIP's; BLIP-2 has others.
_VISION = {**BASE, "image_size": 384, "patch_size": 16, "layer_norm_eps": 1e-5}
_TEXT = {**BASE, "vocab_size": 30524, "num_attention_heads": 8}
_NAME = "BlipText"


def vision_model(c: ModelConfig, name: str = "Blip", *, bias: bool = True) -> Module:
    c = c.with_defaults(**_VISION)
    image, patch = (vision.pair(c, f"{of}_size", default=16) for of in ("image", "patch"))
    h = hidden(c)
    places = vision.patch_count(image, patch) + 1
    look = fused_attention(f"{name}Attention", h, bias=bias, out="projection")
    tables = {"class_embedding": Weight(1, 1, h, kind="class_token")}
    tables["position_embedding"] = Weight(1, places, h, kind="position")
    root = Module(f"{name}VisionEmbeddings", tables, patch_embedding=vision.patch_conv(3, h, patch))
    root.component = Component.EMBEDDING
    layers = vision.clip_layers(name, c, h, inner=3072, act="gelu", attention=look)
    norm = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-5))
    parts = {"embeddings": root, "encoder": layers, "post_layernorm": norm}
    return Module(f"{name}VisionModel", parts, part="vision")


def _reader(c: ModelConfig, context: Dim, *, pooling: bool = False) -> Module:
    """BERT without segments; as a decoder its layers look at states ``context`` wide."""
    looks = encoders.projections(c, f"{_NAME}SelfAttention", context)
    crossing = encoders.attending(c, _NAME, looks) if c.flag("is_decoder", default=True) else None
    layer = encoders.layer(c, _NAME, crossing=crossing)
    pooler = encoders.pooler(c, _NAME) if pooling else None
    parts = {"embeddings": encoders.unsegmented(c, _NAME)}
    parts["encoder"] = encoders.encoder(c, _NAME, layer)
    return Module(f"{_NAME}Model", parts, pooler=pooler)


def _writer(c: ModelConfig, context: Dim, at: str = "text_decoder.") -> Module:
    """BERT with its masked-LM head, which writes the text word by word."""
    table = f"{at}bert.embeddings.word_embeddings.weight"
    head = encoders.bert_mlm_head(c, _NAME, table=table, at=f"{at}cls.predictions")
    return Module(f"{_NAME}LMHeadModel", bert=_reader(c, context), cls=head)


def _text(c: ModelConfig) -> ModelConfig:
    return tied_section(c).with_defaults(**_TEXT)


def _width(c: ModelConfig, *, reads: bool = False) -> Dim:
    return hidden(_text(c) if reads else c.section("vision_config").with_defaults(**_VISION))


def _to(key: str, size: int, c: ModelConfig, *, bias: bool, reads: bool = False) -> Module:
    """Into the space that texts and images share."""
    to = c.dim(key, default=size)
    width = _width(c, reads=reads)
    return Linear(width, to, bias=bias, component=Component.PROJECTOR)


_PARTS: dict[str, FormPart] = {
    "logit_scale": lambda _: Weight(kind="scale"),
    "vision_model": within("vision_config", vision_model),
    "text_model": lambda c: _reader(_text(c), _width(c), pooling=True),
    "text_encoder": lambda c: _reader(_text(c), _width(c)),
    "text_decoder": lambda c: _writer(_text(c), _width(c)),
    "visual_projection": partial(_to, "projection_dim", 512, bias=False),
    "text_projection": partial(_to, "projection_dim", 512, bias=False, reads=True),
    "vision_proj": partial(_to, "image_text_hidden_size", 256, bias=True),
    "text_proj": partial(_to, "image_text_hidden_size", 256, bias=True, reads=True),
    "itm_head": lambda c: classifier(_width(c, reads=True), 2),
}
_CLASSES = {
    "BlipForConditionalGeneration": ("vision_model", "text_decoder"),
    "BlipModel": (
        "logit_scale",
        "text_model",
        "vision_model",
        "visual_projection",
        "text_projection",
    ),
    "BlipForQuestionAnswering": ("vision_model", "text_encoder", "text_decoder"),
    "BlipForImageTextRetrieval": (
        "vision_model",
        "text_encoder",
        "vision_proj",
        "text_proj",
        "itm_head",
    ),
}
_context = size("encoder_hidden_size", default=768)
_TEXTS = {
    "BlipTextLMHeadModel": lambda c: _writer(c, _context(c), at=""),
    "BlipTextModel": lambda c: _reader(c, _context(c), pooling=True),
}


def _only_vision(c: ModelConfig) -> Module:
    is_composite = c.has("vision_config") or c.model_type == "blip"
    return vision_model(c.section("vision_config") if is_composite else c)


register("blip", composed_of(_PARTS, _CLASSES), category="multimodal")
register_part("blip_vision_model", "BlipVisionModel", _only_vision, "vision")
_BUILT = with_defaults(_TEXT, _TEXTS)
register("blip_text_model", _BUILT, base="BlipTextModel", base_prefix="bert", category="encoder")
