"""BridgeTower (Xu et al. 2022): CLIP's tower and RoBERTa, both traces, and layers between the two,
which have the sizes of the text's. Source of shapes: transformers/models/bridgetower."""

from functools import partial

from ..layers import encoders
from ..layers.composing import FormPart, composed_of, with_defaults
from ..layers.heads import to_words
from ..trees import Component, ModelConfig, builder, register
from ..trees.modules import Embedding, Layers, Linear, Module, ModuleList, Parameter, Weight

_NAME = "BridgeTower"
#: Of the layers between the sides, and of either side.
_DEFAULTS = {**encoders.BASE, "num_hidden_layers": 6, "layer_norm_eps": 1e-5}


def _model(c: ModelConfig) -> Module:
    h = encoders.hidden(c)
    text = c.section("text_config")
    vision = c.section("vision_config")
    count = c.count("num_hidden_layers")
    kinds = {"add": None, "scaled_add": "scaled_factor", "interpolate": "beta"}
    factor = kinds[c.word("link_tower_type", *kinds)]
    learned = {factor: Weight(kind="scale")} if factor else {}
    link = Module(f"{_NAME}LinkTower", learned, LayerNorm=encoders.norm(c))
    if not c.flag("share_link_tower_layers", default=False):
        link = ModuleList([link] * max(int(count) - 1, 0))

    def transform(section: ModelConfig) -> Module:
        width = encoders.hidden(section.with_defaults(**_DEFAULTS))
        linear = Linear(width, h, component=Component.PROJECTOR)
        shared = c.flag("share_cross_modal_transformer_layers", default=True)
        return linear if shared else ModuleList([linear] * int(count))

    sizes = text.with_defaults(**_DEFAULTS)
    crossing = encoders.attention(sizes, _NAME, cross=True)
    cross = encoders.layer(sizes, _NAME, crossing=crossing).called(f"{_NAME}BertCrossLayer")
    sides = ("text", "image")
    pool = encoders.pooler(c, _NAME)
    return Module(
        f"{_NAME}Model",
        {
            "cross_modal_text_transform": transform(text),
            "cross_modal_image_transform": transform(vision),
            "token_type_embeddings": Embedding(2, h, kind="segment"),
            "vision_model": builder(f"{_NAME}VisionModel")(vision),
            "text_model": builder(f"{_NAME}TextModel")(text),
            "cross_modal_image_layers": Layers.of(count, cross),
            "cross_modal_text_layers": Layers.of(count, cross),
            **{f"cross_modal_{side}_pooler": pool for side in ("image", "text")},
            **{f"cross_modal_{side}_layernorm": encoders.norm(c) for side in sides},
            **{f"cross_modal_{side}_link_tower": link for side in sides},
        },
    )


def _words(c: ModelConfig) -> Module:
    h = encoders.hidden(c)
    words = c.section("text_config").dim("vocab_size", default=50265)
    table = "bridgetower.text_model.embeddings.word_embeddings.weight"
    tied = table if c.tied(default=False) else None
    head = {"transform": encoders.transform(c, _NAME, h), "decoder": to_words(h, words, tied)}
    return Module(f"{_NAME}MLMHead", head, bias=Weight(words), component=Component.HEAD)


def _fc(c: ModelConfig, times: int = 1, name: str = "Contrastive") -> Module:
    """One linear layer, to whether two fit (ITM) or to the space that all share."""
    h = encoders.hidden(c)
    out = 2 if name == "ITM" else c.dim("contrastive_hidden_size")
    linear = Linear(h * times if times > 1 else h, out)
    return Module(f"{_NAME}{name}Head", fc=linear, component=Component.HEAD)


def _scale(c: ModelConfig) -> Parameter:
    c.raw("logit_scale_init_value")
    return Weight(kind="scale")


_PARTS: dict[str, FormPart] = {
    "bridgetower": _model,
    "mlm_score": _words,
    "itm_score": partial(_fc, times=2, name="ITM"),
    "itc_text_head": _fc,
    "itc_image_head": _fc,
    "itc_cross_modal_head": partial(_fc, times=2),
    "logit_scale": _scale,
}
_CLASSES = {
    f"{_NAME}ForMaskedLM": ("bridgetower", "mlm_score"),
    f"{_NAME}ForImageAndTextRetrieval": ("bridgetower", "itm_score"),
    f"{_NAME}ForContrastiveLearning": (
        "bridgetower",
        "itc_text_head",
        "itc_image_head",
        "itc_cross_modal_head",
        "logit_scale",
    ),
}
_BUILT = with_defaults(_DEFAULTS, {**composed_of(_PARTS, _CLASSES), f"{_NAME}Model": _model})
register("bridgetower", _BUILT, base_prefix="bridgetower", category="multimodal")
