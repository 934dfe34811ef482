"""Pix2Struct (Lee et al. 2022). Source of shapes: transformers/models/pix2struct.

A ViT over patches of any number with a table of rows and one of columns, and T5's decoder with
gated MLPs.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.heads import to_words
from ..trees.catalog import register_part
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm

_NAME = "Pix2Struct"


def _norm(size: Dim) -> Module:
    return RMSNorm(size, class_name=f"{_NAME}LayerNorm")


def _gated(c: ModelConfig, class_name: str, h: Dim, inner: Dim) -> Module:
    return Module(
        class_name,
        wi_0=Linear(h, inner, bias=False, kind="gate"),
        wi_1=Linear(h, inner, bias=False, kind="up"),
        wo=Linear(inner, h, bias=False, kind="down"),
        act=activation(c.text("dense_act_fn", default="gelu_new")),
        component=Component.MLP,
    )


def _attention(class_name: str, h: Dim, inner: Dim) -> Module:
    return Module(
        class_name,
        query=Linear(h, inner, bias=False, kind="query"),
        key=Linear(h, inner, bias=False, kind="key"),
        value=Linear(h, inner, bias=False, kind="value"),
        output=Linear(inner, h, bias=False, kind="output"),
        component=Component.ATTENTION,
    )


def vision_model(c: ModelConfig) -> Module:
    heads, head = c.dim("num_attention_heads", default=12), c.dim("d_kv", default=64)
    return tower(
        c,
        c.dim("hidden_size", default=768),
        heads * head,
        c.dim("d_ff", default=2048),
        layers=c.count("num_hidden_layers", default=12),
        positions=c.dim("seq_len", default=4096),
    )


def tower(c: ModelConfig, h: Dim, inner: Dim, wide: Dim, *, layers: Dim, positions: Dim) -> Module:
    """``inner`` is the width of all heads, ``wide`` that inside the MLP."""
    layer = Module(
        f"{_NAME}VisionLayer",
        attention=_attention(f"{_NAME}VisionAttention", h, inner),
        mlp=_gated(c, f"{_NAME}VisionMlp", h, wide),
        pre_mlp_layer_norm=_norm(h),
        pre_attention_layer_norm=_norm(h),
    )
    pixels = c.dim("patch_embed_hidden_size", default=768)
    return Module(
        f"{_NAME}VisionModel",
        embeddings=Module(
            f"{_NAME}VisionEmbeddings",
            patch_projection=Linear(pixels, h, kind="patch"),
            row_embedder=Embedding(positions, h, kind="position"),
            column_embedder=Embedding(positions, h, kind="position"),
            component=Component.EMBEDDING,
        ),
        encoder=Module(f"{_NAME}VisionEncoder", layer=Layers.of(layers, layer)),
        layernorm=_norm(h),
        part="vision",
    )


_hidden = size("hidden_size", "d_model", default=768)


def text_layer(c: ModelConfig, *, first: bool) -> Module:
    """The first layer holds the biases of relative positions, which all use."""
    h, heads = _hidden(c), c.dim("num_heads", "num_attention_heads", default=12)
    own = _attention(f"{_NAME}TextAttention", h, h)
    if first:
        buckets = c.dim("relative_attention_num_buckets", default=32)
        own.children["relative_attention_bias"] = Embedding(
            buckets, heads, component=Component.ATTENTION, kind="relative_position"
        )
    cross = _attention(f"{_NAME}TextAttention", h, h)
    dense = _gated(c, f"{_NAME}TextDenseGatedActDense", h, c.dim("d_ff", default=2048))
    return Module(
        f"{_NAME}TextBlock",
        self_attention=Module(f"{_NAME}TextLayerSelfAttention", attention=own, layer_norm=_norm(h)),
        encoder_decoder_attention=Module(
            f"{_NAME}TextLayerCrossAttention", attention=cross, layer_norm=_norm(h)
        ),
        mlp=Module(f"{_NAME}TextLayerFF", DenseReluDense=dense, layer_norm=_norm(h)),
    )


def text_model(c: ModelConfig, *, tied_to: str | None) -> Module:
    h, vocab = _hidden(c), c.dim("vocab_size", default=50244)
    count = int(c.count("num_layers", "num_hidden_layers", default=12))
    rest = text_layer(c, first=False)
    layers = [rest if i else text_layer(c, first=True) for i in range(count)]
    head = to_words(h, vocab, tied_to)
    return Module(
        f"{_NAME}TextModel",
        embed_tokens=Embedding(vocab, h),
        layer=Layers(layers),
        final_layer_norm=_norm(h),
        lm_head=head,
    )


def generation(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}ForConditionalGeneration",
        encoder=vision_model(c.section("vision_config")),
        decoder=text_model(
            c.section("text_config"),
            tied_to="decoder.embed_tokens.weight" if c.tied(default=False) else None,
        ),
    )


def only_text(c: ModelConfig) -> Module:
    return text_model(c, tied_to="embed_tokens.weight" if c.tied(default=False) else None)


register_part("pix2struct", f"{_NAME}ForConditionalGeneration", generation, "multimodal")
register_part("pix2struct_vision_model", f"{_NAME}VisionModel", vision_model, "vision")
register_part("pix2struct_text_model", f"{_NAME}TextModel", only_text, "text decoder")
