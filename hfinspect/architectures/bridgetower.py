"""BridgeTower (Xu et al. 2022). Source of shapes: transformers/models/bridgetower.

CLIP's tower and RoBERTa, whose last layers are each bridged to a layer that also looks at the other
side. Layers between the sides have the sizes of the text's. The two towers are traces.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden, norm
from ..trees.catalog import builder, register
from ..trees.modules import Embedding, Layers, Linear, Module, ModuleList, Parameter, Weight

_NAME = "BridgeTower"
#: Of the layers between the sides, and of either side.
_DEFAULTS = {**BASE, "num_hidden_layers": 6, "layer_norm_eps": 1e-5}


def _link(c: ModelConfig) -> Module:
    kind = c.word("link_tower_type", "add", "scaled_add", "interpolate")
    return Module(
        f"{_NAME}LinkTower",
        scaled_factor=Weight(kind="scale") if kind == "scaled_add" else None,
        beta=Weight(kind="scale") if kind == "interpolate" else None,
        LayerNorm=norm(c),
    )


def model(c: ModelConfig) -> Module:
    h, text, vision = hidden(c), c.section("text_config"), c.section("vision_config")
    count = c.count("num_hidden_layers")
    shared = c.flag("share_cross_modal_transformer_layers", default=True)
    one_link = c.flag("share_link_tower_layers", default=False)

    def transform(section: ModelConfig) -> Module:
        width = hidden(section.with_defaults(**_DEFAULTS))
        linear = Linear(width, h, component=Component.PROJECTOR)
        return linear if shared else ModuleList([linear] * int(count))

    def link() -> Module:
        return _link(c) if one_link else ModuleList([_link(c)] * max(int(count) - 1, 0))

    sizes = text.with_defaults(**_DEFAULTS)
    crossing = encoders.attention(sizes, _NAME, cross=True)
    cross = encoders.layer(sizes, _NAME, crossing=crossing)
    cross.class_name = f"{_NAME}BertCrossLayer"
    parts: dict[str, Module | Parameter | None] = {
        "cross_modal_text_transform": transform(text),
        "cross_modal_image_transform": transform(vision),
        "token_type_embeddings": Embedding(2, h, kind="segment"),
        "vision_model": builder(f"{_NAME}VisionModel")(vision),
        "text_model": builder(f"{_NAME}TextModel")(text),
        "cross_modal_image_layers": Layers.of(count, cross),
        "cross_modal_text_layers": Layers.of(count, cross),
        "cross_modal_image_pooler": encoders.pooler(c, _NAME),
        "cross_modal_text_pooler": encoders.pooler(c, _NAME),
        "cross_modal_text_layernorm": norm(c),
        "cross_modal_image_layernorm": norm(c),
        "cross_modal_text_link_tower": link(),
        "cross_modal_image_link_tower": link(),
    }
    return Module(f"{_NAME}Model", parts)


def masked_lm(c: ModelConfig) -> Module:
    h, words = hidden(c), c.section("text_config").dim("vocab_size", default=50265)
    table = "bridgetower.text_model.embeddings.word_embeddings.weight"
    tied = table if c.tied(default=False) else None
    head = Module(
        f"{_NAME}MLMHead",
        transform=encoders.transform(c, _NAME, h),
        decoder=Linear(h, words, bias=False, kind="lm_head", tied_to=tied),
        bias=Weight(words),
        component=Component.HEAD,
    )
    return Module(f"{_NAME}ForMaskedLM", bridgetower=model(c), mlm_score=head)


def _fc(name: str, inputs: int, out: int) -> Module:
    return Module(f"{_NAME}{name}", fc=Linear(inputs, out), component=Component.HEAD)


def retrieval(c: ModelConfig) -> Module:
    head = _fc("ITMHead", hidden(c) * 2, 2)
    return Module(f"{_NAME}ForImageAndTextRetrieval", bridgetower=model(c), itm_score=head)


def contrastive(c: ModelConfig) -> Module:
    h, out = hidden(c), c.dim("contrastive_hidden_size")
    c.raw("logit_scale_init_value")
    return Module(
        f"{_NAME}ForContrastiveLearning",
        bridgetower=model(c),
        itc_text_head=_fc("ContrastiveHead", h, out),
        itc_image_head=_fc("ContrastiveHead", h, out),
        itc_cross_modal_head=_fc("ContrastiveHead", h * 2, out),
        logit_scale=Weight(kind="scale"),
    )


_CLASSES = {
    f"{_NAME}ForMaskedLM": masked_lm,
    f"{_NAME}Model": model,
    f"{_NAME}ForImageAndTextRetrieval": retrieval,
    f"{_NAME}ForContrastiveLearning": contrastive,
}
register(
    "bridgetower",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="bridgetower",
    category="multimodal",
)
