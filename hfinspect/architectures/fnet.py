"""FNet (Lee-Thorp et al. 2021). Source of shapes: transformers/models/fnet/modeling_fnet.py.

BERT with Fourier transforms, in place of attention. They have no tensors,
unless a config for TPUs keeps their matrices.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden, norm, usual_classes
from ..trees.catalog import register
from ..trees.modules import Buffer, Linear, Module, Parameter

_NAME = "FNet"
_DEFAULTS = {**BASE, "vocab_size": 32000, "type_vocab_size": 4, "hidden_act": "gelu_new"}


#: Longer texts are transformed without matrices (FNetBasicFourierTransform).
_LONGEST = 4096


def layer(c: ModelConfig) -> Module:
    optimized = c.flag("use_tpu_fourier_optimizations", default=False)
    matrices: dict[str, Parameter] = {}
    if optimized and c.dim("max_position_embeddings") <= _LONGEST:
        h, length = hidden(c), c.dim("tpu_short_seq_length", default=512)
        matrices["dft_mat_hidden"] = Buffer(h, h, dtype="C64")
        matrices["dft_mat_seq"] = Buffer(length, length, dtype="C64")
    fourier = Module(
        "FNetFourierTransform",
        {
            "self": Module("FNetBasicFourierTransform", matrices),
            "output": Module("FNetBasicOutput", LayerNorm=norm(c)),
        },
    )
    return Module(
        "FNetLayer",
        fourier=fourier,
        intermediate=encoders.intermediate(c, _NAME),
        output=encoders.output(c, _NAME),
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    embeddings = encoders.embeddings(c, _NAME)
    embeddings.children["projection"] = Linear(hidden(c), hidden(c), kind="token")
    return Module(
        "FNetModel",
        embeddings=embeddings,
        encoder=encoders.encoder(c, _NAME, layer(c)),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _words(c: ModelConfig, *, sentences: bool = False) -> Module:
    table = "fnet.embeddings.word_embeddings.weight"
    return encoders.bert_mlm_head(c, _NAME, table=table, sentences=sentences)


register(
    "fnet",
    with_defaults(
        _DEFAULTS,
        usual_classes(
            _NAME,
            "fnet",
            model,
            words=_words,
            more={
                "ForPreTraining": {"fnet": model, "cls": lambda c: _words(c, sentences=True)},
                "ForNextSentencePrediction": {
                    "fnet": model,
                    "cls": lambda c: encoders.next_sentence_head(c, _NAME),
                },
            },
        ),
    ),
    base="FNetModel",
    base_prefix="fnet",
    category="encoder",
)
