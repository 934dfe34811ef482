"""Step-3.5-Flash (StepFun 2026). No class in transformers. Source of shapes: modeling_step3p5.py in
stepfun-ai/Step-3.5-Flash; vLLM's step3p5.py reads the same names.

The tensors of Step 3.7's text tower under the names of its own classes. transformers reads the
type with that tower's class; a save of it keeps the names of its modules.
"""

from ..core.config import ModelConfig
from ..layers import mixtures as m
from ..layers.composing import renamed
from ..trees.catalog import register
from ..trees.modules import Module
from .step3p7 import TEXT, flash, moe, shared_mlp


def _causal(c: ModelConfig) -> Module:
    return renamed(flash(c), "Step3p7", "Step3p5").called("Step3p5ForCausalLM")


_ALONE = TEXT.like(
    "Step3p7",
    moe=moe(gate=m.corrected("TopKRouter"), experts=m.stacked(), shared_experts=shared_mlp),
)
register(
    "step3p5",
    {
        "Step3p5ForCausalLM": _causal,
        "Step3p5Model": lambda c: renamed(TEXT.model(c), "Step3p7", "Step3p5"),
        "Step3p7TextModel": lambda c: _ALONE.named("Step3p7TextModel", c),
    },
    base_prefix="model",
    category="text decoder",
    source="modeling_step3p5.py of stepfun-ai/Step-3.5-Flash; checked against Step 3.7",
)
