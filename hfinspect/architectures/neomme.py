"""NeoMME (H Company 2026), text and images. Source of shapes: transformers/models/neomme.

An encoder without a tower: patches of an image go through two layers of their own. Words have a
table of a low rank; a second one is added to the values of the first and the last full layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.composing import composed
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module, Weight

_NAME = "NeoMME"


_hidden = size("hidden_size", default=1024)
_rank = size("embedding_rank", default=256)
_vocab = size("vocab_size", default=131072)


def _norm() -> Module:
    return Activation(f"{_NAME}RMSNorm")


def _layer(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    heads, head = c.dim("num_attention_heads", default=16), c.dim("head_dim", default=64)
    width, groups = heads * head, c.dim("num_key_value_heads", default=4) * head
    inner, plus = c.dim("intermediate_size", default=3584), c.flag("mlp_bias", default=False)
    return Module(
        f"{_NAME}EncoderLayer",
        lambdas=Weight(2, kind="scale"),
        self_attn=Module(
            f"{_NAME}Attention",
            q_proj=Linear(h, width, bias=bias, kind="query"),
            k_proj=Linear(h, groups, bias=bias, kind="key"),
            v_proj=Linear(h, groups, bias=bias, kind="value"),
            q_norm=_norm(),
            k_norm=_norm(),
            exclusive_self_attention=Module(
                f"{_NAME}ExclusiveSelfAttention", alpha=Weight(heads, kind="scale")
            ),
            output_projection=Module(
                f"{_NAME}SigmoidGatedProjection",
                gate_proj=Linear(h, width, bias=False, kind="gate"),
                o_proj=Linear(width, h, bias=bias, kind="output"),
            ),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            f"{_NAME}MLP",
            up_proj=Linear(h, inner, bias=plus, kind="up"),
            down_proj=Linear(inner, h, bias=plus, kind="down"),
            act_fn=activation(c.text("hidden_act", default="relu2")),
            component=Component.MLP,
        ),
        input_layernorm=_norm(),
        post_attention_layernorm=_norm(),
    )


def model(c: ModelConfig) -> Module:
    h, side = _hidden(c), c.dim("patch_size", default=32)
    values = c.dim("num_key_value_heads", default=4) * c.dim("head_dim", default=64)
    pixels = 3 * (side * side)
    return Module(
        f"{_NAME}Model",
        embed_tokens=Module(
            f"{_NAME}Embeddings",
            word_embeddings=Embedding(_vocab(c), _rank(c)),
            embedding_projection=Linear(_rank(c), h, bias=False, component=Component.PROJECTOR),
            component=Component.EMBEDDING,
        ),
        patch_embeddings=Module(
            f"{_NAME}PatchEmbeddings",
            norm=LayerNorm(pixels),
            up_proj=Linear(pixels, h * 2, bias=False, component=Component.MLP),
            act_fn=activation("gelu"),
            down_proj=Linear(h * 2, h, component=Component.MLP),
            component=Component.EMBEDDING,
            part="vision",
        ),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        embedding_norm=_norm(),
        final_norm=_norm(),
        layers=Layers.of(c.count("num_hidden_layers", default=17), _layer(c)),
        value_embeddings=Embedding(_vocab(c), values),
    )


def masked_lm(c: ModelConfig) -> Module:
    """Both of the head's matrices are those of the words, unless the config says otherwise."""
    tied = c.tied(default=True)
    words, projection = (
        f"model.embed_tokens.{name}.weight" if tied else None
        for name in ("word_embeddings", "embedding_projection")
    )
    return Module(
        f"{_NAME}ForMaskedLM",
        model=model(c),
        unembedding_projection=Linear(
            _rank(c), _hidden(c), bias=False, tied_to=projection, component=Component.PROJECTOR
        ),
        lm_head=Linear(
            _rank(c), _vocab(c), bias=False, tied_to=words, component=Component.HEAD,
            kind="lm_head",
        ),
    )  # fmt: skip


def _vectors(c: ModelConfig) -> Module:
    proj = Linear(_hidden(c), c.dim("embedding_dim", default=128), bias=False)
    return Module(f"{_NAME}MultiVectorHead", proj=proj, component=Component.HEAD)


register(
    "neomme",
    composed(
        {
            f"{_NAME}ForMaskedLM": masked_lm,
            f"{_NAME}Model": model,
            f"{_NAME}ForRetrieval": {
                "model": model,
                "multi_vector_head": _vectors,
                "dense_head": lambda _: Activation(f"{_NAME}DenseHead"),
            },
        }
    ),
    base_prefix="model",
    category="multimodal",
)
