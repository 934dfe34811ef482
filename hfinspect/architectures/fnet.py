"""FNet (Lee-Thorp et al. 2021). Source of shapes: transformers/models/fnet/modeling_fnet.py.

BERT with Fourier transforms, in place of attention. They have no tensors,
unless a config for TPUs keeps their matrices.
"""

from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder, pre_training, tables
from ..layers.encoders import BASE, hidden, norm
from ..trees.modules import Buffer, Linear, Module, Parameter
from .bert import BERT

#: Longer texts are transformed without matrices (FNetBasicFourierTransform).
_LONGEST = 4096


def _layer(e: Encoder, c: ModelConfig) -> Module:
    optimized = c.flag("use_tpu_fourier_optimizations", default=False)
    matrices: dict[str, Parameter] = {}
    if optimized and c.dim("max_position_embeddings") <= _LONGEST:
        h, length = hidden(c), c.dim("tpu_short_seq_length", default=512)
        matrices["dft_mat_hidden"] = Buffer(h, h, dtype="C64")
        matrices["dft_mat_seq"] = Buffer(length, length, dtype="C64")
    fourier = Module(
        "FNetFourierTransform",
        {
            "self": Module("FNetBasicFourierTransform", matrices),
            "output": Module("FNetBasicOutput", LayerNorm=norm(c)),
        },
    )
    return Module(
        "FNetLayer",
        fourier=fourier,
        intermediate=encoders.intermediate(c, e.name),
        output=encoders.output(c, e.name),
    )


def _embeddings(e: Encoder, c: ModelConfig) -> Module:
    block = tables(e, c)
    block.children["projection"] = Linear(hidden(c), hidden(c), kind="token")
    return block


_FNET = BERT.like(
    "FNet",
    "fnet",
    defaults={**BASE, "vocab_size": 32000, "type_vocab_size": 4, "hidden_act": "gelu_new"},
    pooling="always",
    embeddings=_embeddings,
    layer=_layer,
)
_FNET.register("fnet", more=pre_training(_FNET))
