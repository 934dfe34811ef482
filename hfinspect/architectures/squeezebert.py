"""SqueezeBERT (Iandola et al. 2020): BERT whose linear layers are grouped convolutions of one
position, weight (out, in / groups, 1; transformers/models/squeezebert)."""

from functools import partial

from ..layers import encoders
from ..layers.bert_encoders import Encoder, embedding_width, stack, tables
from ..layers.blocks import activation
from ..layers.composing import respelled
from ..trees import Activation, Component, Conv, LayerNorm, ModelConfig, Module
from .bert import BERT


def _conv(
    c: ModelConfig,
    inputs: int,
    outputs: int,
    key: str,
    kind: str,
    default: int = 4,
    *,
    component: Component = Component.MLP,
) -> Module:
    groups = c.dim(key, default=default)
    c.divided(inputs, groups, "the layer's input", key)
    c.divided(outputs, groups, "the layer's output", key)
    return Conv(inputs, outputs, 1, dims=1, groups=groups, component=component, kind=kind)


def _normed(c: ModelConfig, conv: Module) -> Module:
    # Epsilon is the class's own, whatever the config says.
    norm = LayerNorm(encoders.hidden(c), eps=1e-12, class_name="SqueezeBertLayerNorm")
    return Module("ConvDropoutLayerNorm", conv1d=conv, layernorm=norm, dropout=encoders.dropout(c))


def _layer(_e: Encoder, c: ModelConfig) -> Module:
    h = encoders.hidden(c)
    inner = c.dim("intermediate_size")
    look = partial(_conv, c, h, h, component=Component.ATTENTION)
    up = _conv(c, h, inner, "intermediate_groups", "up")
    attention = encoders.projections(c, "SqueezeBertSelfAttention").adding(
        **{kind: look(f"{kind[0]}_groups", kind) for kind in ("query", "key", "value")},
        softmax=Activation("Softmax", "dim=-1"),
        matmul_qk=Activation("MatMulWrapper"),
        matmul_qkv=Activation("MatMulWrapper"),
    )
    return Module(
        "SqueezeBertModule",
        attention=attention,
        post_attention=_normed(c, look("post_attention_groups", "output", 1)),
        intermediate=Module("ConvActivation", conv1d=up, act=activation(c.text("hidden_act"))),
        output=_normed(c, _conv(c, inner, h, "output_groups", "down")),
    )


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    if (wide := embedding_width(c)) != encoders.hidden(c):
        raise c.error("embedding_size", int(wide), f"{int(encoders.hidden(c))}, as wide")
    return tables(e, c)


BERT.like(
    "SqueezeBert",
    "transformer",
    pooling="always",
    embeddings=_embeddings,
    layer=_layer,
    encoder=lambda e, c: respelled(stack(e, c), {"layer": "layers"}),
).register("squeezebert")
