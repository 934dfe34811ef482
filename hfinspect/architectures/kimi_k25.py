"""Kimi K2.5 to K2.7 (Moonshot AI 2026), text and vision. Source: transformers/models/kimi_k25 and
transformers/conversion_mapping.py.

A DeepSeek-V3 text tower, a ViT with a learned grid of positions, and a projector that merges
patches.  One model, three spellings: the Hub's own (class ``KimiK25ForConditionalGeneration``, also
what the conversion reads); what a fresh save writes (``Kimi_K25ForConditionalGeneration``: the
renaming back also turns the text tower's ``layers`` into ``blocks``, puts patches under
``encoder`` and leaves one norm under ``model``); and a saved ``Kimi_K25Model``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size, two_layer_mlp
from ..layers.heads import lm_head
from ..layers.multimodal import projector
from ..layers.vision import pair, patch_conv
from ..trees.catalog import auto_model, register
from ..trees.modules import (
    Activation,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    Sequential,
    Weight,
)

# ---- vision


_width = size("hidden_size", "vt_hidden_size", default=1152)


def _block(c: ModelConfig, name: str, first: int, **attention: Module) -> Module:
    """``first`` is the number of the first norm and of the MLP's first layer."""
    h, inner = _width(c), c.dim("intermediate_size", "vt_intermediate_size", default=4304)
    numbers, act = (first, first + 1), c.text("hidden_act", default="gelu_pytorch_tanh")
    mlp = two_layer_mlp(
        "Kimi_K25VisionMLP", h, inner, act=act, names=(f"fc{numbers[0]}", f"fc{numbers[1]}")
    )
    norms = {f"norm{i}": LayerNorm(h, eps=1e-5) for i in numbers}
    return Module(name, {**norms, "mlp": mlp, **attention})


def _projected(h: Dim, outputs: int, kind: str) -> Module:
    """A projection of the attention, which stands next to the norms."""
    return Linear(h, outputs, component=Component.ATTENTION, kind=kind)


def _hub_block(c: ModelConfig) -> Module:
    h = _width(c)
    qkv, output = _projected(h, h * 3, "qkv"), _projected(h, h, "output")
    return _block(c, "MoonViTEncoderLayer", 0, wqkv=qkv, wo=output)


def _bare_block(c: ModelConfig) -> Module:
    h = _width(c)
    output = Module("Kimi_K25VisionAttention", proj=_projected(h, h, "output"))
    return _block(c, "Kimi_K25VisionEncoderLayer", 1, attn=output, wqkv=_projected(h, h * 3, "qkv"))


def _patch_embed(**children: Module | Parameter) -> Module:
    return Module("Kimi_K25VisionPatchEmbed", children, component=Component.EMBEDDING)


def _embedded(c: ModelConfig, grid: str) -> Module:
    """Patches, and a vector for each place of a grid."""
    sides = [c.dim(f"pos_emb_{x}", f"init_pos_emb_{x}", default=64) for x in ("height", "width")]
    table = Weight(*sides, _width(c), kind="position")
    return _patch_embed(
        proj=patch_conv(3, _width(c), pair(c, "patch_size", default=14)),
        pos_emb=Module(
            "Kimi_K25VisionPositionEmbeddings", {grid: table}, component=Component.EMBEDDING
        ),
    )


def _stack(c: ModelConfig, block: Module) -> dict[str, Module | Parameter | None]:
    count = c.count("num_hidden_layers", "vt_num_hidden_layers", default=27)
    return {"blocks": Layers.of(count, block), "final_layernorm": LayerNorm(_width(c), eps=1e-5)}


def hub_vision(c: ModelConfig) -> Module:
    return Module(
        "MoonViT3dPretrainedModel",
        patch_embed=_embedded(c, "weight"),
        encoder=Module("MoonViT3dEncoder", _stack(c, _hub_block(c))),
        part="vision",
    )


def _fresh_vision(c: ModelConfig) -> Module:
    embedded = _embedded(c, "weight").children
    patches, grid = (_patch_embed(**{k: embedded[k]}) for k in ("proj", "pos_emb"))
    stack = _stack(c, _hub_block(c))
    encoder = Module("Kimi_K25VisionModel", {"patch_embed": patches, **stack})
    return Module("Kimi_K25VisionModel", encoder=encoder, patch_embed=grid, part="vision")


def _bare_vision(c: ModelConfig) -> Module:
    parts = {"patch_embed": _embedded(c, "position_embeddings"), **_stack(c, _bare_block(c))}
    return Module("Kimi_K25VisionModel", parts, part="vision")


# ---- projector and text


def merged_width(vision: ModelConfig) -> Dim:
    """A rectangle of patches side by side."""
    sides = pair(vision, "merge_kernel_size", default=2)
    return _width(vision) * (sides[0] * sides[1])


def _projection(c: ModelConfig) -> tuple[Module, Module, Module]:
    """Norm per patch, then two linears over a merged rectangle of patches."""
    vision = c.section("vision_config")
    wide, text = merged_width(vision), c.section("text_config").dim("hidden_size", default=7168)
    narrow = c.dim("projection_hidden_size", default=vision.dim("mm_hidden_size", default=1152))
    return LayerNorm(narrow, eps=1e-5), Linear(wide, wide), Linear(wide, text)


def _projector(**children: Module) -> Module:
    return projector("Kimi_K25MultimodalProjection", **children)


def _text(c: ModelConfig, layers: str) -> Module:
    """The text tower, its list of layers under the given name."""
    tower = auto_model(c.section("text_config"), default_type="deepseek_v3")
    children = {layers if k == "layers" else k: child for k, child in tower.children.items()}
    return Module(tower.class_name, children)


def _language(c: ModelConfig, tower: Module, decides: ModelConfig, *, tied: bool) -> Module:
    text = c.section("text_config")
    head = lm_head(
        decides,
        text.dim("hidden_size", default=7168),
        text.dim("vocab_size", default=129280),
        tied_to="language_model.model.embed_tokens.weight",
        tied_default=tied,
    )
    return Module("DeepseekV3ForCausalLM", model=tower, lm_head=head)


def hub_generation(c: ModelConfig) -> Module:
    """The repo's own class: its text tower decides about tying."""
    norm, first, second = _projection(c)
    return Module(
        "KimiK25ForConditionalGeneration",
        vision_tower=hub_vision(c.section("vision_config")),
        mm_projector=_projector(pre_norm=norm, proj=Sequential(first, Activation("GELU"), second)),
        language_model=_language(c, _text(c, "layers"), c.section("text_config"), tied=False),
    )


def fresh_generation(c: ModelConfig) -> Module:
    """transformers' class: the outer key decides about tying, true if absent."""
    norm, first, second = _projection(c)
    return Module(
        "Kimi_K25ForConditionalGeneration",
        vision_tower=_fresh_vision(c.section("vision_config")),
        mm_projector=_projector(proj=Sequential(first, Activation("GELU"), second)),
        model=Module("Kimi_K25Model", mm_projector=_projector(pre_norm=norm)),
        language_model=_language(c, _text(c, "blocks"), c, tied=True),
    )


def model(c: ModelConfig) -> Module:
    norm, first, second = _projection(c)
    return Module(
        "Kimi_K25Model",
        vision_tower=_bare_vision(c.section("vision_config")),
        language_model=_text(c, "blocks"),
        mm_projector=_projector(pre_norm=norm, in_proj=first, out_proj=second),
    )


register(
    "kimi_k25",
    {
        "KimiK25ForConditionalGeneration": hub_generation,
        "Kimi_K25ForConditionalGeneration": fresh_generation,
        "Kimi_K25Model": model,
    },
    category="multimodal",
)
