"""jina-embeddings-v3 (Sturua et al. 2024): XLM-RoBERTa with rotary positions. Source:
transformers/models/jina_embeddings_v3 and its renaming; files have query, key and value fused."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder, roberta_forms, roberta_words, without
from ..layers.blocks import fused_attention
from ..layers.composing import Forms
from ..layers.encoders import hidden, norm
from ..layers.vision import plain_mlp
from ..trees import Activation, Layers, ModelConfig, Module, config_defaults

DEFAULTS = config_defaults("jina_embeddings_v3")


def attention(name: str, c: ModelConfig, *, bias: bool = True) -> Module:
    """Queries, keys and values in one matrix, of ``head_dim`` a head."""
    h = hidden(c)
    heads = c.dim("num_attention_heads")
    width = heads * (c.optional_dim("head_dim") or h // heads)
    return fused_attention(
        f"{name}Attention",
        h,
        bias=bias,
        out_bias=bias,
        qkv="Wqkv",
        out="out_proj",
        joined=3 * width,
        width=width,
    )


def _layer(e: Encoder, c: ModelConfig) -> Module:
    inner = c.dim("intermediate_size")
    act = c.text("hidden_act")
    mlp = plain_mlp(f"{e.name}MLP", hidden(c), inner, act=act)
    mixer = attention(e.name, c)
    return Module(f"{e.name}Layer", norm1=norm(c), mlp=mlp, mixer=mixer, norm2=norm(c))


def _stack(e: Encoder, c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_hidden_layers"), e.layer(e, c))
    return Module(f"{e.name}Encoder", layers=layers)


def _whole(e: Encoder, c: ModelConfig) -> Module:
    return Module(
        f"{e.name}Model",
        embeddings=e.embeddings(e, c),
        emb_ln=norm(c),
        pooler=None if e.pooling == "never" else encoders.pooler(c, e.name),
        rotary_emb=Activation(f"{e.name}RotaryEmbedding"),
        encoder=e.encoder(e, c),
    )


def _forms(e: Encoder) -> Forms:
    """RoBERTa's heads, each before the model."""
    return {
        ending: {**{at: part for at, part in form.items() if at != e.prefix}, e.prefix: e.bare}
        for ending, form in roberta_forms(e).items()
    }


JINA = Encoder(
    "JinaEmbeddingsV3",
    "roberta",
    DEFAULTS,
    layer=_layer,
    encoder=_stack,
    make_model=_whole,
    embeddings=without("position_embeddings", "LayerNorm"),
    words=roberta_words,
    forms=_forms,
    headless=True,
    lacks=("ForCausalLM", "ForMultipleChoice"),
).register("jina_embeddings_v3")
