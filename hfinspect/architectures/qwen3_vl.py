"""Qwen3-VL (Qwen team 2025). Source of shapes: transformers/models/qwen3_vl/modeling_qwen3_vl.py.

Qwen3's decoder next to a ViT with a table of positions. In addition to the merger at its end,
mergers after some of its layers feed the first layers of the decoder (DeepStack).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.heads import to_words
from ..trees.catalog import Builder, register, register_part
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module, ModuleList
from .llama import LLAMA
from .qwen3_5 import patch_embed, vision_block


def _merger(name: str, c: ModelConfig, h: Dim, *, after: bool) -> Module:
    """A square of patches as one token, through an MLP, to the text's width; norm before or after
    the patches are joined."""
    side = c.dim("spatial_merge_size", default=2)
    wide = h * side * side
    return Module(
        f"{name}VisionPatchMerger",
        norm=LayerNorm(wide if after else h, eps=1e-6),
        linear_fc1=Linear(wide, wide),
        act_fn=Activation("GELU"),
        linear_fc2=Linear(wide, c.dim("out_hidden_size", default=3584)),
        component=Component.PROJECTOR,
        part="projector",
    )


def vision_model(name: str, c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size", default=1152), c.dim("intermediate_size", default=4304)
    block = vision_block(name, h, inner, c.text("hidden_act", default="gelu_pytorch_tanh"))
    positions = c.dim("num_position_embeddings", default=2304)
    fed = c.dims("deepstack_visual_indexes", default=(8, 16, 24), minimum=0)
    return Module(
        f"{name}VisionModel",
        patch_embed=patch_embed(name, c, h),
        pos_embed=Embedding(positions, h, kind="position"),
        rotary_pos_emb=Activation(f"{name}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=27), block),
        merger=_merger(name, c, h, after=False),
        deepstack_merger_list=ModuleList([_merger(name, c, h, after=True)] * len(fed)),
        part="vision",
    )


TEXT = LLAMA.like(
    "Qwen3VLText",
    vocab_size=151936,
    intermediate_size=22016,
    num_key_value_heads=32,
    head_dim=128,
    mlp_bias=None,
    qk_norm=True,
)


def register_qwen3_vl(name: str, model_type: str, text: Decoder) -> None:
    """The family of a text model."""

    def base(c: ModelConfig) -> Module:
        return Module(
            f"{name}Model",
            visual=vision_model(name, c.section("vision_config")),
            language_model=text.model(c.section("text_config")),
        )

    def generation(c: ModelConfig) -> Module:
        section = c.section("text_config")
        tied = c.tied(default=False)
        head = to_words(
            text.width(section),
            section.dim("vocab_size", default=151936),
            "model.language_model.embed_tokens.weight" if tied else None,
        )
        return Module(f"{name}ForConditionalGeneration", model=base(c), lm_head=head)

    def only_text(c: ModelConfig) -> Module:
        return text.model(c.section("text_config") if c.has("text_config") else c)

    def only_vision(c: ModelConfig) -> Module:
        return vision_model(name, c.section("vision_config") if c.has("vision_config") else c)

    both: dict[str, Builder] = {
        f"{name}ForConditionalGeneration": generation,
        f"{name}Model": base,
    }
    register(model_type, both, base=f"{name}Model", base_prefix="model", category="multimodal")
    register_part(f"{model_type}_text", f"{name}TextModel", only_text, "text decoder")
    register_part(f"{model_type}_vision", f"{name}VisionModel", only_vision, "vision")


register_qwen3_vl("Qwen3VL", "qwen3_vl", TEXT)
