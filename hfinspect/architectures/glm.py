"""GLM-4 9B (GLM Team 2024; transformers/models/glm): gate and up in one matrix."""

from ..layers.decoders import LABEL_HEADS, Decoder, fused_mlp

GLM = Decoder(
    "Glm",
    vocab_size=151552,
    intermediate_size=13696,
    num_hidden_layers=40,
    num_key_value_heads=2,
    head_dim=128,
    rms_norm_eps=1.5625e-07,
    attention_bias=True,
    out_bias=False,
    endings=LABEL_HEADS,
    mlp=fused_mlp,
).register("glm")
