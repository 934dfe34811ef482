"""Kimi K2.5 to K2.7 (Moonshot AI 2026), text and vision. Source: transformers/models/kimi_k25 and
transformers/conversion_mapping.py. One model, three spellings: the Hub's own (class
``KimiK25ForConditionalGeneration``, also what the conversion reads); what a fresh save writes
(``Kimi_K25ForConditionalGeneration``: the renaming back also turns the text tower's ``layers`` into
``blocks``, puts patches under ``encoder`` and leaves one norm under ``model``); and a saved
``Kimi_K25Model``.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import joined, renamed, respelled
from ..layers.multimodal import decoder, language_model, projector
from ..layers.vision import pair
from ..trees.catalog import builder, register
from ..trees.modules import Activation, LayerNorm, Linear, Module, Sequential, each_module

# ---- vision

_NAME = "Kimi_K25VisionModel"
#: transformers' names -> those of the release, which counts from 0.
_HUB = {
    "norm1": "norm0", "norm2": "norm1", "fc1": "fc0", "fc2": "fc1", "layers": "blocks",
    "position_embeddings": "weight",
}  # fmt: skip


def bare_vision(c: ModelConfig) -> Module:
    """transformers' tower (a trace), q, k and v in one matrix next to what is left of attention.
    Keys of the release begin with ``vt_`` and ``init_``."""
    said = {key.removeprefix("vt_").removeprefix("init_"): c.values[key] for key in c.values}
    tower = builder(_NAME)(ModelConfig({**said, **c.values}, c.path))
    for block in each_module(joined(tower, ("q_proj", "k_proj", "v_proj"), "wqkv", "qkv")):
        if "attn" in block.children:
            block.children["wqkv"] = block.inside("attn").children.pop("wqkv")
    return respelled(tower, {"layers": "blocks"})


def _released(c: ModelConfig) -> tuple[Module, dict[str, Module]]:
    """The same under the release's names: its patches and positions, and its encoder's parts."""
    tower = renamed(bare_vision(c), "Kimi_K25VisionEncoderLayer", "MoonViTEncoderLayer")
    for block in each_module(tower):
        if "attn" in block.children:
            output = block.inside("attn", "proj")
            output.component = Component.ATTENTION
            block.without("attn").adding(wo=output)
    respelled(tower, _HUB)
    stack = {name: tower.inside(name) for name in ("blocks", "final_layernorm")}
    return tower.inside("patch_embed"), stack


def hub_vision(c: ModelConfig) -> Module:
    embedded, stack = _released(c)
    parts = {"patch_embed": embedded, "encoder": Module("MoonViT3dEncoder", dict(stack))}
    return Module("MoonViT3dPretrainedModel", dict(parts), part="vision")


def _fresh_vision(c: ModelConfig) -> Module:
    embedded, stack = _released(c)
    patches, grid = (
        Module(embedded.class_name, {at: embedded[at]}, component=Component.EMBEDDING)
        for at in ("proj", "pos_emb")
    )
    encoder = Module(_NAME, {"patch_embed": patches, **stack})
    return Module(_NAME, encoder=encoder, patch_embed=grid, part="vision")


# ---- projector and text


def _projection(c: ModelConfig) -> tuple[Module, Module, Module]:
    """Norm per patch, then two linears over a merged rectangle of patches."""
    vision, text = c.section("vision_config"), c.section("text_config")
    height, across = pair(vision, "merge_kernel_size", default=2)
    wide = vision.dim("hidden_size", "vt_hidden_size", default=1152) * (height * across)
    narrow = c.dim("projection_hidden_size", default=vision.dim("mm_hidden_size", default=1152))
    return (
        LayerNorm(narrow, eps=1e-5),
        Linear(wide, wide),
        Linear(wide, text.dim("hidden_size", default=7168)),
    )


_projector = partial(projector, "Kimi_K25MultimodalProjection")


def _language(c: ModelConfig, *, blocks: bool, tied: bool) -> Module:
    """The text model with its head; ``blocks`` is a name that its list of layers may have."""
    text = decoder(c, "deepseek_v3")
    if blocks:
        parts = text.base.children.items()
        text.base.children = {_HUB.get(name, name): part for name, part in parts}
    return language_model(text, head=True, tied=tied)


def hub_generation(c: ModelConfig) -> Module:
    """The repo's own class: its text tower decides about tying."""
    norm, first, second = _projection(c)
    tied = c.section("text_config").tied(default=False)
    return Module(
        "KimiK25ForConditionalGeneration",
        vision_tower=hub_vision(c.section("vision_config")),
        mm_projector=_projector(pre_norm=norm, proj=Sequential(first, Activation("GELU"), second)),
        language_model=_language(c, blocks=False, tied=tied),
    )


def fresh_generation(c: ModelConfig) -> Module:
    """transformers' class: the outer key decides about tying, true if absent."""
    norm, first, second = _projection(c)
    return Module(
        "Kimi_K25ForConditionalGeneration",
        vision_tower=_fresh_vision(c.section("vision_config")),
        mm_projector=_projector(proj=Sequential(first, Activation("GELU"), second)),
        model=Module("Kimi_K25Model", mm_projector=_projector(pre_norm=norm)),
        language_model=_language(c, blocks=True, tied=c.tied()),
    )


def model(c: ModelConfig) -> Module:
    norm, first, second = _projection(c)
    return Module(
        "Kimi_K25Model",
        vision_tower=bare_vision(c.section("vision_config")),
        language_model=_language(c, blocks=True, tied=False)["model"],
        mm_projector=_projector(pre_norm=norm, in_proj=first, out_proj=second),
    )


_CLASSES = {
    "KimiK25ForConditionalGeneration": hub_generation,
    "Kimi_K25ForConditionalGeneration": fresh_generation,
    "Kimi_K25Model": model,
}
register("kimi_k25", _CLASSES, category="multimodal")
