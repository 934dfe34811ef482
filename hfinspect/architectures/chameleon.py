"""Chameleon (Meta 2024). Source of shapes: transformers/models/chameleon.

Llama with a norm of each head's queries and keys, over words and the codes of images; the encoder
that makes the codes is a part of the file.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder, grouped, pre_norm
from ..layers.heads import causal_lm
from ..layers.vision import bounded
from ..trees.catalog import register_pair, register_part
from ..trees.handed_on import MAX_STAGES
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    GroupNorm,
    LayerNorm,
    Layers,
    Module,
    ModuleList,
)
from . import multi_modality
from .llama import LLAMA

_VQ = "ChameleonVQVAEEncoder"


def resnet(inner: Dim, out: Dim) -> Module:
    return multi_modality.resnet(inner, out, f"{_VQ}ResnetBlock")


def attention(width: Dim) -> Module:
    return multi_modality.attention(width, f"{_VQ}AttnBlock")


def vq_model(c: ModelConfig) -> Module:
    """Rows of residual blocks, each but the last of half the sides; attention in the middle, and
    where the sides are among ``attn_resolutions``."""
    base, latent = c.dim("base_channels", default=128), c.dim("latent_channels", default=256)
    multiples = c.dims("channel_multiplier", default=(1, 1, 2, 2, 4))
    if not 1 <= len(multiples) <= MAX_STAGES:
        raise c.error("channel_multiplier", c.raw("channel_multiplier"), f"1 to {MAX_STAGES}")
    blocks = int(bounded(c, "num_res_blocks", (c.dim("num_res_blocks", default=2),))[0])
    sides = int(c.dim("resolution", default=512))
    attends = c.text("attn_type", default="vanilla") == "vanilla"
    seen = set(map(int, c.dims("attn_resolutions", default=()))) if attends else set()
    before, rows = base, []
    for i, multiple in enumerate(multiples):
        width, last = base * multiple, i == len(multiples) - 1
        row = [resnet(before, width), *[resnet(width, width)] * (blocks - 1)]
        looks = [attention(width)] * blocks if sides in seen else []
        shrink = None if last else Module(f"{_VQ}ConvDownsample", conv=Conv(width, width, 3))
        rows.append(
            Module("Module", block=ModuleList(row), attn=ModuleList(looks), downsample=shrink)
        )
        before, sides = width, sides // 2
    doubled = c.flag("double_latent", default=False)
    code, codes = c.dim("embed_dim", default=256), c.dim("num_embeddings", default=8192)
    middle = Module(
        "Module",
        block_1=resnet(before, before),
        attn_1=attention(before) if attends else Activation("Identity"),
        block_2=resnet(before, before),
    )
    return Module(
        "ChameleonVQVAE",
        encoder=Module(
            _VQ,
            conv_in=Conv(c.dim("in_channels", default=3), base, 3),
            down=Layers(rows),
            mid=middle,
            norm_out=GroupNorm(32, before, eps=1e-6),
            conv_out=Conv(before, latent * 2 if doubled else latent, 3),
        ),
        quantize=Module(
            "ChameleonVQVAEVectorQuantizer", embedding=Embedding(codes, code, kind="codebook")
        ),
        quant_conv=Conv(latent, code, 1),
        post_quant_conv=Conv(code, latent, 1),
        component=Component.CONV,
        part="vq",
    )


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """The output is as wide as its input; norms have a weight and a bias for each head."""
    heads, block = d.heads(c), grouped(d, c)
    usual = d.width(c) // heads.query
    if heads.dim != usual:  # a head_dim is not read here
        raise c.error(
            "head_dim", int(heads.dim), f"{int(usual)}, hidden_size / num_attention_heads"
        )
    for name, count in (("q_norm", heads.query), ("k_norm", heads.kv)):
        block.children[name] = LayerNorm((count, heads.dim), class_name="ChameleonLayerNorm")
    return block


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind)
    if c.flag("swin_norm", default=False):
        block.class_name = "ChameleonSwinDecoderLayer"
    return block


TEXT = LLAMA.like(
    "Chameleon", vocab_size=65536, num_key_value_heads=32, rms_norm_eps=1e-5, attention=_attention,
    layer=_layer,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    base = TEXT.model(c)
    rotary = base.children.pop("rotary_emb")
    base.children |= {"vqmodel": vq_model(c.section("vq_config")), "rotary_emb": rotary}
    return base


register_part("chameleon_vqgan", "ChameleonVQVAE", vq_model, "vision")
register_pair(
    "chameleon",
    "Chameleon",
    causal_lm("ChameleonForConditionalGeneration", model),
    model,
    "multimodal",
)
