"""FNet (Lee-Thorp et al. 2021): BERT with Fourier transforms in place of attention, which have no
tensors unless a config for TPUs keeps their matrices (transformers/models/fnet)."""

from ..layers.bert_encoders import Encoder, pre_training, tables
from ..layers.encoders import BASE, hidden, intermediate, norm, output
from ..trees import Buffer, Linear, ModelConfig, Module
from .bert import BERT


def _layer(e: Encoder, c: ModelConfig) -> Module:
    fourier = Module("FNetBasicFourierTransform")
    h = hidden(c)
    optimized = c.flag("use_tpu_fourier_optimizations", default=False)
    # Longer texts are transformed without matrices (FNetBasicFourierTransform).
    if optimized and c.dim("max_position_embeddings") <= 4096:
        n = c.dim("tpu_short_seq_length", default=512)
        both = Buffer(h, h, dtype="C64"), Buffer(n, n, dtype="C64")
        fourier.adding(dft_mat_hidden=both[0], dft_mat_seq=both[1])
    mixed = {"self": fourier, "output": Module("FNetBasicOutput", LayerNorm=norm(c))}
    return Module(
        "FNetLayer",
        fourier=Module("FNetFourierTransform", mixed),
        intermediate=intermediate(c, e.name),
        output=output(c, e.name),
    )


_FNET = BERT.like(
    "FNet",
    "fnet",
    pooling="always",
    layer=_layer,
    embeddings=lambda e, c: tables(e, c).adding(projection=Linear(h := hidden(c), h, kind="token")),
    defaults={**BASE, "vocab_size": 32000, "type_vocab_size": 4, "hidden_act": "gelu_new"},
)
_FNET.register("fnet", more=pre_training(_FNET))
