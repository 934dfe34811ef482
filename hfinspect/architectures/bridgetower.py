"""BridgeTower (Xu et al. 2022). Source of shapes: transformers/models/bridgetower.

CLIP's tower and RoBERTa, whose last layers are each bridged to a layer that also looks at the other
side. Layers between the sides have the sizes of the text's.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import pair, patch_conv, position_table
from ..trees.catalog import register, register_part
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


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


# ---- images


def _visual(c: ModelConfig) -> Module:
    h, patch = _hidden(c), pair(c, "patch_size", default=16)
    side = c.dim("image_size", default=288) // patch[0]
    depth = c.count("num_hidden_layers", default=12)
    kept = depth - 1 if c.flag("remove_last_layer", default=False) and depth else depth
    separate = not c.flag("share_layernorm", default=True)
    block = Module(
        f"{_NAME}ResidualAttention",
        attn=Module(
            "MultiheadAttention",
            in_proj_weight=Weight(3 * h, h, kind="qkv"),
            in_proj_bias=Weight(3 * h, kind="qkv"),
            out_proj=Linear(h, h, kind="output", class_name="NonDynamicallyQuantizableLinear"),
            component=Component.ATTENTION,
        ),
        ln_1=_norm(c),
        mlp=Module(
            "ModuleDict",
            c_fc=Linear(h, 4 * h, kind="up"),
            gelu=activation("quick_gelu"),
            c_proj=Linear(4 * h, h, kind="down"),
            component=Component.MLP,
        ),
        ln_2=_norm(c),
    )
    return Module(
        f"{_NAME}VisionTransformer",
        embeddings=Module(
            f"{_NAME}VisionEmbeddings",
            class_embedding=Weight(h, kind="class_token"),
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch, bias=False),
            position_embedding=position_table(side * side + 1, h),
            component=Component.EMBEDDING,
        ),
        ln_pre=_norm(c),
        transformer=Module(f"{_NAME}Transformer", resblocks=Layers.of(kept, block)),
        ln_post=_norm(c),
        ln_separate=ModuleList([_norm(c)] * int(depth)) if separate else None,
    )


def vision_model(c: ModelConfig) -> Module:
    return Module(f"{_NAME}VisionModel", visual=_visual(c), part="vision")


# ---- texts, and both


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


def text_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    crossed = c.flag("add_cross_attention", default=False)
    if crossed and not c.flag("is_decoder", default=False):
        raise c.error("add_cross_attention", True, "false where is_decoder is")
    layer = _layer(c, "TextLayer", crossed=crossed, kind="Cross")
    return Module(
        f"{_NAME}TextModel",
        embeddings=Module(
            f"{_NAME}TextEmbeddings",
            word_embeddings=Embedding(c.dim("vocab_size", default=50265), h),
            token_type_embeddings=Embedding(c.dim("type_vocab_size", default=1), h, kind="segment"),
            LayerNorm=_norm(c),
            position_embeddings=position_table(c.dim("max_position_embeddings", default=514), h),
        ),
        encoder=Module(
            f"{_NAME}TextEncoder",
            layer=Layers.of(c.count("num_hidden_layers", default=12), layer),
        ),
        pooler=_pooler(c),
    )


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
        "vision_model": vision_model(vision),
        "text_model": text_model(text),
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


register_part("bridgetower_vision_model", f"{_NAME}VisionModel", vision_model, "vision")
register_part("bridgetower_text_model", f"{_NAME}TextModel", text_model, "encoder")
register(
    "bridgetower",
    {
        f"{_NAME}ForMaskedLM": masked_lm,
        f"{_NAME}Model": model,
        f"{_NAME}ForImageAndTextRetrieval": retrieval,
        f"{_NAME}ForContrastiveLearning": contrastive,
    },
    base=f"{_NAME}Model",
    base_prefix="bridgetower",
    category="multimodal",
)
