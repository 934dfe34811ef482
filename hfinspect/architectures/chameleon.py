"""Chameleon (Meta 2024): Llama with a norm of each head's queries and keys, over words and the
codes of images, whose encoder is a part of the file. Source: transformers/models/chameleon."""

from ..layers.decoders import Decoder, grouped, pre_norm
from ..layers.multimodal import register_worded
from ..layers.vqgan import codec, quantized
from ..trees import LayerNorm, ModelConfig, Module, register_part
from .llama import LLAMA

_VQ = "ChameleonVQVAEEncoder"


def _vq_model(c: ModelConfig) -> Module:
    """The encoder alone: attention in the middle, and where the sides of the image, halved from one
    resolution to the next, are among ``attn_resolutions``."""
    side = int(c.dim("resolution", default=512))
    attends = c.text("attn_type", default="vanilla") == "vanilla"
    resolutions = set(map(int, c.dims("attn_resolutions", default=()))) if attends else set()
    sizes = codec(_VQ, c, lambda i, _: side >> i in resolutions, middle=attends)
    encoder = sizes.encoder().called(_VQ)
    code = c.dim("embed_dim", default=256)
    encoder.inside("mid").called("Module")
    codes = c.dim("num_embeddings", default=8192)
    return quantized("ChameleonVQVAE", sizes.latent, code, codes, encoder)


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """The output is as wide as its input; norms have a weight and a bias for each head."""
    heads = d.heads(c)
    usual = d.width(c) // d.heads(c).query
    if heads.dim != usual:  # a head_dim is not read here
        expected = f"{int(usual)}, hidden_size / num_attention_heads"
        raise c.error("head_dim", int(heads.dim), expected)
    shapes = ((count, heads.dim) for count in (heads.query, heads.kv))
    name = "ChameleonLayerNorm"
    q_norm, k_norm = (LayerNorm(shape, class_name=name) for shape in shapes)
    return grouped(d, c).adding(q_norm=q_norm, k_norm=k_norm)


TEXT = LLAMA.like(
    "Chameleon",
    vocab_size=65536,
    num_key_value_heads=32,
    rms_norm_eps=1e-5,
    attention=_attention,
    layer=lambda d, c, kind: pre_norm(d, c, kind).called(
        f"Chameleon{'Swin' if c.flag('swin_norm', default=False) else ''}DecoderLayer"
    ),
    further=lambda _, c: {"vqmodel": _vq_model(c.section("vq_config"))},
)
register_part("chameleon_vqgan", "ChameleonVQVAE", _vq_model, "vision")
register_worded("chameleon", "Chameleon", TEXT.model, tied=False, text="")
