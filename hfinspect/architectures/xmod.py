"""X-MOD (Pfeiffer et al. 2022): RoBERTa with one adapter per language after each MLP, of which one
serves a text (transformers/models/xmod)."""

from ..layers.bert_encoders import Encoder, bert_layer, stack
from ..layers.encoders import BASE, hidden, norm
from ..trees import Linear, ModelConfig, Module
from .roberta import ROBERTA


def _layer(e: Encoder, c: ModelConfig) -> Module:
    h = hidden(c)
    factor = c.dim("adapter_reduction_factor", default=2)
    inner = h // factor
    block = bert_layer(e, c)
    if not inner:
        raise c.error("adapter_reduction_factor", int(factor), f"at most {int(h)}")
    adapter = Module("XmodAdapter", dense1=Linear(h, inner), dense2=Linear(inner, h))
    adapters = dict.fromkeys(c.strings("languages", default=("en_XX",)), adapter)
    adapter_norm = norm(c) if c.flag("adapter_layer_norm", default=False) else None
    modules = Module("ModuleDict", adapters)
    block.inside("output").adding(adapter_layer_norm=adapter_norm, adapter_modules=modules)
    return block


ROBERTA.like(
    "Xmod",
    "roberta",
    defaults=BASE,
    layer=_layer,
    encoder=lambda e, c: stack(e, c).adding(
        LayerNorm=norm(c) if c.flag("pre_norm", default=False) else None
    ),
).register("xmod")
