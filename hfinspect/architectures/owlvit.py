"""OWL-ViT (Minderer et al. 2022). Source of shapes: transformers/models/owlvit/modeling_owlvit.py.

CLIP whose patches each predict a box and a vector to compare with the text. OWLv2 adds a head that
says whether there is an object at all.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.vision import (
    clip_encoder,
    clip_layer,
    pair,
    patch_conv,
    patch_count,
    position_table,
    text_embeddings,
)
from ..trees.catalog import Builder, register, register_part
from ..trees.modules import Buffer, LayerNorm, Linear, Module, Weight


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-5)


def _encoder(name: str, c: ModelConfig, hidden: Dim, inner: int) -> Module:
    layer = clip_layer(
        name,
        hidden,
        c.dim("intermediate_size", default=inner),
        eps=_eps(c),
        act=c.text("hidden_act", default="quick_gelu"),
    )
    return clip_encoder(name, c.count("num_hidden_layers", default=12), layer)


def text_width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=512)


def vision_width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def text_transformer(name: str, c: ModelConfig) -> Module:
    h = text_width(c)
    return Module(
        f"{name}TextTransformer",
        embeddings=text_embeddings(name, c, h, positions=16),
        encoder=_encoder(name, c, h, 2048),
        final_layer_norm=LayerNorm(h, eps=_eps(c)),
    )


def vision_transformer(name: str, c: ModelConfig, patch_size: int) -> Module:
    h = vision_width(c)
    image, patch = pair(c, "image_size", default=768), pair(c, "patch_size", default=patch_size)
    positions = patch_count(image, patch) + 1
    return Module(
        f"{name}VisionTransformer",
        embeddings=Module(
            f"{name}VisionEmbeddings",
            class_embedding=Weight(h, kind="class_token"),
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch, bias=False),
            position_embedding=position_table(positions, h),
            position_ids=Buffer(1, positions, dtype="I64", saved=False),
            component=Component.EMBEDDING,
        ),
        pre_layernorm=LayerNorm(h, eps=_eps(c)),
        encoder=_encoder(name, c, h, 3072),
        post_layernorm=LayerNorm(h, eps=_eps(c)),
        part="vision",
    )


def _box_head(name: str, width: Dim, outputs: int) -> Module:
    return Module(
        f"{name}BoxPredictionHead",
        dense0=Linear(width, width),
        dense1=Linear(width, width),
        dense2=Linear(width, outputs),
        component=Component.HEAD,
    )


def register_owl(name: str, model_type: str, *, patch_size: int, objectness: bool) -> None:
    """``patch_size`` is the vision config's own default."""

    def model(c: ModelConfig) -> Module:
        text, vision = c.section("text_config"), c.section("vision_config")
        shared = c.dim("projection_dim", default=512)

        def projection(width: Dim) -> Module:
            return Linear(width, shared, bias=False, component=Component.PROJECTOR)

        return Module(
            f"{name}Model",
            logit_scale=Weight(kind="scale"),
            text_model=text_transformer(name, text),
            vision_model=vision_transformer(name, vision, patch_size),
            visual_projection=projection(vision_width(vision)),
            text_projection=projection(text_width(text)),
        )

    def detection(c: ModelConfig) -> Module:
        vision = c.section("vision_config")
        width, words = vision_width(vision), text_width(c.section("text_config"))
        scores = Module(
            f"{name}ClassPredictionHead",
            dense0=Linear(width, words),
            logit_shift=Linear(width, 1),
            logit_scale=Linear(width, 1),
            component=Component.HEAD,
            kind="classifier",
        )
        heads = {
            model_type: model(c),
            "class_head": scores,
            "box_head": _box_head(name, width, 4),
            "objectness_head": _box_head(name, width, 1) if objectness else None,
            "layer_norm": LayerNorm(width, eps=_eps(vision)),
        }
        return Module(f"{name}ForObjectDetection", heads)

    classes: dict[str, Builder] = {
        f"{name}ForObjectDetection": detection,
        f"{name}Model": model,
    }
    register(model_type, classes, base=f"{name}Model", base_prefix=model_type, category="vision")

    def text(c: ModelConfig) -> Module:
        own = c.section("text_config") if c.has("text_config") else c
        return Module(f"{name}TextModel", text_model=text_transformer(name, own))

    def vision(c: ModelConfig) -> Module:
        own = c.section("vision_config") if c.has("vision_config") else c
        tower = vision_transformer(name, own, patch_size)
        return Module(f"{name}VisionModel", vision_model=tower, part="vision")

    register_part(f"{model_type}_text_model", f"{name}TextModel", text, "encoder")
    register_part(f"{model_type}_vision_model", f"{name}VisionModel", vision, "vision")


register_owl("OwlViT", "owlvit", patch_size=32, objectness=False)
