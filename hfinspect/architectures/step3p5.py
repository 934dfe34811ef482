"""Step-3.5-Flash (StepFun 2026). No class in transformers. Source of shapes: modeling_step3p5.py in
stepfun-ai/Step-3.5-Flash; vLLM's step3p5.py reads the same names.

The tensors of Step 3.7's text tower under the names of its own classes. transformers reads the
type with that tower's class; a save of it keeps the names of its modules.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.decoders import Decoder
from ..layers.experts import corrected_router, stacked_experts
from ..trees.catalog import register
from ..trees.modules import Module
from .step3p7 import TEXT, expert_sizes, flash, layer, shared_mlp


def causal_lm(c: ModelConfig) -> Module:
    root = renamed(flash(c), "Step3p7", "Step3p5")
    root.class_name = "Step3p5ForCausalLM"
    return root


def model(c: ModelConfig) -> Module:
    return renamed(TEXT.model(c), "Step3p7", "Step3p5")


def _experts(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    h, inner, count, per_token = expert_sizes(d, c)
    return {
        "mlp": Module(
            "Step3p7SparseMoeBlock",
            gate=corrected_router("Step3p7TopKRouter", h, count),
            experts=stacked_experts("Step3p7Experts", count, per_token, h, inner),
            shared_experts=shared_mlp(d, c),
            component=Component.MLP,
        )
    }


_ALONE = TEXT.like("Step3p7", layer=partial(layer, sparse=_experts))


def text_alone(c: ModelConfig) -> Module:
    return _ALONE.named("Step3p7TextModel", c)


register(
    "step3p5",
    {"Step3p5ForCausalLM": causal_lm, "Step3p5Model": model, "Step3p7TextModel": text_alone},
    base_prefix="model",
    category="text decoder",
    source="modeling_step3p5.py of stepfun-ai/Step-3.5-Flash; checked against Step 3.7",
)
