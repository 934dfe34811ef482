"""Hunyuan-VL and HunyuanOCR (Tencent 2025). Source: transformers/models/hunyuan_vl.

A ViT with a table of positions, two convolutions and a linear layer that lead to the decoder with
vectors for where an image begins, breaks and ends, and Hunyuan's decoder. File names are those of
the first release: ``vit`` and ``perceive``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, rms_norms
from ..layers.composing import renamed, respelled
from ..layers.decoders import Decoder, grouped, pre_norm
from ..layers.vision import patch_conv, position_table
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Sequential,
    Weight,
)

_NAME = "HunYuanVL"
#: Parts of the tower in the files of the whole -> transformers' own names for them.
_NORMS = {"input_layernorm": "layer_norm1", "post_attention_layernorm": "layer_norm2"}
_ALONE = {"dense_h_to_4h": "fc1", "dense_4h_to_h": "fc2", "perceive": "patch_merger"}


_norm = rms_norms(f"{_NAME}RMSNorm", 1e-5)


# ---- vision


def _heads_width(c: ModelConfig, h: Dim) -> Dim:
    """All heads together: the hidden size, unless it does not divide or head_dim says otherwise."""
    heads = c.dim("num_attention_heads", "attention_heads", default=16)
    if c.has("head_dim"):
        return heads * c.dim("head_dim")
    return h if int(h) % int(heads) == 0 else heads * (h // heads)


def _layer(c: ModelConfig, h: Dim) -> Module:
    width = _heads_width(c, h)
    inner = c.dim("intermediate_size", default=4304)
    eps = c.number("rms_norm_eps", "layer_norm_eps", default=1e-5)
    return Module(
        f"{_NAME}VisionBlock",
        input_layernorm=LayerNorm(h, eps=eps),
        self_attn=Module(
            f"{_NAME}VisionAttention",
            q_proj=Linear(h, width, kind="query"),
            k_proj=Linear(h, width, kind="key"),
            v_proj=Linear(h, width, kind="value"),
            o_proj=Linear(width, h, kind="output"),
            component=Component.ATTENTION,
        ),
        post_attention_layernorm=LayerNorm(h, eps=eps),
        mlp=Module(
            f"{_NAME}VisionMLP",
            act=activation(c.text("hidden_act", default="gelu")),
            dense_h_to_4h=Linear(h, inner, kind="up"),
            dense_4h_to_h=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
    )


def _merger(c: ModelConfig, h: Dim, out: Dim) -> Module:
    side = c.dim("spatial_merge_size", default=2)
    squares = Conv(h, h * 2, side, stride=side, component=None)
    return Module(
        f"{_NAME}VisionPatchMerger",
        before_rms=_norm(c, h),
        proj=Sequential(squares, Activation("GELU"), Conv(h * 2, h * 4, 1, component=None)),
        mlp=Linear(h * 4, out),
        image_newline=Weight(h * 4),
        image_begin=Weight(out),
        image_end=Weight(out),
        image_sep=Weight(out),
        after_rms=_norm(c, out),
        component=Component.PROJECTOR,
        part="projector",
    )


def vision_model(c: ModelConfig, out: Dim) -> Module:
    h, patch = c.dim("hidden_size", default=1152), c.dim("patch_size", default=16)
    side = c.dim("max_image_size", default=2048) // patch
    return Module(
        f"{_NAME}VisionTransformer",
        embeddings=Module(
            f"{_NAME}VisionPatchEmbed",
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, (patch, patch)),
            position_embedding=position_table(side * side + 1, h),
            component=Component.EMBEDDING,
        ),
        layers=Layers.of(c.count("num_hidden_layers", default=27), _layer(c, h)),
        perceive=_merger(c, h, out),
        part="vision",
    )


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


def generation(c: ModelConfig) -> Module:
    # The first release has the decoder's keys at the top.
    text = c.section("text_config") if c.has("text_config") else c
    tied = "model.embed_tokens.weight" if c.tied() or text.tied() else None
    return Module(
        f"{_NAME}ForConditionalGeneration",
        model=TEXT.model(text),
        vit=vision_model(c.section("vision_config"), TEXT.width(text)),
        lm_head=TEXT.words(text, tied),
    )


def base(c: ModelConfig) -> Module:
    """A save of it alone has the names of transformers' own attributes."""
    text = c.section("text_config") if c.has("text_config") else c
    decoder = TEXT.named(f"{_NAME}TextModel", text)
    tower = vision_model(c.section("vision_config"), TEXT.width(text))
    respelled(tower, _NORMS)
    return Module(f"{_NAME}Model", language_model=decoder, vision_tower=tower)


def tower_alone(c: ModelConfig) -> Module:
    """All names are those of transformers' own attributes."""
    tower = vision_model(c, c.dim("text_hidden_size", default=3072))
    respelled(tower, _NORMS | _ALONE)
    merger = tower.inside("patch_merger")
    squares = merger.children.pop("proj")
    assert isinstance(squares, Module)
    merger.children |= {"proj_conv": squares["0"], "proj_out": squares["2"]}
    return tower


register(
    "hunyuan_vl",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}ForConditionalGeneration",
    aliases={"model.language_model.": "model.", "model.vision_tower.": "vit."},
    category="multimodal",
)
register_part("hunyuan_vl_vision", f"{_NAME}VisionTransformer", tower_alone, "vision")
