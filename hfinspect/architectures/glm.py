"""GLM-4 9B (GLM Team 2024; transformers/models/glm): gate and up in one matrix."""

from ..layers.decoders import LABEL_HEADS, Decoder, fused_mlp

GLM = Decoder("Glm", out_bias=False, tasks=LABEL_HEADS, mlp=fused_mlp).register("glm")
