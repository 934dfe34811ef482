"""jina-embeddings-v2 (Günther et al. 2023): BERT with ALiBi positions and gated MLPs. The second
implementation (German, Spanish, Chinese, code) has two norms outside the MLP, not one inside."""

from ..layers import encoders
from ..layers.bert_encoders import Encoder, bert_layer, tables
from ..layers.encoders import norm
from ..trees import ModelConfig, Module
from .bert import BERT
from .mosaic_bert import gated, without_positions


def _post_norm(c: ModelConfig) -> bool:
    """Whether the config means the second implementation."""
    is_given = c.has("use_qk_norm")
    return c.flag("use_qk_norm", default=False) if is_given else c.brings("qk-post-norm")


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    alibi = c.text("position_embedding_type", default="alibi") == "alibi"
    return without_positions(e, c) if alibi else tables(e, c)


def _attention(_e: Encoder, c: ModelConfig) -> Module:
    block = encoders.attention(c, "JinaBert")
    if _post_norm(c):
        block.inside("self").adding(layer_norm_q=norm(c), layer_norm_k=norm(c))
    return block


def _layer(e: Encoder, c: ModelConfig) -> Module:
    if not (c.text("feed_forward_type") or "").endswith("glu"):
        return bert_layer(e, c)
    norms: dict[str, Module] = {}
    mlp = gated(c, "JinaBertGLUMLP", "gated_layers", "wo", layernorm=norm(c))
    if _post_norm(c):
        norms = {"layer_norm_1": norm(c), "layer_norm_2": norm(c)}
        mlp = gated(c, "JinaBertGLUMLP", "up_gated_layer", "down_layer")
    return Module("JinaBertLayer", {"attention": _attention(e, c), **norms, "mlp": mlp})


BERT.like("JinaBert", "bert", embeddings=_embeddings, attention=_attention, layer=_layer).register(
    "jina_bert",
    source="modeling_bert.py of jinaai/jina-bert-implementation and jina-bert-v2-qk-post-norm",
)
