"""X-MOD (Pfeiffer et al. 2022). Source of shapes: transformers/models/xmod/modeling_xmod.py.

RoBERTa with one adapter per language after each MLP; all are in the file, one serves a text.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, labels, norm, one_label
from ..trees.catalog import register
from ..trees.modules import Layers, Linear, Module

_NAME = "Xmod"


def adapter(c: ModelConfig) -> Module:
    h, factor = hidden(c), c.dim("adapter_reduction_factor", default=2)
    narrow = h // factor
    if not narrow:
        raise c.error("adapter_reduction_factor", int(factor), f"at most {int(h)}")
    return Module("XmodAdapter", dense1=Linear(h, narrow), dense2=Linear(narrow, h))


def layer(c: ModelConfig) -> Module:
    block = encoders.layer(c, _NAME, cross=True)
    output = encoders.output(c, _NAME)
    if c.flag("adapter_layer_norm", default=False):
        output.children["adapter_layer_norm"] = norm(c)
    one = adapter(c)
    languages = c.strings("languages", default=("en_XX",))
    output.children["adapter_modules"] = Module("ModuleDict", dict.fromkeys(languages, one))
    block.children["output"] = output
    return block


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    before = c.flag("pre_norm", default=False)
    return Module(
        "XmodModel",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=Module(
            "XmodEncoder",
            layer=Layers.of(c.count("num_hidden_layers"), layer(c)),
            LayerNorm=norm(c) if before else None,
        ),
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


def _bare(c: ModelConfig) -> Module:
    return model(c, pooling=False)


def _words(c: ModelConfig) -> Module:
    return encoders.roberta_lm_head(c, _NAME, table="roberta.embeddings.word_embeddings.weight")


def _first_token(c: ModelConfig) -> Module:
    return encoders.roberta_classifier(c, _NAME)


_CLASSES = composed(
    {
        "XmodForMaskedLM": {"roberta": _bare, "lm_head": _words},
        "XmodModel": model,
        "XmodForCausalLM": {"roberta": _bare, "lm_head": _words},
        "XmodForSequenceClassification": {"roberta": _bare, "classifier": _first_token},
        "XmodForMultipleChoice": {"roberta": model, "dropout": dropout, "classifier": one_label},
        "XmodForTokenClassification": {"roberta": _bare, "dropout": dropout, "classifier": labels},
        "XmodForQuestionAnswering": {"roberta": _bare, "qa_outputs": labels},
    }
)

register(
    "xmod",
    with_defaults(BASE, _CLASSES),
    base="XmodModel",
    base_prefix="roberta",
    category="encoder",
)
