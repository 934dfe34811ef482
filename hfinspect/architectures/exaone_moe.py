"""K-EXAONE (LG AI Research 2025; transformers/models/exaone_moe). Files hold a block ``mtp`` of
dense layers for the token after next, which transformers drops (vLLM, exaone_moe_mtp.py)."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder
from ..layers.latent_decoders import dense_first
from ..layers.windows import every, windows
from ..trees import config_defaults
from .qwen3_next import token_predictor, with_predictor

_EXAONE = Decoder(
    "ExaoneMoe",
    **config_defaults("exaone_moe"),
    attention_bias=None,
    qk_norm=True,
    tasks=(),
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=4)))),
    moe=m.sparse(
        "SparseMoEBlock",
        {
            "experts": m.each,
            "gate": m.scores("TopkRouter"),
            "e_score_correction_bias": m.correction,
            "shared_experts": m.always,
        },
        count=m.counts("num_experts", default=64, minimum=1),
        empty=True,
        used=m.counts("num_experts_per_tok", default=8),
        inner=1024,
        shared=m.several("num_shared_experts", default=1),
    ),
    kinds=dense_first(1, listed=True),
)
_CLASSES = with_predictor(
    _EXAONE.classes(),
    lambda c: token_predictor(_EXAONE, c, "dense", c.count("num_nextn_predict_layers", default=0)),
)
_EXAONE.register("exaone_moe", more=_CLASSES)
