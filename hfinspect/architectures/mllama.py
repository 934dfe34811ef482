"""Llama 3.2 Vision (Meta 2024; transformers/models/mllama): a ViT over tiles with a second stack of
gated layers, and Llama, some of whose layers look at the image. Heads are never tied."""

from ..layers.blocks import Heads, grouped_attention, size
from ..layers.decoders import Decoder, evenly, pre_norm
from ..layers.multimodal import linear_projector, register_headed, text_section
from ..layers.vision import patch_conv, plain_mlp
from ..trees import Component, Dim, ModelConfig, config_defaults, register, register_part
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Module, Weight

_width = size("hidden_size", default=1280)


def _vision_layers(c: ModelConfig, count: Dim, *, gated: bool = False) -> Module:
    h = _width(c)
    inner = c.dim("intermediate_size", default=5120)
    norm = LayerNorm(h, eps=c.number("norm_eps", default=1e-5))
    heads = c.dim("attention_heads", "num_attention_heads", default=16)
    layer = Module(
        "MllamaVisionEncoderLayer",
        gate_attn=Weight(1, kind="gate", component=Component.ATTENTION) if gated else None,
        gate_ffn=Weight(1, kind="gate", component=Component.MLP) if gated else None,
        self_attn=grouped_attention("MllamaVisionAttention", h, Heads(heads, heads, h // heads)),
        mlp=plain_mlp("MllamaVisionMLP", h, inner, act=c.text("hidden_act", default="gelu")),
        input_layernorm=norm,
        post_attention_layernorm=norm,
    )
    return Module("MllamaVisionEncoder", layers=Layers.of(count, layer))


def _tile_positions(c: ModelConfig, per_tile: Dim | int) -> Module:
    """A table with one row per aspect ratio that the tiles of an image can form, eight unless
    listed, and one for none: a vector for each of its tiles."""
    listed = c.raw("supported_aspect_ratios")
    rows = Dim(8 + 1)
    if isinstance(listed, list):
        definition = "supported aspect ratios of tiles"
        rows = Dim(len(listed), "aspect_ratios", definition=definition) + 1
    elif listed is not None:
        raise c.error("supported_aspect_ratios", listed, "a list of pairs")
    tiles = c.dim("max_num_tiles", default=4)
    return Embedding(rows, tiles * per_tile * _width(c), kind="position")


def _vision_model(c: ModelConfig) -> Module:
    h = _width(c)
    patch = c.dim("patch_size", default=14)
    side = c.dim("image_size", default=448) // patch
    table = Component.EMBEDDING
    places = side * side + 1
    gate = Weight(1, kind="gate")
    ratio = Module("MllamaPrecomputedAspectRatioEmbedding", gate=gate, component=table)
    ratio.adding(embedding=_tile_positions(c, 1))
    layers = c.count("num_hidden_layers", default=32)
    more = c.count("num_global_layers", default=8)
    return Module(
        "MllamaVisionModel",
        class_embedding=Weight(h, component=table, kind="class_token"),
        patch_embedding=patch_conv(c.dim("num_channels", default=3), h, (patch, patch), bias=False),
        gated_positional_embedding=Module(
            "MllamaPrecomputedPositionEmbedding",
            gate=gate,
            embedding=Weight(places, h, kind="position"),
            tile_embedding=_tile_positions(c, places),
            component=table,
        ),
        pre_tile_positional_embedding=ratio,
        post_tile_positional_embedding=ratio,
        layernorm_pre=LayerNorm(h),
        layernorm_post=LayerNorm(h),
        transformer=_vision_layers(c, layers),
        global_transformer=_vision_layers(c, more, gated=True),
        part="vision",
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Llama's, or one that looks at the image, with two gates and norms of queries and keys."""
    block = pre_norm(d, c, kind).called(f"Mllama{kind}AttentionDecoderLayer")
    if kind == "Self":
        block.inside("self_attn").called("MllamaTextSelfAttention")
        return block
    return block.without("self_attn").adding(
        cross_attn_attn_gate=Weight(1, component=Component.ATTENTION, kind="gate"),
        cross_attn_mlp_gate=Weight(1, component=Component.MLP, kind="gate"),
        cross_attn=evenly(d.like(d.name, qk_norm=True), c).called("MllamaTextCrossAttention"),
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    crossing = set(c.dims("cross_attention_layers", default=range(3, 39, 5), minimum=0))
    return ["Cross" if i in crossing else "Self" for i in range(layers)]


TEXT = Decoder(
    "MllamaText",
    **config_defaults("mllama"),
    attention_bias=None,
    attention=evenly,
    layer=_layer,
    kinds=_kinds,
    rotary=False,
    further=lambda d, c: {
        # Eight more words, for special tokens of images.
        "embed_tokens": Embedding(d.size(c, "vocab_size") + 8, d.width(c)),
        "rotary_emb": Activation("MllamaRotaryEmbedding"),
    },
)


def _causal(c: ModelConfig, *, head: bool = True) -> Module:
    text = text_section(c)
    words = TEXT.words(text) if head else None
    return Module("MllamaForCausalLM", model=TEXT.model(text), lm_head=words)


def _parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    text = c.section("text_config")
    vision = c.section("vision_config")
    width = vision.dim("vision_output_dim", default=7680)
    return {
        "vision_model": _vision_model(vision),
        "language_model": _causal(text, head=head),
        "multi_modal_projector": linear_projector(width, TEXT.width(text)),
    }


_TEXTS = {"MllamaForCausalLM": _causal, "MllamaTextModel": TEXT.model}
register_headed("mllama", "Mllama", _parts, "vision_model")
register("mllama_text_model", _TEXTS, base_prefix="model", category="text decoder")
register_part("mllama_vision_model", "MllamaVisionModel", _vision_model, "vision")
