"""LED (Beltagy et al. 2020). Source of shapes: transformers/models/led/modeling_led.py.

BART whose encoder attends as Longformer: a second set of projections for the tokens that see all.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import seq2seq
from ..layers.seq2seq import Seq2Seq
from ..trees.modules import Linear, Module


def _attention(c: ModelConfig, s: Seq2Seq, side: int, _cross: bool) -> Module:
    if side:
        return seq2seq.attention(c, s, side, class_name="LEDDecoderAttention")
    d, kinds = seq2seq.width(c, s), ("query", "key", "value")
    parts = {f"{kind}{end}": Linear(d, d, kind=kind) for end in ("", "_global") for kind in kinds}
    return Module(
        "LEDEncoderAttention",
        longformer_self_attn=Module("LEDEncoderSelfAttention", parts),
        output=Linear(d, d, kind="output"),
        component=Component.ATTENTION,
    )


Seq2Seq(
    "LED", positions="LearnedPositionalEmbedding", offset=0, embedding_norm=True, prefix="led",
    length_keys=("max_encoder_position_embeddings", "max_decoder_position_embeddings"),
    lengths=(16384, 1024), attends=_attention,
).register("led", *seq2seq.GENERATION, "ForQuestionAnswering")  # fmt: skip
