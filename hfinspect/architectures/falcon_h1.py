"""Falcon-H1 (TII 2025; transformers/models/falcon_h1): attention and a Mamba 2 mixer side by side
in every layer."""

from ..layers.decoders import Decoder, arranged, attends, feeds, normed
from ..layers.mamba2_mixer import expanded, mixer
from ..trees import Linear, ModelConfig, Module


def _mixer(d: Decoder, c: ModelConfig, _kind: object) -> Module:
    """Its width: absent is 1024; null means expand · hidden_size."""
    h = d.width(c)
    null = "mamba_d_ssm" in c.values and not c.has("mamba_d_ssm")
    inner = expanded(c, "mamba_expand", h) if null else c.dim("mamba_d_ssm", default=1024)
    norm = "FalconH1RMSNormGated" if c.flag("mamba_rms_norm", default=False) else None
    # The output has a switch of its own.
    output = Linear(inner, h, bias=c.flag("projectors_bias", default=False))
    block = mixer("FalconH1Mixer", c, h, norm=norm, inner=inner, act=d.act(c))
    return block.adding(out_proj=output)


Decoder(
    "FalconH1",
    tasks=(),
    last_norm="final_layernorm",
    layer=arranged(
        feed_forward=feeds,
        mamba=_mixer,
        self_attn=attends,
        input_layernorm=normed,
        pre_ff_layernorm=normed,
    ),
).register("falcon_h1")
