"""DeepSeek-V3 and R1 (DeepSeek-AI 2024; transformers/models/deepseek_v3). The Hub's files hold
``num_nextn_predict_layers`` more layers, for the token after next; transformers drops them."""

from ..layers.decoders import LABEL_HEADS, Decoder
from ..layers.latent_decoders import dense_first, latent, routed
from ..trees import Buffer, ModelConfig, Module


def _attention(d: Decoder, c: ModelConfig) -> Module:
    # Files of Kimi K2 and Moonlight carry each layer's rotary frequencies.
    width = c.dim("qk_rope_head_dim", default=64, minimum=0)
    frequencies = Buffer(width // 2, dtype="F32", saved=False)
    rotary = Module(f"{d.name}RotaryEmbedding", inv_freq=frequencies, saved=False)
    return latent()(d, c).adding(rotary_emb=rotary)


DEEPSEEK_V3 = Decoder(
    "DeepseekV3",
    rotary=False,
    tasks=LABEL_HEADS,
    attention=_attention,
    moe=routed(2048, 256, 8),
    kinds=dense_first(3),
    predicts="sparse",
).register("deepseek_v3")
