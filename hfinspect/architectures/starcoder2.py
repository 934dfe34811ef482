"""StarCoder2 (Lozhkov et al. 2024; transformers/models/starcoder2): biases throughout."""

from ..layers.blocks import activation, two_layer_mlp
from ..layers.decoders import LABEL_HEADS, Decoder, layer_norms
from ..layers.windows import windows

Decoder(
    "Starcoder2",
    bias_key="use_bias",
    windows=lambda c: windows(c, None),
    tasks=LABEL_HEADS,
    norm=layer_norms("norm_epsilon"),
    mlp=lambda d, c: two_layer_mlp(
        "Starcoder2MLP",
        d.width(c),
        d.inner(c),
        bias=c.flag("use_bias", default=True),
        names=("c_fc", "c_proj"),
    ).adding(act=activation(d.act(c))),
).register("starcoder2")
