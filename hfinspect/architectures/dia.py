"""Dia (Nari Labs 2025). Source of shapes: transformers/models/dia.

Speech from text: an encoder of bytes, and a decoder with attention to it whose nine codebooks share
one table and one head. Gate and up of the MLP are one matrix.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_attention, grouped_heads
from ..layers.heads import to_words
from ..trees.catalog import register_pair, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm

_ENCODER = {
    "hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 16,
    "num_key_value_heads": 16, "head_dim": 128, "intermediate_size": 4096, "vocab_size": 256,
}  # fmt: skip
_DECODER = {
    "hidden_size": 2048, "num_hidden_layers": 18, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 8192, "vocab_size": 1028,
    "cross_num_attention_heads": 16, "cross_head_dim": 128, "cross_num_key_value_heads": 16,
    "cross_hidden_size": 1024, "num_channels": 9,
}  # fmt: skip


def _norm(c: ModelConfig) -> Module:
    eps = c.number("norm_eps", default=1e-5)
    return RMSNorm(c.dim("hidden_size"), eps=eps, class_name="DiaRMSNorm")


def _mlp(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size"), c.dim("intermediate_size")
    return Module(
        "DiaMLP",
        gate_up_proj=Linear(h, 2 * inner, bias=False, kind="gate_up"),
        down_proj=Linear(inner, h, bias=False, kind="down"),
        activation_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


def _attention(c: ModelConfig) -> Module:
    h = c.dim("hidden_size")
    return grouped_attention("DiaSelfAttention", h, grouped_heads(c, h))


def _cross(c: ModelConfig) -> Module:
    """From the decoder's width to the encoder's, which the decoder's config repeats."""
    h, seen, size = c.dim("hidden_size"), c.dim("cross_hidden_size"), c.dim("cross_head_dim")
    heads = c.dim("cross_num_key_value_heads")
    width, kv = c.dim("cross_num_attention_heads") * size, heads * size
    return Module(
        "DiaCrossAttention",
        q_proj=Linear(h, width, bias=False, kind="query"),
        k_proj=Linear(seen, kv, bias=False, kind="key"),
        v_proj=Linear(seen, kv, bias=False, kind="value"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        component=Component.ATTENTION,
        keeps=(KeysValues(kv, kv, heads=heads, cross=True),),
    )


def _stack(c: ModelConfig, layer: Module) -> dict[str, Module]:
    layers = Layers.of(c.count("num_hidden_layers"), layer)
    return {"layers": layers, "norm": _norm(c), "rotary_emb": Activation("DiaRotaryEmbedding")}


def encoder(c: ModelConfig) -> Module:
    c = c.with_defaults(**_ENCODER)
    layer = Module(
        "DiaEncoderLayer",
        pre_sa_norm=_norm(c),
        self_attention=_attention(c),
        post_sa_norm=_norm(c),
        mlp=_mlp(c),
    )
    table = Embedding(c.dim("vocab_size"), c.dim("hidden_size"))
    return Module("DiaEncoder", {"embedding": table, **_stack(c, layer)})


def decoder(c: ModelConfig) -> Module:
    c = c.with_defaults(**_DECODER)
    layer = Module(
        "DiaDecoderLayer",
        self_attention=_attention(c),
        cross_attention=_cross(c),
        pre_sa_norm=_norm(c),
        pre_ca_norm=_norm(c),
        pre_mlp_norm=_norm(c),
        mlp=_mlp(c),
    )
    table = Embedding(_sounds(c), c.dim("hidden_size"))
    embeddings = Module("DiaMultiChannelEmbedding", embed=table)
    return Module("DiaDecoder", {"embeddings": embeddings, **_stack(c, layer)})


def _sounds(c: ModelConfig) -> Dim:
    """Rows of the table: the words of each codebook."""
    return c.dim("vocab_size", default=1028) * c.dim("num_channels", default=9)


def model(c: ModelConfig) -> Module:
    return Module(
        "DiaModel",
        encoder=encoder(c.section("encoder_config")),
        decoder=decoder(c.section("decoder_config")),
    )


def generation(c: ModelConfig) -> Module:
    inner = c.section("decoder_config")
    width = inner.dim("hidden_size", default=_DECODER["hidden_size"])
    head = to_words(width, _sounds(inner))
    return Module("DiaForConditionalGeneration", model=model(c), logits_dense=head)


register_pair("dia", "Dia", generation, model, "encoder-decoder")
register_part("dia_encoder", "DiaEncoder", encoder, "encoder")
register_part("dia_decoder", "DiaDecoder", decoder, "audio")
