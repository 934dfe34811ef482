"""Qwen3.5 (Qwen team 2026), text and vision. Source: transformers/models/qwen3_5.

The text tower is Qwen3-Next's hybrid with the delta net's inputs in four projections; the vision
tower a ViT on patches of space and time with a learned position table and a merging projector.
``Variant`` holds what the dense family and the one with experts (qwen3_5_moe.py) differ in.
"""

from collections.abc import Callable
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..core.records import dataclass
from ..layers.blocks import activation, gated_mlp, grouped_heads
from ..layers.heads import (
    causal_lm,
    classifier,
    lm_head,
    sequence_classification,
    token_classification,
)
from ..trees.catalog import Builder, register, register_part
from ..trees.modules import Activation, Conv, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm
from .qwen3_next import (
    delta_net,
    gated_attention,
    mixer_types,
    token_predictor,
    with_predictor,
)


@dataclass(frozen=True)
class Variant:
    """Class name prefix, the config class's own defaults, and what stands at ``mlp``."""

    name: str
    hidden: int
    layers: int
    kv: int
    mlp: Callable[[ModelConfig, Dim], Module]

    def width(self, c: ModelConfig) -> Dim:
        return c.dim("hidden_size", default=self.hidden)

    def norm(self, c: ModelConfig, size: int) -> Module:
        eps = c.number("rms_norm_eps", default=1e-6)
        return RMSNorm(size, eps=eps, class_name=f"{self.name}RMSNorm")


# ---- text


def layer(v: Variant, c: ModelConfig, kind: str) -> Module:
    h, norm = v.width(c), partial(v.norm, c)
    if kind == "linear_attention":
        mixer = {"linear_attn": delta_net(c, v.name, h, fused=False)}
    else:
        heads = grouped_heads(c, h, heads=16, kv=v.kv, head_dim=256)
        mixer = {"self_attn": gated_attention(c, f"{v.name}Attention", h, heads, norm)}
    return Module(
        f"{v.name}DecoderLayer",
        {
            **mixer,
            "mlp": v.mlp(c, h),
            "input_layernorm": norm(h),
            "post_attention_layernorm": norm(h),
        },
    )


def text_model(v: Variant, c: ModelConfig) -> Module:
    types = mixer_types(c, int(c.count("num_hidden_layers", default=v.layers)))
    distinct = {kind: layer(v, c, kind) for kind in dict.fromkeys(types)}
    return Module(
        f"{v.name}TextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=248320), v.width(c)),
        layers=Layers(distinct[kind] for kind in types),
        norm=v.norm(c, v.width(c)),
    )


def predictor(v: Variant, c: ModelConfig) -> Module | None:
    """The Hub's multi-token-prediction block, see qwen3_next.py."""
    c = _text(c)
    count = int(c.count("mtp_num_hidden_layers", default=0))
    if not count:
        return None
    block = layer(v, c, "full_attention")
    found = token_predictor(v.name, v.width(c), partial(v.norm, c), block, count)
    if c.flag("mtp_use_dedicated_embeddings", default=False):
        table = Embedding(c.dim("vocab_size", default=248320), v.width(c))
        found.children["embed_tokens"] = table
    return found


def _text(c: ModelConfig) -> ModelConfig:
    return c.section("text_config") if c.has("text_config") else c


# ---- vision


def vision_block(name: str, h: Dim, inner: Dim, act: str | None) -> Module:
    return Module(
        f"{name}VisionBlock",
        norm1=LayerNorm(h, eps=1e-6),
        norm2=LayerNorm(h, eps=1e-6),
        attn=Module(
            f"{name}VisionAttention",
            qkv=Linear(h, h * 3, kind="qkv"),
            proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            f"{name}VisionMLP",
            linear_fc1=Linear(h, inner, kind="up"),
            linear_fc2=Linear(inner, h, kind="down"),
            act_fn=activation(act),
            component=Component.MLP,
        ),
    )


def patch_embed(name: str, c: ModelConfig, h: Dim) -> Module:
    patch = c.dim("patch_size", default=16)
    cube = (c.dim("temporal_patch_size", default=2), patch, patch)
    channels = c.dim("in_channels", default=3)
    return Module(
        f"{name}VisionPatchEmbed",
        proj=Conv(
            channels, h, cube, dims=3, stride=cube, component=Component.EMBEDDING, kind="patch"
        ),
        component=Component.EMBEDDING,
    )


def patch_merger(name: str, c: ModelConfig, h: Dim) -> Module:
    """Joins a square of patches and maps it to the text tower's width."""
    side = c.dim("spatial_merge_size", default=2)
    wide = h * (side * side)
    return Module(
        f"{name}VisionPatchMerger",
        norm=LayerNorm(h, eps=1e-6),
        linear_fc1=Linear(wide, wide),
        act_fn=Activation("GELU", "approximate='none'"),
        linear_fc2=Linear(wide, c.dim("out_hidden_size", default=3584)),
        component=Component.PROJECTOR,
    )


def vision_model(name: str, c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=1152)
    inner = c.dim("intermediate_size", default=4304)
    block = vision_block(name, h, inner, c.text("hidden_act", default="gelu_pytorch_tanh"))
    positions = c.dim("num_position_embeddings", default=2304)
    return Module(
        f"{name}VisionModel",
        patch_embed=patch_embed(name, c, h),
        pos_embed=Embedding(positions, h, kind="position"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=27), block),
        merger=patch_merger(name, c, h),
        part="vision",
    )


# ---- both


def model(v: Variant, c: ModelConfig) -> Module:
    return Module(
        f"{v.name}Model",
        visual=vision_model(v.name, c.section("vision_config")),
        language_model=text_model(v, c.section("text_config")),
    )


def conditional_generation(v: Variant, c: ModelConfig) -> Module:
    text = c.section("text_config")
    vocab = text.dim("vocab_size", default=248320)
    # The outer key decides about tying.
    head = lm_head(
        c, v.width(text), vocab, tied_to="model.language_model.embed_tokens.weight",
        tied_default=False,
    )  # fmt: skip
    return Module(f"{v.name}ForConditionalGeneration", model=model(v, c), lm_head=head)


def _composite_score(name: str, v: Variant, *, bias: bool) -> Builder:
    def build(c: ModelConfig) -> Module:
        width = v.width(c.section("text_config"))
        score = classifier(width, c.num_labels, bias=bias)
        return Module(name, model=model(v, c), score=score)

    return build


def text_classes(v: Variant) -> dict[str, Builder]:
    base = partial(text_model, v)
    causal = causal_lm(f"{v.name}ForCausalLM", base)
    return {
        f"{v.name}ForCausalLM": with_predictor(lambda c: causal(_text(c)), partial(predictor, v)),
        f"{v.name}TextModel": base,
    }


def composite_classes(v: Variant) -> dict[str, Builder]:
    whole = partial(conditional_generation, v)
    return {
        f"{v.name}ForConditionalGeneration": with_predictor(whole, partial(predictor, v)),
        f"{v.name}Model": partial(model, v),
    }


def _dense(c: ModelConfig, hidden: Dim) -> Module:
    inner = c.dim("intermediate_size", default=12288)
    return gated_mlp("Qwen3_5MLP", hidden, inner, act=c.text("hidden_act", default="silu"))


DENSE = Variant("Qwen3_5", hidden=4096, layers=32, kv=4, mlp=_dense)
_dense_text = partial(text_model, DENSE)

register(
    "qwen3_5_text",
    {
        **text_classes(DENSE),
        "Qwen3_5TextForSequenceClassification": sequence_classification(
            "Qwen3_5TextForSequenceClassification", _dense_text, hidden=DENSE.width
        ),
        "Qwen3_5ForTokenClassification": token_classification(
            "Qwen3_5ForTokenClassification", _dense_text, hidden=DENSE.width
        ),
    },
    base_prefix="model",
    aliases={"model.language_model.": "model."},
    category="text decoder",
)

register_part("qwen3_5_vision", "Qwen3_5VisionModel", partial(vision_model, "Qwen3_5"), "vision")

register(
    "qwen3_5",
    {
        **composite_classes(DENSE),
        "Qwen3_5ForSequenceClassification": _composite_score(
            "Qwen3_5ForSequenceClassification", DENSE, bias=False
        ),
        "Qwen3_5ForTokenClassification": _composite_score(
            "Qwen3_5ForTokenClassification", DENSE, bias=True
        ),
    },
    base_prefix="model",
    category="multimodal",
)
