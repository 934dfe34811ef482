"""Qwen2.5-VL (Bai et al. 2025; transformers/models/qwen2_5_vl). Qwen2-VL with RMS norms and a gated
MLP in the tower (a trace). File names and spellings of the config as in qwen2_vl.py."""

from .qwen2_vl import register_qwen2_vl

register_qwen2_vl("qwen2_5_vl", "Qwen2_5_VL", "Qwen2_5_VisionTransformerPretrainedModel")
