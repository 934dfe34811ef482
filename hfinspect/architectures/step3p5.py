"""Step-3.5-Flash (StepFun 2026; modeling_step3p5.py in stepfun-ai/Step-3.5-Flash, no class in
transformers). Step 3.7's text tower under names of its own; transformers reads the type with that
tower's class, and a save of it keeps the names of its modules."""

from ..layers import mixtures as m
from ..layers.composing import renamed
from ..trees import Builder, register
from .step3p7 import TEXT, flash, moe, shared_mlp

_NAME = "Step3p5ForCausalLM"
_ALONE = TEXT.like(
    "Step3p7",
    moe=moe(gate=m.corrected("TopKRouter"), experts=m.stacked(), shared_experts=shared_mlp),
)
_CLASSES: dict[str, Builder] = {
    _NAME: lambda c: renamed(flash(c), "Step3p7", "Step3p5").called(_NAME),
    "Step3p5Model": lambda c: renamed(TEXT.model(c), "Step3p7", "Step3p5"),
    "Step3p7TextModel": lambda c: _ALONE.named("Step3p7TextModel", c),
}
_SOURCE = "modeling_step3p5.py of stepfun-ai/Step-3.5-Flash; checked against Step 3.7"
register("step3p5", _CLASSES, base_prefix="model", category="text decoder", source=_SOURCE)
