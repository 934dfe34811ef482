"""Kimi K2 (Moonshot AI 2025): the DeepSeek-V3 class with other sizes. Source of shapes: the repo's
config.json names DeepseekV3ForCausalLM; its configuration file has the same defaults."""

from .deepseek_v3 import DEEPSEEK_V3

DEEPSEEK_V3.register("kimi_k2", source="Hub configuration file (DeepSeek-V3's)")
