"""Qwen3.5 (Qwen team 2026), text and vision. Source: transformers/models/qwen3_5.

The text tower is Qwen3-Next's hybrid with the delta net's inputs in four projections; the vision
tower a ViT on patches of space and time with a learned position table and a merging projector.
``Variant`` holds what the dense family and the one with experts (qwen3_5_moe.py) differ in.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, fused_attention
from ..layers.decoders import Decoder
from ..layers.heads import causal_lm, classifier, sequence_classification, token_classification
from ..layers.multimodal import text_section
from ..trees.catalog import Builder, register, register_part
from ..trees.modules import Activation, Conv, Embedding, LayerNorm, Layers, Linear, Module
from .llama import LLAMA
from .qwen3_next import gated_attention, layer, mixer_types, token_predictor, with_predictor

# ---- text


def _kinds(d: Decoder, c: ModelConfig, layers: int) -> list[tuple[str, str]]:
    mlp = "sparse" if d.moe else "dense"
    return [(mixer, mlp) for mixer in mixer_types(c, layers)]


DENSE = LLAMA.like(
    "Qwen3_5", vocab_size=248320, intermediate_size=12288, num_attention_heads=16,
    num_key_value_heads=4, head_dim=256, mlp_bias=None, attention=gated_attention, layer=layer,
    kinds=_kinds, rotary=False,
)  # fmt: skip


def text_model(d: Decoder, c: ModelConfig) -> Module:
    return d.named(f"{d.name}TextModel", c)


def predictor(d: Decoder, c: ModelConfig) -> Module | None:
    """The Hub's multi-token-prediction block, see qwen3_next.py."""
    c = text_section(c)
    count = int(c.count("mtp_num_hidden_layers", default=0))
    if not count:
        return None
    found = token_predictor(d, c, ("full_attention", "sparse" if d.moe else "dense"), count)
    if c.flag("mtp_use_dedicated_embeddings", default=False):
        found.children["embed_tokens"] = Embedding(d.size(c, "vocab_size"), d.width(c))
    return found


# ---- vision


def vision_block(name: str, h: Dim, inner: Dim, act: str | None) -> Module:
    return Module(
        f"{name}VisionBlock",
        norm1=LayerNorm(h, eps=1e-6),
        norm2=LayerNorm(h, eps=1e-6),
        attn=fused_attention(f"{name}VisionAttention", h),
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


def model(d: Decoder, c: ModelConfig) -> Module:
    return Module(
        f"{d.name}Model",
        visual=vision_model(d.name, c.section("vision_config")),
        language_model=text_model(d, c.section("text_config")),
    )


def conditional_generation(d: Decoder, c: ModelConfig) -> Module:
    """The outer key decides about tying."""
    table = "model.language_model.embed_tokens.weight" if c.tied(default=False) else None
    head = d.words(c.section("text_config"), table)
    return Module(f"{d.name}ForConditionalGeneration", model=model(d, c), lm_head=head)


def text_classes(d: Decoder) -> dict[str, Builder]:
    base = partial(text_model, d)
    causal = causal_lm(f"{d.name}ForCausalLM", base)
    return {
        f"{d.name}ForCausalLM": with_predictor(
            lambda c: causal(text_section(c)), partial(predictor, d)
        ),
        f"{d.name}TextModel": base,
    }


def register_both(
    model_type: str, d: Decoder, text: dict[str, Builder], whole: dict[str, Builder]
) -> None:
    """Add the text model, the tower and the composite of a family, with further classes."""
    register(
        f"{model_type}_text", {**text_classes(d), **text}, base_prefix="model",
        aliases={"model.language_model.": "model."}, category="text decoder",
    )  # fmt: skip
    tower = partial(vision_model, d.name)
    register_part(f"{model_type}_vision", f"{d.name}VisionModel", tower, "vision")
    generation = with_predictor(partial(conditional_generation, d), partial(predictor, d))
    classes: dict[str, Builder] = {
        f"{d.name}ForConditionalGeneration": generation,
        f"{d.name}Model": partial(model, d),
    }
    register(model_type, {**classes, **whole}, base_prefix="model", category="multimodal")


def _score(name: str, *, bias: bool) -> Builder:
    def build(c: ModelConfig) -> Module:
        width = DENSE.width(c.section("text_config"))
        return Module(name, model=model(DENSE, c), score=classifier(width, c.num_labels, bias=bias))

    return build


_BASE = partial(text_model, DENSE)
_SEQUENCES, _TOKENS = "Qwen3_5ForSequenceClassification", "Qwen3_5ForTokenClassification"
_TEXTS = "Qwen3_5TextForSequenceClassification"
register_both(
    "qwen3_5",
    DENSE,
    {
        _TEXTS: sequence_classification(_TEXTS, _BASE, hidden=DENSE.width),
        _TOKENS: token_classification(_TOKENS, _BASE, hidden=DENSE.width),
    },
    {_SEQUENCES: _score(_SEQUENCES, bias=False), _TOKENS: _score(_TOKENS, bias=True)},
)
