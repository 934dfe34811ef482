"""X-MOD (Pfeiffer et al. 2022). Source of shapes: transformers/models/xmod/modeling_xmod.py.

RoBERTa with one adapter per language after each MLP; all are in the file, one serves a text.
"""

from ..core.config import ModelConfig
from ..layers.bert_encoders import Encoder, bert_layer, stack
from ..layers.encoders import BASE, hidden, norm
from ..trees.modules import Linear, Module
from .roberta import ROBERTA


def _layer(e: Encoder, c: ModelConfig) -> Module:
    h, factor = hidden(c), c.dim("adapter_reduction_factor", default=2)
    narrow = h // factor
    if not narrow:
        raise c.error("adapter_reduction_factor", int(factor), f"at most {int(h)}")
    adapter = Module("XmodAdapter", dense1=Linear(h, narrow), dense2=Linear(narrow, h))
    languages = c.strings("languages", default=("en_XX",))
    block = bert_layer(e, c)
    block.inside("output").adding(
        adapter_layer_norm=norm(c) if c.flag("adapter_layer_norm", default=False) else None,
        adapter_modules=Module("ModuleDict", dict.fromkeys(languages, adapter)),
    )
    return block


def _stack(e: Encoder, c: ModelConfig) -> Module:
    normed = c.flag("pre_norm", default=False)
    return stack(e, c).adding(LayerNorm=norm(c) if normed else None)


ROBERTA.like("Xmod", "roberta", defaults=BASE, layer=_layer, encoder=_stack).register("xmod")
