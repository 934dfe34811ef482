"""Kimi K2.5 to K2.7 (Moonshot AI 2026), text and vision. Source: transformers/models/kimi_k25 and
transformers/conversion_mapping.py. One model, three spellings: that of the Hub and its own class,
which the conversion reads (KimiK25); what transformers saves, whose renaming back also touches the
text tower's ``layers`` and leaves one norm under ``model`` (Kimi_K25); and a saved base model."""

from ..layers.composing import composed, joined, renamed, respelled
from ..layers.multimodal import any_causal, decoder, language_model, projector, within
from ..layers.vision import pair
from ..trees import Component, Dim, ModelConfig, builder, register
from ..trees.modules import Activation, LayerNorm, Linear, Module, Sequential, each_module

_NAME = "Kimi_K25VisionModel"
#: transformers' names -> those of the release, which counts from 0.
_HUB = {
    "norm1": "norm0",
    "norm2": "norm1",
    "fc1": "fc0",
    "fc2": "fc1",
    "layers": "blocks",
    "position_embeddings": "weight",
}


def bare_vision(c: ModelConfig) -> Module:
    """transformers' tower (a trace), q, k and v in one matrix next to what is left of attention.
    Keys of the release begin with ``vt_`` and ``init_``."""
    values = {key.removeprefix("vt_").removeprefix("init_"): c.values[key] for key in c.values}
    tower = builder(_NAME)(ModelConfig({**values, **c.values}, c.path))
    for block in each_module(joined(tower, ("q_proj", "k_proj", "v_proj"), "wqkv", "qkv")):
        if "attn" in block.children:
            block.children["wqkv"] = block.inside("attn").children.pop("wqkv")
    return respelled(tower, {"layers": "blocks"})


def hub_vision(c: ModelConfig) -> Module:
    """The same under the release's names."""
    tower = renamed(bare_vision(c), "Kimi_K25VisionEncoderLayer", "MoonViTEncoderLayer")
    for block in each_module(tower):
        if "attn" in block.children:
            output = block.inside("attn", "proj")
            output.component = Component.ATTENTION
            block.without("attn").adding(wo=output)
    respelled(tower, _HUB)
    stack = {name: tower[name] for name in ("blocks", "final_layernorm")}
    encoder = Module("MoonViT3dEncoder", stack)
    name = "MoonViT3dPretrainedModel"
    return Module(name, patch_embed=tower["patch_embed"], encoder=encoder, part="vision")


def _fresh_vision(c: ModelConfig) -> Module:
    """The same, patches in the encoder."""
    tower = hub_vision(c)
    embedded = tower.inside("patch_embed")
    patches, grid = (
        Module(embedded.class_name, {at: embedded[at]}, component=Component.EMBEDDING)
        for at in ("proj", "pos_emb")
    )
    encoder = Module(_NAME, {"patch_embed": patches, **tower.inside("encoder").children})
    return Module(_NAME, encoder=encoder, patch_embed=grid, part="vision")


def merged_width(vision: ModelConfig, *keys: str) -> Dim:
    """A rectangle of patches as one; ``keys`` are older ones of the width."""
    height, across = pair(vision, "merge_kernel_size", default=2)
    return vision.dim("hidden_size", *keys, default=1152) * (height * across)


def _projector(c: ModelConfig, *names: str) -> Module:
    """What has these ``names`` of a norm per patch and two linears over merged patches."""
    vision = c.section("vision_config")
    text = c.section("text_config")
    wide = merged_width(vision, "vt_hidden_size")
    width = c.dim("projection_hidden_size", default=vision.dim("mm_hidden_size", default=1152))
    first = Linear(wide, wide)
    second = Linear(wide, text.dim("hidden_size", default=7168))
    parts = {
        "pre_norm": LayerNorm(width, eps=1e-5),
        "in_proj": first,
        "out_proj": second,
        "proj": Sequential(first, Activation("GELU"), second),
    }
    return projector("Kimi_K25MultimodalProjection", **{name: parts[name] for name in names})


def _language(c: ModelConfig) -> Module:
    """The text model with its head, which the outer key ties; its layers are called ``blocks``."""
    text = decoder(c, "deepseek_v3")
    parts = text.base.children.items()
    text.base.children = {_HUB.get(name, name): part for name, part in parts}
    return language_model(text, head=True, tied=c.tied())


_CLASSES = composed(
    {
        "KimiK25ForConditionalGeneration": {
            "vision_tower": within("vision_config", hub_vision),
            "mm_projector": lambda c: _projector(c, "pre_norm", "proj"),
            "language_model": any_causal("text_config", "deepseek_v3"),
        },
        "Kimi_K25ForConditionalGeneration": {
            "vision_tower": within("vision_config", _fresh_vision),
            "mm_projector": lambda c: _projector(c, "proj"),
            "model": lambda c: Module("Kimi_K25Model", mm_projector=_projector(c, "pre_norm")),
            "language_model": _language,
        },
        "Kimi_K25Model": {
            "vision_tower": within("vision_config", bare_vision),
            "language_model": lambda c: _language(c)["model"],
            "mm_projector": lambda c: _projector(c, "pre_norm", "in_proj", "out_proj"),
        },
    }
)
register("kimi_k25", _CLASSES, category="multimodal")
