"""Step-3.5-Flash (StepFun 2026). No class in transformers. Source of shapes: modeling_step3p5.py in
stepfun-ai/Step-3.5-Flash; vLLM's step3p5.py reads the same names.

The tensors of Step 3.7's text tower under the names of its own classes.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..trees.catalog import register
from ..trees.modules import Module
from .step3p7 import flash, text_model


def causal_lm(c: ModelConfig) -> Module:
    root = renamed(flash(c), "Step3p7", "Step3p5")
    root.class_name = "Step3p5ForCausalLM"
    return root


def model(c: ModelConfig) -> Module:
    return renamed(text_model(c, "Step3p7Model"), "Step3p7", "Step3p5")


register(
    "step3p5",
    {"Step3p5ForCausalLM": causal_lm, "Step3p5Model": model},
    base="Step3p5Model",
    base_prefix="model",
    category="text decoder",
    source="modeling_step3p5.py of stepfun-ai/Step-3.5-Flash; checked against Step 3.7",
)
