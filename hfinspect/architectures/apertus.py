"""Apertus (Swiss AI Initiative 2025; transformers/models/apertus). A two-matrix MLP whose
activation, xIELU, has two learned numbers in every layer (and two fixed ones, saved as buffers);
norms of queries and keys."""

from ..layers.decoders import Decoder, arranged, attends, feeds, normed, up_down
from ..trees import Buffer, ModelConfig, Module, Weight, exact
from .llama import LLAMA


def _xielu() -> Module:
    """Expanded integral of the ELU (Huang & Schlag 2025)."""
    one, fixed = Weight(exact(1)), Buffer()
    return Module("XIELUActivation", alpha_p=one, alpha_n=one, beta=fixed, eps=fixed)


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    return up_down(d, c).adding(act_fn=_xielu() if d.act(c) == "xielu" else None)


LLAMA.like(
    "Apertus", vocab_size=131072, intermediate_size=14336, rms_norm_eps=1e-05, hidden_act="xielu",
    mlp_bias=None, qk_norm=True, endings=("ForTokenClassification",), mlp=_mlp,
    layer=arranged(
        self_attn=attends, mlp=feeds, attention_layernorm=normed, feedforward_layernorm=normed
    ),
).register("apertus")  # fmt: skip
