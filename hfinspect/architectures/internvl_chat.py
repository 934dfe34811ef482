"""InternVL 1.5 to 3.5 (Chen et al. 2023-2025) as released under InternVLChatModel. No class in
transformers (its ``internvl`` is the converted form). Source of shapes: modeling_internvl_chat.py
and modeling_intern_vit.py in OpenGVLab/InternVL2-8B.

InternViT, a two-layer projector ``mlp1`` over 2 by 2 merged patches, and the language model that
``llm_config`` names. H2OVL-Mississippi and Skywork-R1V are the same model under class names of
their own (vLLM's h2ovl.py and skyworkr1v.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.composing import renamed_classes
from ..trees.catalog import auto_class, register
from ..trees.modules import (
    Activation,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Sequential,
    Weight,
)

_width = size("hidden_size", default=3200)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_eps", default=1e-6)
    form = c.text("norm_type", default="rms_norm")
    if form not in ("rms_norm", "layer_norm"):
        raise c.error("norm_type", form, "rms_norm or layer_norm")
    if form == "layer_norm":
        return LayerNorm(_width(c), eps=eps)
    return RMSNorm(_width(c), eps=eps, class_name="InternRMSNorm")


def embeddings(c: ModelConfig) -> Module:
    h, patch = _width(c), c.dim("patch_size", default=14)
    side = c.dim("image_size", default=224) // patch
    return Module(
        "InternVisionEmbeddings",
        class_embedding=Weight(1, 1, h, kind="class_token"),
        position_embedding=Weight(1, side * side + 1, h, kind="position"),
        patch_embedding=Conv(
            3, h, (patch, patch), stride=(patch, patch), component=None, kind="patch"
        ),
        component=Component.EMBEDDING,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _width(c), c.dim("intermediate_size", default=12800)
    eps = c.number("layer_norm_eps", default=1e-6)
    normed = c.flag("qk_normalization", default=True)
    norm = RMSNorm(h, eps=eps, class_name="InternRMSNorm") if normed else None
    return Module(
        "InternVisionEncoderLayer",
        ls1=Weight(h, kind="scale"),
        ls2=Weight(h, kind="scale"),
        attn=Module(
            "InternAttention",
            qkv=Linear(h, 3 * h, bias=c.flag("qkv_bias", default=False), kind="qkv"),
            q_norm=norm,
            k_norm=norm,
            proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "InternMLP",
            act=activation(c.text("hidden_act", default="gelu")),
            fc1=Linear(h, inner, kind="up"),
            fc2=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
        norm1=_norm(c),
        norm2=_norm(c),
    )


def vision_model(c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=48), layer(c))
    return Module(
        "InternVisionModel",
        embeddings=embeddings(c),
        encoder=Module("InternVisionEncoder", layers=layers),
        part="vision",
    )


def _merged(c: ModelConfig) -> int:
    """How many patches become one: int(1 / downsample_ratio)²."""
    ratio = c.number("downsample_ratio", default=0.5)
    if not 1 / 64 <= ratio <= 1:
        raise c.error("downsample_ratio", ratio, "between 1/64 and 1")
    return int(1 / ratio) ** 2


def chat_model(c: ModelConfig) -> Module:
    text = c.section("llm_config")
    tower = c.section("vision_config")
    merged = _width(tower) * _merged(c)
    width = text.dim("hidden_size", default=4096)
    return Module(
        "InternVLChatModel",
        vision_model=vision_model(tower),
        language_model=auto_class(text, "ForCausalLM", default_type="llama"),
        mlp1=Sequential(
            LayerNorm(merged),
            Linear(merged, width),
            Activation("GELU", "approximate='none'"),
            Linear(width, width),
            component=Component.PROJECTOR,
            part="projector",
        ),
    )


_SOURCE = "modeling_internvl_chat.py and modeling_intern_vit.py of OpenGVLab/InternVL2-8B"

register("internvl_chat", {"InternVLChatModel": chat_model}, category="multimodal", source=_SOURCE)
for _type, _name in (("h2ovl_chat", "H2OVLChatModel"), ("skywork_chat", "SkyworkR1VChatModel")):
    register(
        _type,
        renamed_classes({"InternVLChatModel": chat_model}, "InternVLChatModel", _name),
        base=_name,
        category="multimodal",
        source="vLLM's h2ovl.py and skyworkr1v.py; modeling_internvl_chat.py of InternVL2",
    )
register("intern_vit_6b", {"InternVisionModel": vision_model}, category="vision", source=_SOURCE)
