"""Jais (Sengupta et al. 2023); ``jais2`` is another model."""

from ..layers import named_decoder as s
from ..layers.decoders import SEQUENCE_HEAD
from ..trees import Component, ModelConfig, Module, Weight


def _alibi(c: ModelConfig) -> bool:
    return c.text("position_embedding_type", default="learned") == "alibi"


def _slopes(d: s.NamedDecoder, c: ModelConfig) -> Module:
    slopes = Weight(d.heads(c), 1, kind="position")
    return Module("AlibiPositionEmbeddingLayer", slopes=slopes, component=Component.EMBEDDING)


JAIS = s.NamedDecoder(
    "JAIS",
    linear=s.transposed,
    model={
        "wte": s.words,
        "wpe": lambda d, c: None if _alibi(c) else s.positions(d, c),
        "relative_pe": s.where(_alibi, _slopes),
        "drop": s.dropout("embd_pdrop", 0.1),
        "h": s.layers,
        "ln_f": s.norm,
    },
    attention={"c_attn": s.qkv, "c_proj": s.output},
    mlp={
        "c_fc": s.up,
        "c_fc2": s.where(lambda c: c.text("activation_function") == "swiglu", s.gate),
        "c_proj": s.down,
    },
).register(
    "jais",
    causal="LMHeadModel",
    heads=SEQUENCE_HEAD,
    source="modeling_jais.py of core42/jais-13b; vLLM's jais.py",
)
