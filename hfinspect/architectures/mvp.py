"""MVP (Tang et al. 2022): BART, with learned prompts before the keys and values of every layer
where ``use_prompt`` asks (transformers/models/mvp)."""

from ..layers import seq2seq
from ..trees import Activation, Component, Embedding, Linear, ModelConfig, Module, Sequential
from .bart import BART


def _prompt(c: ModelConfig, s: seq2seq.Seq2Seq, layers: int) -> Module:
    """Vectors for each layer's keys and values, made from a table by two matrices."""
    d = seq2seq.width(c, s)
    inner = c.dim("prompt_mid_dim", default=800)
    length = c.dim("prompt_length", default=100)
    at = Component.ATTENTION
    wide = Linear(inner, layers * 2 * d)
    return Module(
        "MvpPrompt",
        dropout=seq2seq.dropout(c),
        prompt_embedding=Embedding(length, d, component=at),
        prompt_trans=Sequential(Linear(d, inner), Activation("GELU"), wide),
        component=at,
    )


def _model(c: ModelConfig, s: seq2seq.Seq2Seq) -> Module:
    tree = seq2seq.model(c, s)
    if c.flag("use_prompt", default=False):
        # Released files hold the encoder's prompt; transformers 5 builds the encoder without.
        unused = _prompt(c, s, c.count("encoder_layers", "num_hidden_layers", default=12))
        unused.saved = False
        tree.inside("encoder").adding(self_attn_prompt=unused)
        prompt = _prompt(c, s, c.count("decoder_layers", default=12))
        tree.inside("decoder").adding(self_attn_prompt=prompt, cross_attn_prompt=prompt)
    return tree


BART.like("Mvp", words="", vocab=50267, labels=2, make_model=_model).register("mvp", *seq2seq.ALL)
