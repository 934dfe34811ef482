"""InternVL 3 in transformers' own form (Zhu et al. 2025). Source: transformers/models/internvl.

InternViT (a BEiT with scales per channel), a projector over squares of patches joined together, and
any decoder. Checkpoints of the authors' own code have the type internvl_chat.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.composing import respelled
from ..layers.multimodal import Joined
from ..layers.vision import pair, patch_conv, patch_count, plain_mlp
from ..trees.catalog import register_part
from ..trees.modules import (
    Activation,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    RMSNorm,
    Weight,
    each_module,
)

#: What transformers calls a part of the tower -> its name in the authors' own code.
_RELEASED = {
    "cls_token": "class_embedding", "patch_embeddings": "patch_embedding",
    "position_embeddings": "position_embedding", "layer": "layers", "lambda_1": "ls1",
    "lambda_2": "ls2", "layernorm_before": "norm1", "layernorm_after": "norm2",
    "attention": "attn", "projection_layer": "proj",
}  # fmt: skip

_hidden = size("hidden_size", default=1024)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_eps", default=1e-6)
    kind = c.text("norm_type", default="layer_norm")
    if kind == "layer_norm":
        return LayerNorm(_hidden(c), eps=eps)
    if kind == "rms_norm":
        return RMSNorm(_hidden(c), eps=eps, class_name="InternVLVisionRMSNorm")
    raise c.error("norm_type", kind, "layer_norm or rms_norm")


def embeddings(c: ModelConfig) -> Module:
    h = _hidden(c)
    image, patch = pair(c, "image_size", default=448), pair(c, "patch_size", default=14)
    masked = c.flag("use_mask_token", default=False)
    absolute = c.flag("use_absolute_position_embeddings", default=True)
    positions = Weight(1, patch_count(image, patch) + 1, h, kind="position")
    return Module(
        "InternVLVisionEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        mask_token=Weight(1, 1, h, kind="mask_token") if masked else None,
        position_embeddings=positions if absolute else None,
        patch_embeddings=Module(
            "InternVLVisionPatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
        ),
        component=Component.EMBEDDING,
    )


def attention(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    normed = c.flag("use_qk_norm", default=False)

    def head_norm() -> Module:
        return RMSNorm(h, class_name="InternVLVisionRMSNorm") if normed else Activation("Identity")

    return Module(
        "InternVLVisionAttention",
        q_proj=Linear(h, h, bias=bias, kind="query"),
        k_proj=Linear(h, h, bias=bias, kind="key"),
        v_proj=Linear(h, h, bias=bias, kind="value"),
        projection_layer=Linear(h, h, kind="output"),
        q_norm=head_norm(),
        k_norm=head_norm(),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=4096)
    return Module(
        "InternVLVisionLayer",
        lambda_1=Weight(h, kind="scale"),
        lambda_2=Weight(h, kind="scale"),
        attention=attention(c),
        mlp=plain_mlp("InternVLVisionMLP", h, inner, act=c.text("hidden_act", default="gelu")),
        layernorm_before=_norm(c),
        layernorm_after=_norm(c),
    )


def vision_model(c: ModelConfig) -> Module:
    mean = c.flag("use_mean_pooling", default=True)
    norm = LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-6))
    layers = Layers.of(c.count("num_hidden_layers", default=24), layer(c))
    return Module(
        "InternVLVisionModel",
        embeddings=embeddings(c),
        encoder=Module("InternVLVisionEncoder", layer=layers),
        layernorm=Activation("Identity") if mean else norm,
        part="vision",
    )


def as_released(tower: Module) -> Module:
    """A tower under the names of the authors' own code, its q, k and v in one matrix."""
    embeddings = respelled(tower, _RELEASED).inside("embeddings")
    embeddings.children["patch_embedding"] = embeddings.inside("patch_embedding")["projection"]
    for module in each_module(tower):
        apart = [module.children.pop(f"{name}_proj", None) for name in "qkv"]
        if isinstance(apart[0], Module):
            weight = apart[0]["weight"]
            assert isinstance(weight, Parameter)
            h = weight.shape[0]
            fused = Linear(h, 3 * h, bias="bias" in apart[0].children, kind="qkv")
            module.children = {"qkv": fused, **module.children}
    return tower


def projector(j: Joined, c: ModelConfig, width: Dim, hidden: Dim) -> Module:
    """A norm and two layers over the patches of a square, whose side is 1 / downsample_ratio."""
    ratio = c.number("downsample_ratio", default=0.5)
    if not 1 / 64 <= ratio <= 1:
        raise c.error("downsample_ratio", ratio, "between 1/64 and 1")
    side = int(1 / ratio)
    joined = width * (side * side)
    return Module(
        f"{j.name}MultiModalProjector",
        layer_norm=LayerNorm(joined),
        linear_1=Linear(joined, hidden),
        act=activation(c.text("projector_hidden_act", default="gelu")),
        linear_2=Linear(hidden, hidden),
        component=Component.PROJECTOR,
        part="projector",
    )


Joined("InternVL", "internvl_vision", "qwen2", projector=projector).register("internvl")
register_part("internvl_vision", "InternVLVisionModel", vision_model, "vision")
