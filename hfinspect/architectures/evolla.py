"""Evolla (Zhou et al. 2025). Source of shapes: transformers/models/evolla/modeling_evolla.py.

SaProt's encoder of proteins, a resampler that makes a few vectors of them, and Llama, some layers
of which also look at these vectors.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.decoders import Decoder, pre_norm
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import (
    Buffer,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)
from .granite_speech import projecting
from .llama import LLAMA

_S = "EvollaSaProt"


def _protein(c: ModelConfig) -> ModelConfig:
    return c.section("protein_encoder_config")


def _wide(c: ModelConfig) -> Dim:
    return _protein(c).dim("hidden_size", default=1280)


# ---- proteins


def _saprot_attention(h: Dim, eps: float) -> Module:
    own = Module(
        f"{_S}SelfAttention",
        query=Linear(h, h, kind="query"),
        key=Linear(h, h, kind="key"),
        value=Linear(h, h, kind="value"),
    )
    return Module(
        f"{_S}Attention",
        {
            "self": own,
            "output": Module(f"{_S}SelfOutput", dense=Linear(h, h, kind="output")),
            "LayerNorm": LayerNorm(h, eps=eps),
        },
        component=Component.ATTENTION,
    )


def saprot(c: ModelConfig) -> Module:
    """ESM's layers over letters of amino acids and of structure."""
    h, inner = c.dim("hidden_size", default=1280), c.dim("intermediate_size", default=5120)
    eps, heads = c.number("layer_norm_eps", default=1e-5), c.dim("num_attention_heads", default=20)
    head = c.divided(h, heads, "head", "num_attention_heads")
    crossed = c.flag("add_cross_attention", default=False)
    if crossed and not c.flag("is_decoder", default=False):
        raise c.error("add_cross_attention", True, "false where is_decoder is")
    absolute = c.text("position_embedding_type", default="rotary") == "absolute"
    positions = Embedding(c.dim("max_position_embeddings", default=1026), h, kind="position")
    before = c.flag("emb_layer_norm_before", default=False)
    layer = Module(
        f"{_S}Layer",
        attention=_saprot_attention(h, eps),
        crossattention=_saprot_attention(h, eps) if crossed else None,
        intermediate=Module(
            f"{_S}Intermediate", dense=Linear(h, inner, kind="up"), component=Component.MLP
        ),
        output=Module(f"{_S}Output", dense=Linear(inner, h, kind="down"), component=Component.MLP),
        LayerNorm=LayerNorm(h, eps=eps),
    )
    return Module(
        f"{_S}ProteinEncoder",
        embeddings=Module(
            f"{_S}Embeddings",
            word_embeddings=Embedding(c.dim("vocab_size", default=446), h),
            layer_norm=LayerNorm(h, eps=eps) if before else None,
            position_embeddings=positions if absolute else None,
        ),
        rotary_embeddings=Module(
            f"{_S}RotaryEmbedding", inv_freq=Buffer((head + 1) // 2, dtype="F32")
        ),
        encoder=Module(
            f"{_S}Encoder",
            layer=Layers.of(c.count("num_hidden_layers", default=33), layer),
            emb_layer_norm_after=LayerNorm(h, eps=eps),
        ),
        part="protein",
    )


def _feed_forward(width: Dim, mult: Dim) -> Module:
    inner = width * mult
    return Module(
        "EvollaFeedForward",
        norm=LayerNorm(width),
        fc1=Linear(width, inner, bias=False, kind="up"),
        activation=activation("gelu"),
        fc2=Linear(inner, width, bias=False, kind="down"),
        component=Component.MLP,
    )


def resampler(c: ModelConfig) -> Module:
    width, h = _wide(c), TEXT.width(c)
    inner = c.dim("resampler_dim_head", default=64) * c.dim("resampler_heads", default=8)
    attention = Module(
        "EvollaSequenceCompressorAttention",
        norm_media=LayerNorm(width),
        norm_latents=LayerNorm(width),
        to_q=Linear(width, inner, bias=False, kind="query"),
        to_kv=Linear(width, inner * 2, bias=False, kind="key_value"),
        to_out=Linear(inner, width, bias=False, kind="output"),
        component=Component.ATTENTION,
    )
    pair = ModuleList([attention, _feed_forward(width, c.dim("resampler_ff_mult", default=4))])
    return Module(
        "EvollaSequenceCompressorResampler",
        latents=Weight(
            c.dim("resampler_num_latents", default=64), width, component=Component.PROJECTOR
        ),
        layers=Layers.of(c.count("resampler_depth", default=6), projecting(pair)),
        norm=LayerNorm(h),
        protein_projector=Linear(width, h, component=Component.PROJECTOR),
        part="projector",
    )


# ---- text


def _adapter(c: ModelConfig, h: Dim) -> Module:
    heads = c.dim("num_attention_heads", default=32)
    inner = heads * (h // heads)
    return Module(
        "EvollaSequenceAlignerCrossAttention",
        query=Linear(h, inner, kind="query"),
        key_protein=Linear(h, inner, kind="key"),
        value_protein=Linear(h, inner, kind="value"),
        attention_norm=RMSNorm(h, class_name="EvollaRMSNorm"),
        out_proj=Linear(h, h, bias=c.flag("aligner_enable_bias", default=True), kind="output"),
        ff=_feed_forward(h, c.dim("aligner_ffn_mult", default=4)),
        gate_attention=Weight(1, kind="gate"),
        gate_ffw=Weight(1, kind="gate", component=Component.OTHER),
        component=Component.ATTENTION,
        keeps=(),
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[bool]:
    """Which layers look at the proteins: as many as ``aligner_num_add_layers``, evenly."""
    added = int(c.count("aligner_num_add_layers", default=8, minimum=1))
    step = max(layers // added, 1)
    return [(i + 1) % step == 0 for i in range(layers)]


def _layer(d: Decoder, c: ModelConfig, looks: bool) -> Module:
    block = pre_norm(d, c, "dense")
    if looks:
        block.children["adapter"] = _adapter(c, d.width(c))
    return block


TEXT = LLAMA.like(
    "Evolla", vocab_size=128256, intermediate_size=14336, num_key_value_heads=8, rms_norm_eps=1e-5,
    kinds=_kinds, layer=_layer,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    text = TEXT.model(c)
    parts = dict(text.children)
    for part in parts.values():
        if isinstance(part, Layers):
            part.static = False  # the forward makes a cache that grows, whatever it is given
    text.children = {
        "embed_tokens": parts.pop("embed_tokens"),
        "protein_encoder": Module(
            "EvollaProteinEncoder",
            model=saprot(_protein(c)),
            sequence_compressor_resampler=resampler(c),
        ),
        **parts,
    }
    return text


def whole(c: ModelConfig) -> Module:
    """The head is never tied, whatever the config says."""
    head = to_words(TEXT.width(c), c.dim("vocab_size", default=128256))
    return Module("EvollaForProteinText2Text", model=model(c), lm_head=head)


register(
    ("evolla", "EvollaModel"),
    {
        "EvollaForProteinText2Text": whole,
        "EvollaModel": model,
    },
    base_prefix="model",
    category="multimodal",
)
