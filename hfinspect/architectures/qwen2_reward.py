"""Reward models over Qwen2 (Qwen2.5-Math-RM-72B, Qwen2.5-Math-PRM-7B), whose configs say model_type
``qwen2``."""

from ..layers.composing import FormPart, composed
from ..layers.heads import classifier, hidden_size
from ..trees import Activation, ModelConfig, Module, Sequential, register
from .qwen2 import QWEN2


def _scored(labels: int) -> dict[str, FormPart]:
    def score(c: ModelConfig) -> Module:
        h = hidden_size(c)
        count = c.dim("num_labels", default=labels)
        return Sequential(classifier(h, h), Activation("ReLU"), classifier(h, count))

    return {"model": QWEN2.model, "score": score}


register(
    "qwen2_reward",
    composed({"Qwen2ForRewardModel": _scored(1), "Qwen2ForProcessRewardModel": _scored(2)}),
    base_prefix="model",
    category="text decoder",
    source="modeling_qwen2_rm.py of Qwen/Qwen2.5-Math-RM-72B; vLLM's qwen2_rm.py",
    base=None,
)
