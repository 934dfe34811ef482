"""VideoMAE (Tong et al. 2022). Source of shapes: transformers/models/videomae/modeling_videomae.py.

A ViT over tubes of patches, with biases on queries and values only, apart from their matrices; for
pretraining a narrower one that paints the masked tubes. Positions are fixed waves and not saved.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.vision import google_layer, labels_classifier, pair
from ..trees.catalog import register
from ..trees.modules import Conv, LayerNorm, Layers, Linear, Module, Parameter, Weight

_NAME = "VideoMAE"


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _attention(c: ModelConfig, h: Dim) -> Module:
    biased = c.flag("qkv_bias", "qv_bias", default=True)
    inner: dict[str, Module | Parameter] = {
        name: Linear(h, h, bias=False, kind=name) for name in ("query", "key", "value")
    }
    if biased:
        inner |= {"q_bias": Weight(h, kind="query"), "v_bias": Weight(h, kind="value")}
    return Module(
        f"{_NAME}Attention",
        attention=Module(f"{_NAME}SelfAttention", inner),
        output=Module(f"{_NAME}SelfOutput", dense=Linear(h, h, kind="output")),
        component=Component.ATTENTION,
    )


def _layer(c: ModelConfig, h: Dim, inner: Dim, heads: Dim) -> Module:
    c.divided(h, heads, "hidden_size", "num_attention_heads")
    return google_layer(c, _NAME, h, _attention(c, h), inner=inner)


def model(c: ModelConfig) -> Module:
    h, patch = _hidden(c), pair(c, "patch_size", default=16)
    tube = (c.dim("tubelet_size", default=2), *patch)
    layer = _layer(
        c,
        h,
        c.dim("intermediate_size", default=3072),
        c.dim("num_attention_heads", default=12),
    )
    projection = Conv(
        c.dim("num_channels", default=3), h, tube, dims=3, stride=tube,
        component=Component.EMBEDDING, kind="patch",
    )  # fmt: skip
    mean = c.flag("use_mean_pooling", default=True)
    return Module(
        f"{_NAME}Model",
        embeddings=Module(
            f"{_NAME}Embeddings",
            patch_embeddings=Module(f"{_NAME}PatchEmbeddings", projection=projection),
            component=Component.EMBEDDING,
        ),
        encoder=Module(
            f"{_NAME}Encoder",
            layer=Layers.of(c.count("num_hidden_layers", default=12), layer),
        ),
        layernorm=None if mean else LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-12)),
        part="vision",
    )


def decoder(c: ModelConfig, h: Dim) -> Module:
    patch = c.dim("patch_size", default=16)
    pixels = c.dim("num_channels", default=3) * c.dim("tubelet_size", default=2) * patch * patch
    layer = _layer(
        c,
        h,
        c.dim("decoder_intermediate_size", default=1536),
        c.dim("decoder_num_attention_heads", default=6),
    )
    return Module(
        f"{_NAME}Decoder",
        decoder_layers=Layers.of(c.count("decoder_num_hidden_layers", default=4), layer),
        norm=LayerNorm(h),
        head=Linear(h, pixels, component=Component.HEAD),
    )


def pretraining(c: ModelConfig) -> Module:
    h = c.dim("decoder_hidden_size", default=384)
    return Module(
        f"{_NAME}ForPreTraining",
        videomae=model(c),
        encoder_to_decoder=Linear(_hidden(c), h, bias=False, component=Component.PROJECTOR),
        mask_token=Weight(1, 1, h, component=Component.EMBEDDING, kind="mask_token"),
        decoder=decoder(c, h),
        part="vision",
    )


def classification(c: ModelConfig) -> Module:
    mean = c.flag("use_mean_pooling", default=True)
    return Module(
        f"{_NAME}ForVideoClassification",
        videomae=model(c),
        fc_norm=LayerNorm(_hidden(c)) if mean else None,
        classifier=labels_classifier(c, _hidden(c)),
        part="vision",
    )


register(
    "videomae",
    {
        f"{_NAME}ForVideoClassification": classification,
        f"{_NAME}Model": model,
        f"{_NAME}ForPreTraining": pretraining,
    },
    base_prefix="videomae",
    category="vision",
)
