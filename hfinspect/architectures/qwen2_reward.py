"""Reward models over Qwen2 (Qwen2.5-Math-RM-72B, Qwen2.5-Math-PRM-7B); configs say model_type
``qwen2``. No classes in transformers. Source of shapes: modeling_qwen2_rm.py in
Qwen/Qwen2.5-Math-RM-72B; vLLM's qwen2_rm.py reads the same names.
"""

from ..core.config import ModelConfig
from ..layers.heads import classifier, hidden_size
from ..trees.catalog import Builder, register
from ..trees.modules import Activation, Module, Sequential
from .qwen2 import QWEN2


def _with_scores(name: str, labels: int) -> Builder:
    def build(c: ModelConfig) -> Module:
        h = hidden_size(c)
        count = c.dim("num_labels", default=labels)
        score = Sequential(classifier(h, h), Activation("ReLU"), classifier(h, count))
        return Module(name, model=QWEN2.model(c), score=score)

    return build


_LABELS = {"Qwen2ForRewardModel": 1, "Qwen2ForProcessRewardModel": 2}
register(
    "qwen2_reward",
    {name: _with_scores(name, labels) for name, labels in _LABELS.items()},
    base_prefix="model",
    category="text decoder",
    source="modeling_qwen2_rm.py of Qwen/Qwen2.5-Math-RM-72B; vLLM's qwen2_rm.py",
    base=None,
)
