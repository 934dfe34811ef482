"""MVP (Tang et al. 2022). Source of shapes: transformers/models/mvp/modeling_mvp.py.

BART, with learned prompts before the keys and values of every layer where ``use_prompt`` asks.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import seq2seq
from ..layers.composing import changed
from ..layers.seq2seq import Seq2Seq
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, Linear, Module, Sequential

STYLE = Seq2Seq("Mvp", positions="LearnedPositionalEmbedding", embedding_norm=True, vocab=50267)


def _prompt(c: ModelConfig, layers: int) -> Module:
    """Vectors for each layer's keys and values, made from a table by two matrices."""
    d, inner = seq2seq.width(c, STYLE), c.dim("prompt_mid_dim", default=800)
    length = c.dim("prompt_length", default=100)
    matrices = Sequential(Linear(d, inner), Activation("GELU"), Linear(inner, layers * 2 * d))
    return Module(
        "MvpPrompt",
        dropout=Dropout(c.number("dropout", default=0.1)),
        prompt_embedding=Embedding(length, d, component=Component.ATTENTION),
        prompt_trans=matrices,
        component=Component.ATTENTION,
    )


def _add_prompts(c: ModelConfig, root: Module) -> None:
    """Prompts in the stacks of a class, where the config has them."""
    base = root.children.get("model", root)
    if not c.flag("use_prompt", default=False) or not isinstance(base, Module):
        return
    encoder, decoder = base.children.get("encoder"), base.children.get("decoder")
    if not isinstance(encoder, Module) or not isinstance(decoder, Module):
        return  # the decoder alone has none
    # Released files hold the encoder's prompt; transformers 5.23 builds the encoder without.
    unused = _prompt(c, c.count("encoder_layers", "num_hidden_layers", default=12))
    unused.saved = False
    encoder.children["self_attn_prompt"] = unused
    prompt = _prompt(c, c.count("decoder_layers", default=12))
    decoder.children |= {"self_attn_prompt": prompt, "cross_attn_prompt": prompt}


register(
    "mvp",
    changed(seq2seq.classes(STYLE, *seq2seq.ALL), _add_prompts),
    base_prefix="model",
    category="encoder-decoder",
)
