"""RoFormer (Su et al. 2021), the first with rotary positions: the table of sines that rotates is a
fixed parameter, saved with the rest (transformers/models/roformer)."""

from ..layers import bert_encoders as bert
from ..layers.composing import Forms
from ..layers.encoders import BASE, attention, bert_mlm_head, hidden
from ..layers.heads import classifier
from ..trees import Embedding, ModelConfig, Module
from .bert import BERT


def _stack(e: bert.Encoder, c: ModelConfig) -> Module:
    head = c.divided(hidden(c), c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    positions = c.dim("max_position_embeddings")
    sines = "RoFormerSinusoidalPositionalEmbedding"
    table = Embedding(positions, head, kind="position", class_name=sines)
    return Module("RoFormerEncoder", {"embed_positions": table, **bert.stack(e, c).children})


def _forms(e: bert.Encoder) -> Forms:
    forms = bert.summary_forms(e)
    answers = {e.prefix: e.bare, "qa_outputs": lambda c: classifier(hidden(c), 2)}
    return {**forms, "ForCausalLM": forms["ForMaskedLM"], "ForQuestionAnswering": answers}


BERT.like(
    "RoFormer",
    "roformer",
    encoder=_stack,
    make_model=bert.projected,
    forms=_forms,
    words=lambda e, c: bert_mlm_head(c, e.name, table=e.table, width=bert.embedding_width(c)),
    attention=lambda e, c: attention(c, e.name),
    embeddings=lambda e, c: bert.narrow_tables(e, c).without("position_embeddings", "position_ids"),
    defaults={**BASE, "vocab_size": 50000, "max_position_embeddings": 1536},
).register("roformer")
