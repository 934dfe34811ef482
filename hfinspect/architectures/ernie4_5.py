"""ERNIE 4.5 dense (Baidu 2025; transformers/models/ernie4_5): one switch for all biases."""

from ..layers.blocks import gated_mlp
from ..layers.decoders import Decoder
from ..trees import Dim, ModelConfig, Module, config_defaults


def mlp(d: Decoder, c: ModelConfig, inner: Dim | None = None, kind: str | None = None) -> Module:
    """Llama's, or one ``inner`` wide, with biases where the others have them."""
    wide = d.inner(c) if inner is None else inner
    bias = c.flag("use_bias", default=False)
    return gated_mlp(f"{d.name}MLP", d.width(c), wide, bias=bias, act=d.act(c), kind=kind)


ERNIE = Decoder(
    "Ernie4_5",
    **config_defaults("ernie4_5"),
    null_head_dim=True,
    bias_key="use_bias",
    tasks=(),
    mlp=mlp,
)
# As the first released config.json spelled it.
ERNIE.register("ernie4_5", more={"Ernie4_5_ForCausalLM": ERNIE.classes()["Ernie4_5ForCausalLM"]})
