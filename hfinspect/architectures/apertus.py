"""Apertus (Swiss AI Initiative 2025; transformers/models/apertus). Norms of queries and keys; an
activation, xIELU, of two learned numbers in every layer (and two fixed ones, saved as buffers)."""

from ..layers.decoders import Decoder, arranged, attends, feeds, normed, up_down
from ..trees import Buffer, ModelConfig, Module, Weight, exact


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    # Expanded integral of the ELU (Huang & Schlag 2025).
    one = Weight(exact(1))
    fixed = Buffer()
    xielu = Module("XIELUActivation", alpha_p=one, alpha_n=one, beta=fixed, eps=fixed)
    return up_down(d, c).adding(act_fn=xielu if d.act(c) == "xielu" else None)


Decoder(
    "Apertus",
    qk_norm=True,
    tasks=("ForTokenClassification",),
    mlp=_mlp,
    layer=arranged(
        self_attn=attends, mlp=feeds, attention_layernorm=normed, feedforward_layernorm=normed
    ),
).register("apertus")
