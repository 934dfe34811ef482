"""Byte Latent Transformer (Pagnoni et al. 2024; transformers/models/blt). Bytes are grouped into
patches where a small byte model (the patcher) is uncertain, and modelled by patches."""

from functools import partial

from ..layers.composing import tied_to
from ..layers.decoders import Decoder, evenly, gated_of, pre_norm
from ..layers.heads import to_words
from ..trees import Component, Dim, ModelConfig, named, register_pair, register_part
from ..trees.cache_layout import Unknown
from ..trees.config_defaults import config_defaults
from ..trees.modules import Activation, Embedding, Linear, Module, ModuleList


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = evenly(d, c).called("BltSelfAttention")
    block.cache = (Unknown("how many patches the bytes of a text make is not known before"),)
    return block


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    """``intermediate_size`` wide; null, and absent in the encoder, mean int(8·H / 3)."""
    default = d.intermediate_size
    wide = int(8 * int(d.width(c)) / 3)
    inner = named(wide, "intermediate_size", "8/3 of hidden_size, rounded down")
    if c.raw("intermediate_size") or (default and "intermediate_size" not in c.values):
        inner = d.inner(c)
    return gated_of(d, c, inner)


_ENCODER = Decoder(
    "Blt",
    **config_defaults("blt"),
    attention_bias=None,
    attention=_attention,
    mlp=_mlp,
    layer=lambda d, c, kind: pre_norm(d, c, kind).called("BltTransformerLayer"),
)
_DECODER = _ENCODER.like("Blt", num_hidden_layers=9, intermediate_size=2816)
_GLOBAL = _ENCODER.like("Blt", hidden_size=2048, num_hidden_layers=25, intermediate_size=5632)
_PATCHER = _ENCODER.like(
    "Blt", hidden_size=768, num_hidden_layers=14, num_attention_heads=12, intermediate_size=2048
)
_projection = partial(Linear, bias=False, component=Component.PROJECTOR)


def _local(d: Decoder, name: str, c: ModelConfig) -> Module:
    """The encoder of bytes, or the decoder of patches; attention between both after some layers."""
    h = d.width(c)
    encodes = d is _ENCODER
    layers = d.layers(c)
    wide = h * c.dim("cross_attn_k", default=2)
    context = h if encodes else c.dim("hidden_size_global", default=2048)
    across = evenly(d, c).called("BltCrossAttention").adding(**d.norms(c, "q_norm", "k_norm"))
    everywhere = c.flag("cross_attn_all_layers", default=not encodes)
    return Module(
        name,
        layers=layers,
        rotary_emb=Activation("BltRotaryEmbedding"),
        patch_embedding_projection=_projection(context, wide),
        embed_tokens=Embedding(d.size(c, "vocab_size"), h) if encodes else None,
        norm=None if encodes else d.norm(d, c, h),
        cross_attn_layers=ModuleList([across] * (len(layers.children) if everywhere else 1)),
    )


_encoder = partial(_local, _ENCODER, "BltLocalEncoder")
_decoder = partial(_local, _DECODER, "BltLocalDecoder")


def _global(c: ModelConfig, incoming: Dim | None) -> Module:
    """``incoming`` is the width of the encoder's patches; None where nothing projects them."""
    to = _projection(incoming, _GLOBAL.width(c)) if incoming else Activation("Identity")
    parts = {"layers": _GLOBAL.layers(c), "rotary_emb": Activation("BltRotaryEmbedding")}
    return Module("BltGlobalTransformer", {**parts, "token_embedding_projection": to})


def _patcher(c: ModelConfig) -> Module:
    parts = _PATCHER.model(c).children
    inner_parts = {name: parts[name] for name in ("layers", "embed_tokens", "norm")}
    return Module("BltPatcher", {**inner_parts, "lm_head": _PATCHER.words(c)})


def _model(c: ModelConfig) -> Module:
    encoder = c.section("encoder_config")
    latent = c.section("global_config")
    width = _ENCODER.width(encoder)
    # An empty list means the default too.
    sizes = c.raw("encoder_hash_byte_group_size") or [3, 4, 5, 6, 7, 8]
    groups = c.dims("encoder_hash_byte_group_size", default=sizes) or sizes
    tables = c.dim("encoder_hash_byte_group_nb_functions", default=1) * len(groups)
    rows = c.dim("encoder_hash_byte_group_vocab", default=500002) * tables
    incoming = width * c.dim("cross_attn_k", default=2)
    patches = c.flag("patch_in_forward", default=True)
    return Module(
        "BltModel",
        local_encoder=_encoder(encoder),
        global_transformer=_global(latent, None if incoming == _GLOBAL.width(latent) else incoming),
        local_decoder=_decoder(c.section("decoder_config")),
        encoder_hash_tok_embedding=Embedding(rows, width),
        patcher=_patcher(c.section("patcher_config")) if patches else None,
    )


def _causal(c: ModelConfig) -> Module:
    base = _model(c)
    width = _DECODER.width(c.section("decoder_config"))
    if c.tied(default=False):
        # Here the table is left out and the head is kept.
        encoder = base.inside("local_encoder")
        encoder.adding(embed_tokens=tied_to(encoder.inside("embed_tokens"), "lm_head"))
    head = to_words(width, c.dim("vocab_size", default=260))
    return Module("BltForCausalLM", model=base, lm_head=head)


register_pair("blt", "Blt", _causal, _model, "text decoder", ending="ForCausalLM")
register_part("blt_patcher", "BltPatcher", _patcher, "text decoder")
register_part("blt_local_encoder", "BltLocalEncoder", _encoder, "text decoder")
register_part("blt_local_decoder", "BltLocalDecoder", _decoder, "text decoder")
register_part(
    "blt_global_transformer",
    "BltGlobalTransformer",
    # A composite writes the width of its encoder's patches there; alone, there is no projection.
    lambda c: _global(c, c.optional_dim("encoder_cross_output_size")),
    "text decoder",
)
