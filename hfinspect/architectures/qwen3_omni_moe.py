"""Qwen3-Omni (Xu et al. 2025), the thinker; qwen3_omni_moe_talker.py speaks. Source of shapes:
transformers/models/qwen3_omni_moe; file names are those of the first release."""

from ..trees import config_defaults
from ..trees.catalog import register_part
from .qwen2_5_omni import register_thinker
from .qwen3_moe import QWEN3_MOE
from .qwen3_omni_moe_talker import END, NAME, code2wav, talker

TEXT = QWEN3_MOE.like(
    f"{NAME}ThinkerText",
    **config_defaults("qwen3_omni_moe"),
    windows=None,
    rotary=True,
    further=END,
)
_WHOLE = register_thinker("qwen3_omni_moe", NAME, TEXT, {}, talker=talker, code2wav=code2wav)
register_part("qwen3_omni_moe", f"{NAME}ForConditionalGeneration", _WHOLE, "multimodal")
