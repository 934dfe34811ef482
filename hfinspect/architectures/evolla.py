"""Evolla (Zhou et al. 2025; transformers/models/evolla): SaProt's encoder of proteins, a resampler
that makes a few vectors of them, and Llama, some layers of which look at these as well."""

from ..layers import encoders
from ..layers.blocks import two_layer_mlp
from ..layers.composing import without_static_cache
from ..layers.decoders import Decoder, adding, of_kind, pre_norm
from ..layers.heads import causal_lm
from ..layers.multimodal import projecting, projector
from ..trees import Component, Dim, ModelConfig, config_defaults, register
from ..trees import modules as nn
from ..trees.modules import LayerNorm, Layers, Linear, Module, ModuleList, Weight
from . import esm
from .llama import LLAMA

_S = "EvollaSaProt"


def _saprot(c: ModelConfig) -> Module:
    """ESM's layers over letters of amino acids and of structure."""
    h = encoders.hidden(c)
    absolute = c.text("position_embedding_type", default="rotary") == "absolute"
    positions = (
        nn.Embedding(c.dim("max_position_embeddings"), h, kind="position") if absolute else None
    )
    norm = encoders.norm(c) if c.flag("emb_layer_norm_before", default=False) else None
    words = {"word_embeddings": nn.Embedding(encoders.vocab(c), h), "layer_norm": norm}
    layer = esm.layer(c, _S, encoders.attention_after_norm(c, _S, "LayerNorm"))
    half = (h // c.dim("num_attention_heads") + 1) // 2
    return Module(
        f"{_S}ProteinEncoder",
        embeddings=Module(f"{_S}Embeddings", words, position_embeddings=positions),
        rotary_embeddings=Module(f"{_S}RotaryEmbedding", inv_freq=nn.Buffer(half, dtype="F32")),
        encoder=encoders.encoder(c, _S, layer).adding(emb_layer_norm_after=encoders.norm(c)),
        part="protein",
    )


def _feed_forward(width: Dim, mult: Dim) -> Module:
    name = "EvollaFeedForward"
    inner = width * mult
    act = "activation"
    block = two_layer_mlp(name, width, inner, act="gelu", bias=False, act_name=act)
    block.children = {"norm": LayerNorm(width), **block.children}
    return block


def _proteins(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    """SaProt and the resampler of what it says."""
    protein = c.section("protein_encoder_config").with_defaults(**config_defaults("evolla"))
    width = encoders.hidden(protein)
    h = d.width(c)
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
    layer = [attention, _feed_forward(width, c.dim("resampler_ff_mult", default=4))]
    resampler = projector(
        "EvollaSequenceCompressorResampler",
        latents=Weight(c.dim("resampler_num_latents", default=64), width),
        layers=Layers.of(c.count("resampler_depth", default=6), projecting(ModuleList(layer))),
        norm=LayerNorm(h),
        protein_projector=Linear(width, h),
    )
    parts = {"model": _saprot(protein), "sequence_compressor_resampler": resampler}
    return {"protein_encoder": Module("EvollaProteinEncoder", dict(parts))}


def _adapter(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    h = d.width(c)
    heads = c.dim("num_attention_heads", default=32)
    inner = heads * (h // heads)
    return Module(
        "EvollaSequenceAlignerCrossAttention",
        query=Linear(h, inner, kind="query"),
        key_protein=Linear(h, inner, kind="key"),
        value_protein=Linear(h, inner, kind="value"),
        attention_norm=nn.RMSNorm(h, class_name="EvollaRMSNorm"),
        out_proj=Linear(h, h, bias=c.flag("aligner_enable_bias", default=True), kind="output"),
        ff=_feed_forward(h, c.dim("aligner_ffn_mult", default=4)),
        gate_attention=Weight(1, kind="gate"),
        gate_ffw=Weight(1, kind="gate", component=Component.OTHER),
        component=Component.ATTENTION,
        cache=(),
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    """Which layers look at the proteins: as many as ``aligner_num_add_layers``, evenly."""
    added = int(c.count("aligner_num_add_layers", default=8, minimum=1))
    step = max(layers // added, 1)
    return ["plain" if (i + 1) % step else "looking" for i in range(layers)]


TEXT = LLAMA.like(
    "Evolla",
    **config_defaults("evolla.decoder"),
    kinds=_kinds,
    layer=adding(pre_norm, adapter=of_kind("looking", _adapter)),
    further=_proteins,
)
# The head is never tied, whatever the config says; the forward makes a cache that grows, whatever
# it is given.
_WHOLE = causal_lm("EvollaForProteinText2Text", TEXT.model, tied_default=None)
_CLASSES = without_static_cache({"EvollaForProteinText2Text": _WHOLE, "EvollaModel": TEXT.model})
register(("evolla", "EvollaModel"), _CLASSES, base_prefix="model", category="multimodal")
