"""Byte Latent Transformer (Pagnoni et al. 2024). Source: transformers/models/blt/modeling_blt.py.

Bytes are read by a small encoder, grouped into patches where a small byte model (the patcher) is
uncertain, modelled by a large transformer over patches and written by a small decoder. Groups of
bytes are also looked up by their hash.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import Heads, gated_mlp, grouped_attention, rms_norms
from ..layers.composing import tied_to
from ..layers.heads import to_words
from ..trees.catalog import register_pair, register_part
from ..trees.keeps import Unknown
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, ModuleList

_norm = rms_norms("BltRMSNorm", 1e-5)


def _inner(c: ModelConfig, h: Dim, default: int | None) -> Dim:
    """``intermediate_size``; null, and absent in the encoder, mean int(8·H / 3)."""
    if c.raw("intermediate_size") or (default and "intermediate_size" not in c.values):
        return c.dim("intermediate_size", default=default)
    return named(int(8 * int(h) / 3), "intermediate_size", "8/3 of hidden_size, rounded down")


def transformer(c: ModelConfig, h: Dim, heads: int, inner: int | None) -> Module:
    query = c.dim("num_attention_heads", default=heads)
    sizes = Heads(query, c.dim("num_key_value_heads", default=query), h // query)
    act = c.text("hidden_act", default="silu")
    attention = grouped_attention("BltSelfAttention", h, sizes)
    attention.keeps = (Unknown("how many patches the bytes of a text make is not known before"),)
    return Module(
        "BltTransformerLayer",
        self_attn=attention,
        mlp=gated_mlp("BltMLP", h, _inner(c, h, inner), act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
    )


def crossing(c: ModelConfig, h: Dim, layers: Dim, *, everywhere: bool) -> ModuleList:
    """Between bytes and patches: after every layer or once."""
    query = c.dim("num_attention_heads", default=16)
    sizes = Heads(query, c.dim("num_key_value_heads", default=query), h // query)
    norms = {"q_norm": _norm(c, h), "k_norm": _norm(c, h)}
    block = grouped_attention("BltCrossAttention", h, sizes, norms=lambda: dict(norms))
    count = int(layers) if c.flag("cross_attn_all_layers", default=everywhere) else 1
    return ModuleList([block] * count)


def _projection(inputs: Dim, outputs: Dim) -> Module:
    return Linear(inputs, outputs, bias=False, component=Component.PROJECTOR)


def local(
    c: ModelConfig, name: str, layers: int, inner: int | None, patches: Dim | None = None
) -> Module:
    """The encoder, or the decoder of ``patches`` of that width: layers over bytes, so many by
    default, and attention between bytes and patches."""
    h, count = c.dim("hidden_size", default=1024), c.count("num_hidden_layers", default=layers)
    wide = h * c.dim("cross_attn_k", default=2)
    encodes = patches is None
    words = Embedding(c.dim("vocab_size", default=260), h) if encodes else None
    return Module(
        name,
        layers=Layers.of(count, transformer(c, h, 16, inner)),
        rotary_emb=Activation("BltRotaryEmbedding"),
        patch_embedding_projection=_projection(h if patches is None else patches, wide),
        embed_tokens=words,
        norm=None if encodes else _norm(c, h),
        cross_attn_layers=crossing(c, h, count, everywhere=not encodes),
    )


def local_encoder(c: ModelConfig) -> Module:
    return local(c, "BltLocalEncoder", 1, None)


def local_decoder(c: ModelConfig) -> Module:
    return local(c, "BltLocalDecoder", 9, 2816, c.dim("hidden_size_global", default=2048))


def global_transformer(c: ModelConfig, incoming: Dim | None) -> Module:
    """``incoming`` is the width of the encoder's patches; None where nothing projects them."""
    h = c.dim("hidden_size", default=2048)
    return Module(
        "BltGlobalTransformer",
        layers=Layers.of(c.count("num_hidden_layers", default=25), transformer(c, h, 16, 5632)),
        rotary_emb=Activation("BltRotaryEmbedding"),
        token_embedding_projection=_projection(incoming, h) if incoming else Activation("Identity"),
    )


def only_global(c: ModelConfig) -> Module:
    """A composite writes the width of its encoder's patches into the section; alone, there is
    no projection."""
    return global_transformer(c, c.optional_dim("encoder_cross_output_size"))


def patcher(c: ModelConfig) -> Module:
    h, vocab = c.dim("hidden_size", default=768), c.dim("vocab_size", default=260)
    return Module(
        "BltPatcher",
        layers=Layers.of(c.count("num_hidden_layers", default=14), transformer(c, h, 12, 2048)),
        embed_tokens=Embedding(vocab, h),
        norm=_norm(c, h),
        lm_head=to_words(h, vocab),
    )


def model(c: ModelConfig) -> Module:
    encoder = c.section("encoder_config")
    width = encoder.dim("hidden_size", default=1024)
    # An empty list means the default too.
    sizes = c.raw("encoder_hash_byte_group_size") or [3, 4, 5, 6, 7, 8]
    groups = c.dims("encoder_hash_byte_group_size", default=sizes) or sizes
    tables = c.dim("encoder_hash_byte_group_nb_functions", default=1) * len(groups)
    rows = c.dim("encoder_hash_byte_group_vocab", default=500002) * tables
    incoming, whole = width * c.dim("cross_attn_k", default=2), c.section("global_config")
    projected = None if incoming == whole.dim("hidden_size", default=2048) else incoming
    patches = c.flag("patch_in_forward", default=True)
    return Module(
        "BltModel",
        local_encoder=local_encoder(encoder),
        global_transformer=global_transformer(whole, projected),
        local_decoder=local_decoder(c.section("decoder_config")),
        encoder_hash_tok_embedding=Embedding(rows, width),
        patcher=patcher(c.section("patcher_config")) if patches else None,
    )


def causal(c: ModelConfig) -> Module:
    width = c.section("decoder_config").dim("hidden_size", default=1024)
    base = model(c)
    if c.tied(default=False):
        # Here the table is left out and the head is kept.
        encoder = base.inside("local_encoder")
        encoder.children["embed_tokens"] = tied_to(encoder.inside("embed_tokens"), "lm_head")
    head = to_words(width, c.dim("vocab_size", default=260))
    return Module("BltForCausalLM", model=base, lm_head=head)


register_pair("blt", "Blt", causal, model, "text decoder", ending="ForCausalLM")
register_part("blt_patcher", "BltPatcher", patcher, "text decoder")
register_part("blt_local_encoder", "BltLocalEncoder", local_encoder, "text decoder")
register_part("blt_local_decoder", "BltLocalDecoder", local_decoder, "text decoder")
register_part("blt_global_transformer", "BltGlobalTransformer", only_global, "text decoder")
