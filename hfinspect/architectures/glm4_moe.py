"""GLM-4.5 and 4.6 (Zhipu AI 2025; transformers/models/glm4_moe). DeepSeek-V3's experts and dense
first layers around grouped attention, with norms on q and k where ``use_qk_norm``."""

from ..layers.decoders import Decoder, grouped
from ..layers.latent_decoders import dense_first, routed

Decoder(
    "Glm4Moe",
    rotary=False,
    tasks=(),
    attention=lambda d, c: grouped(d.like(d.name, qk_norm=c.flag("use_qk_norm", default=False)), c),
    moe=routed(1408, 128, 8),
    kinds=dense_first(1),
    predicts="sparse",
    out_bias=False,
).register("glm4_moe")
