"""GLM-4.5V and 4.6V (Zhipu 2025): the tower of GLM-4.1V (a trace) before the decoder of GLM-4.5.
Source of shapes: transformers/models/glm4v_moe."""

from ..layers.decoders import last_norm_of
from ..layers.latent_decoders import dense_first, expert_count, routed
from ..layers.mixtures import DEEPSEEK, deepseek_shared, sparse, stacked
from ..layers.multimodal import register_worded, seeing
from ..trees import config_defaults, register_part
from .llama import LLAMA

_TEXT = LLAMA.like(
    "Glm4vMoeText",
    **config_defaults("glm4v_moe"),
    out_bias=False,
    mlp_bias=None,
    moe=routed(1408, 128, 8),
    kinds=dense_first(1),
    predicts="sparse",
    further=last_norm_of("Glm4vMoeRMSNorm"),
)
_PARTS = seeing("Glm4vMoeVisionModel", _TEXT.model)
register_worded("glm4v_moe", "Glm4vMoe", _PARTS, tied=False, text_ties=True)
#: The text model by itself is saved as it is in memory: a layer's experts in two tensors.
_ALONE = _TEXT.like(
    "Glm4vMoeText",
    moe=sparse(
        "MoE",
        {**DEEPSEEK, "experts": stacked(act=True)},
        used=8,
        inner=1408,
        count=lambda c: expert_count(c, 128),
        shared=deepseek_shared,
    ),
)
register_part("glm4v_moe_text", "Glm4vMoeTextModel", _ALONE.model, "text decoder")
