"""Llama 3.2 Vision (Meta 2024). Source: transformers/models/mllama/modeling_mllama.py.

A ViT over tiles of an image, with a second stack of gated layers, and Llama's decoder in which some
layers look at the image instead of the text (cross-attention, gated). The embedding has eight rows
more than the head; heads are never tied.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention
from ..layers.heads import to_words
from ..layers.multimodal import LLAVA_ALIASES
from ..layers.vision import patch_conv, plain_mlp
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Weight,
)

#: config.json counts the aspect ratios that the tiles of an image can form; one id more is none.
_RATIOS = 8
_CROSS = (3, 8, 13, 18, 23, 28, 33, 38)


# ---- vision


def _width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1280)


def _ratios(c: ModelConfig) -> Dim:
    listed = c.raw("supported_aspect_ratios")
    if listed is None:
        return Dim(_RATIOS + 1)
    if not isinstance(listed, list):
        raise c.error("supported_aspect_ratios", listed, "a list of pairs")
    return Dim(len(listed), "aspect_ratios", definition="supported aspect ratios of tiles") + 1


def _positions(c: ModelConfig) -> Dim:
    side = c.dim("image_size", default=448) // c.dim("patch_size", default=14)
    return side * side + 1


def vision_layer(c: ModelConfig, *, gated: bool) -> Module:
    h, inner = _width(c), c.dim("intermediate_size", default=5120)
    eps = c.number("norm_eps", default=1e-5)
    heads = c.dim("attention_heads", "num_attention_heads", default=16)
    return Module(
        "MllamaVisionEncoderLayer",
        gate_attn=Weight(1, kind="gate", component=Component.ATTENTION) if gated else None,
        gate_ffn=Weight(1, kind="gate", component=Component.MLP) if gated else None,
        self_attn=grouped_attention(
            "MllamaVisionAttention", h, Heads(heads, heads, h // heads), bias=False
        ),
        mlp=plain_mlp("MllamaVisionMLP", h, inner, act=c.text("hidden_act", default="gelu")),
        input_layernorm=LayerNorm(h, eps=eps),
        post_attention_layernorm=LayerNorm(h, eps=eps),
    )


def _tile_positions(c: ModelConfig, per_tile: Dim | int) -> Module:
    """A table with one row per aspect ratio: a vector for each of its tiles."""
    tiles = c.dim("max_num_tiles", default=4)
    return Embedding(_ratios(c), tiles * per_tile * _width(c), kind="position")


def vision_model(c: ModelConfig) -> Module:
    h, patch = _width(c), c.dim("patch_size", default=14)

    def ratio_embedding() -> Module:
        return Module(
            "MllamaPrecomputedAspectRatioEmbedding",
            gate=Weight(1, kind="gate"),
            embedding=_tile_positions(c, 1),
            component=Component.EMBEDDING,
        )

    layers = c.count("num_hidden_layers", default=32)
    more = c.count("num_global_layers", default=8)
    return Module(
        "MllamaVisionModel",
        class_embedding=Weight(h, component=Component.EMBEDDING, kind="class_token"),
        patch_embedding=patch_conv(c.dim("num_channels", default=3), h, (patch, patch), bias=False),
        gated_positional_embedding=Module(
            "MllamaPrecomputedPositionEmbedding",
            gate=Weight(1, kind="gate"),
            embedding=Weight(_positions(c), h, kind="position"),
            tile_embedding=_tile_positions(c, _positions(c)),
            component=Component.EMBEDDING,
        ),
        pre_tile_positional_embedding=ratio_embedding(),
        post_tile_positional_embedding=ratio_embedding(),
        layernorm_pre=LayerNorm(h),
        layernorm_post=LayerNorm(h),
        transformer=Module(
            "MllamaVisionEncoder", layers=Layers.of(layers, vision_layer(c, gated=False))
        ),
        global_transformer=Module(
            "MllamaVisionEncoder", layers=Layers.of(more, vision_layer(c, gated=True))
        ),
        part="vision",
    )


# ---- text


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig, size: Dim) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name="MllamaTextRMSNorm")


def text_layer(c: ModelConfig, *, cross: bool) -> Module:
    h = _hidden(c)
    query = c.dim("num_attention_heads", default=32)
    heads = Heads(query, c.dim("num_key_value_heads", default=8), h // query)
    mlp = gated_mlp(
        "MllamaTextMLP",
        h,
        c.dim("intermediate_size", default=14336),
        act=c.text("hidden_act", default="silu"),
    )
    if not cross:
        return Module(
            "MllamaSelfAttentionDecoderLayer",
            self_attn=grouped_attention("MllamaTextSelfAttention", h, heads),
            mlp=mlp,
            input_layernorm=_norm(c, h),
            post_attention_layernorm=_norm(c, h),
        )
    return Module(
        "MllamaCrossAttentionDecoderLayer",
        cross_attn_attn_gate=Weight(1, component=Component.ATTENTION, kind="gate"),
        cross_attn_mlp_gate=Weight(1, component=Component.MLP, kind="gate"),
        cross_attn=grouped_attention(
            "MllamaTextCrossAttention",
            h,
            heads,
            norms=lambda: {"q_norm": _norm(c, heads.dim), "k_norm": _norm(c, heads.dim)},
        ),
        input_layernorm=_norm(c, h),
        mlp=mlp,
        post_attention_layernorm=_norm(c, h),
    )


def text_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    crossing = {int(i) for i in c.dims("cross_attention_layers", default=_CROSS, minimum=0)}
    kinds = {cross: text_layer(c, cross=cross) for cross in (False, True)}
    count = int(c.count("num_hidden_layers", default=40))
    return Module(
        "MllamaTextModel",
        # Eight rows for special tokens of images.
        embed_tokens=Embedding(c.dim("vocab_size", default=128256) + 8, h),
        layers=Layers(kinds[i in crossing] for i in range(count)),
        norm=_norm(c, h),
        rotary_emb=Activation("MllamaRotaryEmbedding"),
    )


def causal_lm(config: ModelConfig) -> Module:
    c = config.section("text_config") if config.has("text_config") else config
    return Module("MllamaForCausalLM", model=text_model(c), lm_head=_head(c))


def _head(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=128256)
    return to_words(_hidden(c), vocab)


# ---- together


def parts(c: ModelConfig, *, head: bool) -> dict[str, Module]:
    text, vision = c.section("text_config"), c.section("vision_config")
    return {
        "vision_model": vision_model(vision),
        "language_model": Module(
            "MllamaForCausalLM",
            model=text_model(text),
            lm_head=_head(text) if head else None,
        ),
        "multi_modal_projector": Linear(
            vision.dim("vision_output_dim", default=7680),
            _hidden(text),
            component=Component.PROJECTOR,
        ),
    }


def _whole(name: str, c: ModelConfig, *, head: bool) -> Module:
    found = parts(c, head=head)
    found["multi_modal_projector"].part = "projector"
    return Module(name, dict(found))


def generation(c: ModelConfig) -> Module:
    return _whole("MllamaForConditionalGeneration", c, head=True)


def base(c: ModelConfig) -> Module:
    return _whole("MllamaModel", c, head=False)


register(
    "mllama",
    {"MllamaForConditionalGeneration": generation, "MllamaModel": base},
    aliases={**LLAVA_ALIASES, "model.vision_model.": "vision_model."},
    category="multimodal",
)
register(
    "mllama_text_model",
    {"MllamaForCausalLM": causal_lm, "MllamaTextModel": text_model},
    base_prefix="model",
    category="text decoder",
)
register_part("mllama_vision_model", "MllamaVisionModel", vision_model, "vision")
