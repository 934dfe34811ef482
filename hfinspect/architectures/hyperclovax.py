"""HyperCLOVA X (NAVER 2025; transformers/models/hyperclovax). Llama's block with a norm after
attention and MLP too, unless ``use_post_norm`` is false."""

from ..layers.decoders import Decoder, pre_norm
from ..trees import Activation, ModelConfig, Module
from .llama import LLAMA


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block, after = pre_norm(d, c, kind), c.flag("use_post_norm", default=True)
    for name in ("post_norm1", "post_norm2"):
        block.children[name] = d.norm(d, c, d.width(c)) if after else Activation("Identity")
    return block


LLAMA.like("HyperCLOVAX", rotary=False, endings=(), layer=_layer).register("hyperclovax")
