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
from ..layers.blocks import activation, size
from ..layers.heads import lm_head
from ..layers.vision import pair, patch_conv
from ..trees.catalog import auto_model, register, register_part
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


def _act(c: ModelConfig) -> Module:
    return activation(c.text("hidden_act", default="gelu_pytorch_tanh"))


_inner = size("intermediate_size", "vt_intermediate_size", default=4304)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_width(c), eps=1e-5)


def _mlp(c: ModelConfig, first: str, second: str) -> Module:
    h, inner = _width(c), _inner(c)
    return Module(
        "Kimi_K25VisionMLP",
        {
            first: Linear(h, inner, kind="up"),
            "act": _act(c),
            second: Linear(inner, h, kind="down"),
        },
        component=Component.MLP,
    )


def hub_block(c: ModelConfig) -> Module:
    h = _width(c)
    return Module(
        "MoonViTEncoderLayer",
        norm0=_norm(c),
        norm1=_norm(c),
        mlp=_mlp(c, "fc0", "fc1"),
        wqkv=Linear(h, h * 3, component=Component.ATTENTION, kind="qkv"),
        wo=Linear(h, h, component=Component.ATTENTION, kind="output"),
    )


def bare_block(c: ModelConfig) -> Module:
    h = _width(c)
    return Module(
        "Kimi_K25VisionEncoderLayer",
        norm1=_norm(c),
        norm2=_norm(c),
        attn=Module(
            "Kimi_K25VisionAttention",
            proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=_mlp(c, "fc1", "fc2"),
        wqkv=Linear(h, h * 3, component=Component.ATTENTION, kind="qkv"),
    )


def split_block(c: ModelConfig) -> Module:
    h = _width(c)
    return Module(
        "Kimi_K25VisionEncoderLayer",
        norm1=_norm(c),
        norm2=_norm(c),
        attn=Module(
            "Kimi_K25VisionAttention",
            proj=Linear(h, h, kind="output"),
            q_proj=Linear(h, h, kind="query"),
            k_proj=Linear(h, h, kind="key"),
            v_proj=Linear(h, h, kind="value"),
            component=Component.ATTENTION,
        ),
        mlp=_mlp(c, "fc1", "fc2"),
    )


def _blocks(c: ModelConfig, block: Module) -> Layers:
    return Layers.of(c.count("num_hidden_layers", "vt_num_hidden_layers", default=27), block)


def _patches(c: ModelConfig) -> Module:
    return patch_conv(3, _width(c), pair(c, "patch_size", default=14))


def _positions(c: ModelConfig, name: str) -> Module:
    grid = Weight(
        c.dim("pos_emb_height", "init_pos_emb_height", default=64),
        c.dim("pos_emb_width", "init_pos_emb_width", default=64),
        _width(c),
        kind="position",
    )
    return Module(
        "Kimi_K25VisionPositionEmbeddings", {name: grid}, component=Component.EMBEDDING
    )  # fmt: skip


def _patch_embed(**children: Module) -> Module:
    return Module("Kimi_K25VisionPatchEmbed", children, component=Component.EMBEDDING)


def hub_vision(c: ModelConfig) -> Module:
    return Module(
        "MoonViT3dPretrainedModel",
        patch_embed=_patch_embed(proj=_patches(c), pos_emb=_positions(c, "weight")),
        encoder=Module(
            "MoonViT3dEncoder", blocks=_blocks(c, hub_block(c)), final_layernorm=_norm(c)
        ),
        part="vision",
    )


def fresh_vision(c: ModelConfig) -> Module:
    encoder = Module(
        "Kimi_K25VisionModel",
        patch_embed=_patch_embed(proj=_patches(c)),
        blocks=_blocks(c, hub_block(c)),
        final_layernorm=_norm(c),
    )
    return Module(
        "Kimi_K25VisionModel",
        encoder=encoder,
        patch_embed=_patch_embed(pos_emb=_positions(c, "weight")),
        part="vision",
    )


def bare_vision(c: ModelConfig, name: str = "blocks") -> Module:
    block = bare_block(c) if name == "blocks" else split_block(c)
    positions = _positions(c, "position_embeddings")
    return Module(
        "Kimi_K25VisionModel",
        {
            "patch_embed": _patch_embed(proj=_patches(c), pos_emb=positions),
            name: _blocks(c, block),
            "final_layernorm": _norm(c),
        },
        part="vision",
    )


# ---- projector and text


def _projection(c: ModelConfig) -> tuple[Module, Module, Module]:
    """Norm per patch, then two linears over a merged rectangle of patches."""
    vision = c.section("vision_config")
    sides = pair(vision, "merge_kernel_size", default=2)
    wide = _width(vision) * (sides[0] * sides[1])
    text = c.section("text_config").dim("hidden_size", default=7168)
    narrow = c.dim("projection_hidden_size", default=vision.dim("mm_hidden_size", default=1152))
    return LayerNorm(narrow, eps=1e-5), Linear(wide, wide), Linear(wide, text)


def _projector(**children: Module | Parameter) -> Module:
    return Module(
        "Kimi_K25MultimodalProjection",
        children,
        component=Component.PROJECTOR,
        part="projector",
    )


def _text(c: ModelConfig, layers: str) -> Module:
    """The text tower, its list of layers under the given name."""
    tower = auto_model(c.section("text_config"), default_type="deepseek_v3")
    children = {layers if k == "layers" else k: child for k, child in tower.children.items()}
    return Module(tower.class_name, children)


def _language(c: ModelConfig, decides: ModelConfig, layers: str, *, tied_default: bool) -> Module:
    text = c.section("text_config")
    head = lm_head(
        decides,
        text.dim("hidden_size", default=7168),
        text.dim("vocab_size", default=129280),
        tied_to="language_model.model.embed_tokens.weight",
        tied_default=tied_default,
    )
    return Module("DeepseekV3ForCausalLM", model=_text(c, layers), lm_head=head)


def hub_generation(c: ModelConfig) -> Module:
    """The repo's own class: its text tower decides about tying."""
    norm, first, second = _projection(c)
    return Module(
        "KimiK25ForConditionalGeneration",
        vision_tower=hub_vision(c.section("vision_config")),
        mm_projector=_projector(pre_norm=norm, proj=Sequential(first, Activation("GELU"), second)),
        language_model=_language(c, c.section("text_config"), "layers", tied_default=False),
    )


def fresh_generation(c: ModelConfig) -> Module:
    """transformers' class: the outer key decides about tying, true if absent."""
    norm, first, second = _projection(c)
    return Module(
        "Kimi_K25ForConditionalGeneration",
        vision_tower=fresh_vision(c.section("vision_config")),
        mm_projector=_projector(proj=Sequential(first, Activation("GELU"), second)),
        model=Module("Kimi_K25Model", mm_projector=_projector(pre_norm=norm)),
        language_model=_language(c, c, "blocks", tied_default=True),
    )


def model(c: ModelConfig) -> Module:
    norm, first, second = _projection(c)
    return Module(
        "Kimi_K25Model",
        vision_tower=bare_vision(c.section("vision_config")),
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

register_part(
    "kimi_k25_vision", "Kimi_K25VisionModel", lambda c: bare_vision(c, "layers"), "vision"
)
