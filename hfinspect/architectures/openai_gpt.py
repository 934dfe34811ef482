"""GPT (Radford et al. 2018): GPT-2's linears in post-norm layers, without a last norm
(transformers/models/openai)."""

from ..layers import named_decoder as s
from ..layers.blocks import activation, size
from ..layers.decoders import SEQUENCE_HEAD
from ..layers.heads import to_words
from ..trees import Buffer, Embedding, ModelConfig, Module
from .gpt2 import GPT2, double_heads

_GPT = GPT2.like(
    "OpenAIGPT",
    vocab=size("vocab_size", default=40478),
    length=size("n_positions", default=512),
    inner=s.times(4),
    called={"Block": "Block", "Attention": "Attention", "MLP": "MLP"},
    model={
        "tokens_embed": s.words,
        "positions_embed": s.positions,
        "drop": GPT2.model["drop"],
        "h": s.layers,
        "position_ids": lambda d, c: Buffer(d.length(c), dtype="I64", saved=False),
    },
    block={"attn": s.attention, "ln_1": s.norm, "mlp": s.mlp, "ln_2": s.norm},
    attention={name: part for name, part in GPT2.attention.items() if name != "masked_bias"},
    mlp={
        **GPT2.mlp,
        "act": lambda _d, c: activation("gelu_new" if c.text("afn") in (None, "gelu") else "relu"),
    },
)


def _double_heads(c: ModelConfig) -> Module:
    """Here the head's name is kept where both are tied, and the embedding's is left out."""
    h = _GPT.width(c)
    vocab = _GPT.vocab(c)
    root = double_heads(_GPT, c)
    table = Embedding(vocab, h, tied_to="lm_head.weight" if c.tied() else None)
    root.inside("transformer").adding(tokens_embed=table)
    return root.adding(lm_head=to_words(h, vocab))


_CLASSES = _GPT.classes(causal="LMHeadModel", heads=SEQUENCE_HEAD)
_GPT.register("openai-gpt", {**_CLASSES, "OpenAIGPTDoubleHeadsModel": _double_heads})
