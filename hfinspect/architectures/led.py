"""LED (Beltagy et al. 2020). Source of shapes: transformers/models/led/modeling_led.py.

BART whose encoder attends as Longformer: a second set of projections for the tokens that see all.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import seq2seq
from ..layers.seq2seq import Seq2Seq
from ..trees.modules import Linear, Module


def _encoder_attention(c: ModelConfig, s: Seq2Seq) -> Module:
    d = seq2seq.width(c, s)
    kinds = ("query", "key", "value")
    return Module(
        "LEDEncoderAttention",
        longformer_self_attn=Module(
            "LEDEncoderSelfAttention",
            {
                **{kind: Linear(d, d, kind=kind) for kind in kinds},
                **{f"{kind}_global": Linear(d, d, kind=kind) for kind in kinds},
            },
        ),
        output=Linear(d, d, kind="output"),
        component=Component.ATTENTION,
    )


STYLE = Seq2Seq(
    "LED",
    positions="LearnedPositionalEmbedding",
    offset=0,
    embedding_norm=True,
    prefix="led",
    encoder_attention=_encoder_attention,
    length_keys=("max_encoder_position_embeddings", "max_decoder_position_embeddings"),
    lengths=(16384, 1024),
)

STYLE.register("led", *seq2seq.GENERATION, "ForQuestionAnswering")
