"""Step-3.5-Flash (StepFun 2026). No class in transformers. Source of shapes: modeling_step3p5.py in
stepfun-ai/Step-3.5-Flash; vLLM's step3p5.py reads the same names.

The tensors of Step 3.7's text tower under the names of its own classes. transformers reads the
type with that tower's class; a save of it keeps the names of its modules.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.experts import corrected_router, stacked_experts
from ..trees.catalog import register
from ..trees.modules import Module
from .step3p7 import expert_sizes, flash, shared_mlp, text_model


def causal_lm(c: ModelConfig) -> Module:
    root = renamed(flash(c), "Step3p7", "Step3p5")
    root.class_name = "Step3p5ForCausalLM"
    return root


def model(c: ModelConfig) -> Module:
    return renamed(text_model(c, "Step3p7Model"), "Step3p7", "Step3p5")


def _experts(c: ModelConfig) -> dict[str, Module]:
    h, inner, count, per_token = expert_sizes(c)
    return {
        "mlp": Module(
            "Step3p7SparseMoeBlock",
            gate=corrected_router("Step3p7TopKRouter", h, count),
            experts=stacked_experts("Step3p7Experts", count, per_token, h, inner),
            shared_experts=shared_mlp(c),
            component=Component.MLP,
        )
    }


def text_alone(c: ModelConfig) -> Module:
    return text_model(c, sparse=_experts)


register(
    "step3p5",
    {"Step3p5ForCausalLM": causal_lm, "Step3p5Model": model, "Step3p7TextModel": text_alone},
    base_prefix="model",
    category="text decoder",
    source="modeling_step3p5.py of stepfun-ai/Step-3.5-Flash; checked against Step 3.7",
)
