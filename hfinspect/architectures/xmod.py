"""X-MOD (Pfeiffer et al. 2022). Source of shapes: transformers/models/xmod/modeling_xmod.py.

RoBERTa with one adapter per language after each MLP; all are in the file, one serves a text.
"""

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, bert_layer, stack
from ..layers.encoders import BASE, hidden, norm
from ..trees.modules import Linear, Module
from .roberta import ROBERTA


def adapter(c: ModelConfig) -> Module:
    h, factor = hidden(c), c.dim("adapter_reduction_factor", default=2)
    narrow = h // factor
    if not narrow:
        raise c.error("adapter_reduction_factor", int(factor), f"at most {int(h)}")
    return Module("XmodAdapter", dense1=Linear(h, narrow), dense2=Linear(narrow, h))


def _layer(e: Encoder, c: ModelConfig) -> Module:
    block = bert_layer(e, c)
    output = encoders.output(c, e.name)
    if c.flag("adapter_layer_norm", default=False):
        output.children["adapter_layer_norm"] = norm(c)
    one = adapter(c)
    languages = c.strings("languages", default=("en_XX",))
    output.children["adapter_modules"] = Module("ModuleDict", dict.fromkeys(languages, one))
    block.children["output"] = output
    return block


def _stack(e: Encoder, c: ModelConfig) -> Module:
    block = stack(e, c)
    if c.flag("pre_norm", default=False):
        block.children["LayerNorm"] = norm(c)
    return block


ROBERTA.like("Xmod", "roberta", defaults=BASE, layer=_layer, encoder=_stack).register("xmod")
