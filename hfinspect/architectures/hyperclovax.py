"""HyperCLOVA X (NAVER 2025; transformers/models/hyperclovax): norms after attention and MLP too."""

from ..layers.decoders import Decoder, adding, normed, pre_norm
from ..trees import Activation, ModelConfig, Module


def _after(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return normed(d, c) if c.flag("use_post_norm", default=True) else Activation("Identity")


_LAYER = adding(pre_norm, post_norm1=_after, post_norm2=_after)
Decoder("HyperCLOVAX", mlp_bias=False, rotary=False, tasks=(), layer=_LAYER).register("hyperclovax")
