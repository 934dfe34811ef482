"""PEGASUS-X (Phang et al. 2022). Source of shapes: transformers/models/pegasus_x.

Pegasus over long texts: local attention in the encoder next to a few global tokens, which have an
embedding and a norm in each layer; no biases in attention, computed positions.
"""

from ..core.config import ModelConfig
from ..layers import seq2seq
from ..layers.seq2seq import Seq2Seq
from ..trees.catalog import register_pair
from ..trees.modules import Embedding, Module

_NAME = "PegasusX"


def _encoder_attention(c: ModelConfig, s: Seq2Seq) -> Module:
    return seq2seq.attention(c, s, 0, class_name="PegasusXGlobalLocalAttention")


STYLE = Seq2Seq(
    _NAME,
    words="ScaledWordEmbedding",
    final_norm=True,
    vocab=96103,
    layers=(16, 16),
    bias=False,
    encoder_attention=_encoder_attention,
    decoder_attention="PegasusXAttention",
)


def model(c: ModelConfig, *, at: str = "") -> Module:
    tree = seq2seq.model(c, STYLE, at=at)
    encoder = tree.inside("encoder")
    tokens = c.dim("num_global_tokens", default=32)
    encoder.children["embed_global"] = Embedding(tokens, seq2seq.width(c, STYLE))
    layers = encoder.inside("layers")
    for layer in layers.children.values():
        assert isinstance(layer, Module)
        layer.children["global_self_attn_layer_norm"] = seq2seq.norm(c, STYLE)
    return tree


def conditional_generation(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}ForConditionalGeneration",
        model=model(c, at="model."),
        lm_head=seq2seq.lm_head(c, STYLE, "model.shared.weight"),
    )


register_pair("pegasus_x", _NAME, conditional_generation, model, "encoder-decoder")
