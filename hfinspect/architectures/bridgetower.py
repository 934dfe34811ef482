"""BridgeTower (Xu et al. 2022). Source of shapes: transformers/models/bridgetower.

CLIP's tower and RoBERTa, whose last layers are each bridged to a layer that also looks at the other
side. Layers between the sides have the sizes of the text's. The two towers are traces.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..trees.catalog import builder, register
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Parameter,
    Weight,
)

_NAME = "BridgeTower"


_hidden = size("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


def _attention(c: ModelConfig, kind: str = "Self") -> Module:
    h = _hidden(c)
    own = Module(
        f"{_NAME}{kind}Attention",
        query=Linear(h, h, kind="query"),
        key=Linear(h, h, kind="key"),
        value=Linear(h, h, kind="value"),
    )
    out = Module(f"{_NAME}SelfOutput", dense=Linear(h, h, kind="output"), LayerNorm=_norm(c))
    return Module(f"{_NAME}Attention", {"self": own, "output": out}, component=Component.ATTENTION)


def _layer(c: ModelConfig, name: str, *, crossed: bool, kind: str = "Self") -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=3072)
    return Module(
        f"{_NAME}{name}",
        attention=_attention(c),
        crossattention=_attention(c, kind) if crossed else None,
        intermediate=Module(
            f"{_NAME}Intermediate",
            dense=Linear(h, inner, kind="up"),
            intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        output=Module(
            f"{_NAME}Output",
            dense=Linear(inner, h, kind="down"),
            LayerNorm=_norm(c),
            component=Component.MLP,
        ),
    )


def _pooler(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        f"{_NAME}Pooler", dense=Linear(h, h), activation=Activation("Tanh"),
        component=Component.HEAD, kind="pooler",
    )  # fmt: skip


def _link(c: ModelConfig) -> Module:
    kind = c.text("link_tower_type", default="add")
    if kind not in ("add", "scaled_add", "interpolate"):
        raise c.error("link_tower_type", kind, "add, scaled_add or interpolate")
    return Module(
        f"{_NAME}LinkTower",
        scaled_factor=Weight(kind="scale") if kind == "scaled_add" else None,
        beta=Weight(kind="scale") if kind == "interpolate" else None,
        LayerNorm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    h, text, vision = _hidden(c), c.section("text_config"), c.section("vision_config")
    count = c.count("num_hidden_layers", default=6)
    shared = c.flag("share_cross_modal_transformer_layers", default=True)
    one_link = c.flag("share_link_tower_layers", default=False)

    def transform(section: ModelConfig) -> Module:
        linear = Linear(_hidden(section), h, component=Component.PROJECTOR)
        return linear if shared else ModuleList([linear] * int(count))

    def link() -> Module:
        return _link(c) if one_link else ModuleList([_link(c)] * max(int(count) - 1, 0))

    cross = _layer(text, "BertCrossLayer", crossed=True, kind="Cross")
    parts: dict[str, Module | Parameter | None] = {
        "cross_modal_text_transform": transform(text),
        "cross_modal_image_transform": transform(vision),
        "token_type_embeddings": Embedding(2, h, kind="segment"),
        "vision_model": builder(f"{_NAME}VisionModel")(vision),
        "text_model": builder(f"{_NAME}TextModel")(text),
        "cross_modal_image_layers": Layers.of(count, cross),
        "cross_modal_text_layers": Layers.of(count, cross),
        "cross_modal_image_pooler": _pooler(c),
        "cross_modal_text_pooler": _pooler(c),
        "cross_modal_text_layernorm": _norm(c),
        "cross_modal_image_layernorm": _norm(c),
        "cross_modal_text_link_tower": link(),
        "cross_modal_image_link_tower": link(),
    }
    return Module(f"{_NAME}Model", parts)


def masked_lm(c: ModelConfig) -> Module:
    h, words = _hidden(c), c.section("text_config").dim("vocab_size", default=50265)
    table = "bridgetower.text_model.embeddings.word_embeddings.weight"
    tied = table if c.tied(default=False) else None
    head = Module(
        f"{_NAME}MLMHead",
        transform=Module(
            f"{_NAME}PredictionHeadTransform",
            dense=Linear(h, h, kind="transform"),
            transform_act_fn=activation(c.text("hidden_act", default="gelu")),
            LayerNorm=_norm(c),
        ),
        decoder=Linear(h, words, bias=False, kind="lm_head", tied_to=tied),
        bias=Weight(words),
        component=Component.HEAD,
    )
    return Module(f"{_NAME}ForMaskedLM", bridgetower=model(c), mlm_score=head)


def _fc(name: str, inputs: int, out: int) -> Module:
    return Module(f"{_NAME}{name}", fc=Linear(inputs, out), component=Component.HEAD)


def retrieval(c: ModelConfig) -> Module:
    head = _fc("ITMHead", _hidden(c) * 2, 2)
    return Module(f"{_NAME}ForImageAndTextRetrieval", bridgetower=model(c), itm_score=head)


def contrastive(c: ModelConfig) -> Module:
    h, out = _hidden(c), c.dim("contrastive_hidden_size")
    c.raw("logit_scale_init_value")
    return Module(
        f"{_NAME}ForContrastiveLearning",
        bridgetower=model(c),
        itc_text_head=_fc("ContrastiveHead", h, out),
        itc_image_head=_fc("ContrastiveHead", h, out),
        itc_cross_modal_head=_fc("ContrastiveHead", h * 2, out),
        logit_scale=Weight(kind="scale"),
    )


register(
    "bridgetower",
    {
        f"{_NAME}ForMaskedLM": masked_lm,
        f"{_NAME}Model": model,
        f"{_NAME}ForImageAndTextRetrieval": retrieval,
        f"{_NAME}ForContrastiveLearning": contrastive,
    },
    base_prefix="bridgetower",
    category="multimodal",
)
