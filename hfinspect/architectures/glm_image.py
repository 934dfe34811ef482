"""GLM-Image's autoregressive half (Zhipu 2026). Source of shapes: transformers/models/glm_image.

A ViT whose patches become codes of a table, and GLM-4's decoder, whose head knows only the codes.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder, fused_mlp
from ..layers.heads import to_words
from ..layers.vision import pair, patch_conv, patch_count, plain_mlp, position_table
from ..trees.catalog import register, register_part
from ..trees.modules import Conv, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm
from .glm4v import glm_norms
from .llama import LLAMA

_NAME = "GlmImage"


def _block(c: ModelConfig, h: Dim) -> Module:
    eps, bias = c.number("layer_norm_eps", default=1e-6), c.flag("attention_bias", default=True)
    inner, act = c.dim("intermediate_size", default=6144), c.text("hidden_act", default="gelu")
    return Module(
        f"{_NAME}VisionBlock",
        norm1=LayerNorm(h, eps=eps),
        norm2=LayerNorm(h, eps=eps),
        attn=Module(
            f"{_NAME}VisionAttention",
            qkv=Linear(h, 3 * h, bias=bias, kind="qkv"),
            proj=Linear(h, h, bias=bias, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=plain_mlp(f"{_NAME}VisionMLP", h, inner, act=act),
    )


def vision_model(c: ModelConfig) -> Module:
    h, patch = c.dim("hidden_size", default=1536), pair(c, "patch_size", default=16)
    positions = patch_count(pair(c, "image_size", default=2048), patch)
    return Module(
        f"{_NAME}VisionModel",
        embeddings=Module(
            f"{_NAME}VisionEmbeddings", position_embedding=position_table(positions, h)
        ),
        patch_embed=Module(
            f"{_NAME}VisionPatchEmbed",
            proj=patch_conv(c.dim("in_channels", default=3), h, patch),
        ),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=40), _block(c, h)),
        part="vision",
    )


def vq_model(c: ModelConfig) -> Module:
    """A table of codes between two convolutions of single places."""
    latent, code = c.dim("latent_channels", default=1536), c.dim("embed_dim", default=2048)
    table = Embedding(c.dim("num_embeddings", default=16384), code, kind="codebook")
    return Module(
        f"{_NAME}VQVAE",
        quantize=Module(f"{_NAME}VQVAEVectorQuantizer", embedding=table),
        quant_conv=Conv(latent, code, 1),
        post_quant_conv=Conv(code, latent, 1),
        part="vq",
    )


# ---- text


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name=f"{_NAME}RMSNorm")


_TEXT = LLAMA.like(
    f"{_NAME}Text",
    vocab_size=168064,
    intermediate_size=13696,
    num_hidden_layers=40,
    num_key_value_heads=2,
    attention_bias=True,
    out_bias=False,
    norm=_norm,
    mlp=fused_mlp,
    layer=glm_norms,
)


# ---- together


def base(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}Model",
        visual=vision_model(c.section("vision_config")),
        language_model=_TEXT.model(c.section("text_config")),
        vqmodel=vq_model(c.section("vq_config")),
    )


def generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    codes = text.dim("vision_vocab_size", default=16512)
    head = to_words(text.dim("hidden_size", default=4096), codes)
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register(
    "glm_image",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}Model",
    base_prefix="model",
    category="multimodal",
)
register_part("glm_image_text", f"{_NAME}TextModel", _TEXT.model, "text decoder")
register_part("glm_image_vision", f"{_NAME}VisionModel", vision_model, "vision")
register_part("glm_image_vqmodel", f"{_NAME}VQVAE", vq_model, "vision")
