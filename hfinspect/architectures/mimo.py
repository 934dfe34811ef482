"""MiMo-7B (Xiaomi 2025): Qwen2 with layers that predict one token further, which its class builds
and saves."""

from ..layers.decoders import Decoder
from ..layers.heads import register_decoder
from ..trees import Component, Layers, Linear, ModelConfig, Module
from .qwen2 import QWEN2

_NORMS = "input", "post_attention", "token", "hidden"


def _further(d: Decoder, c: ModelConfig) -> dict[str, Module | None]:
    """A Qwen2 layer behind a projection of the last hidden state and the next token's embedding."""
    h = d.width(c)
    block = d.layer(d, c, "dense")
    norm = d.norm(d, c, d.width(c))
    layer = Module(
        "MiMoMTPLayers",
        dict.fromkeys((f"{at}_layernorm" for at in _NORMS), norm),
        input_proj=Linear(h * 2, h, bias=False, component=Component.PROJECTOR),
        final_layernorm=norm,
        self_attn=block["self_attn"],
        mlp=block["mlp"],
        kind="mtp",
    )
    count = int(c.count("num_nextn_predict_layers", default=0))
    return {"mtp_layers": Layers([layer] * count, part="mtp") if count else None}


_MIMO = QWEN2.like("Qwen2", further=_further)
_SOURCE = "modeling_mimo.py and index of XiaomiMiMo/MiMo-7B; base checked against Qwen2"
register_decoder("mimo", "MiMo", lambda c: _MIMO.named("MiMoModel", c), heads=(), source=_SOURCE)
