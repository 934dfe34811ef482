"""DeepSeek-OCR 2 (DeepSeek-AI 2026; configs say ``deepseek_vl_v2``): in the place of CLIP a
Qwen2-0.5B without vocabulary reads SAM's output and then learned queries."""

from ..layers.decoders import Decoder
from ..trees import Dim, Embedding, ModelConfig, Module, config_defaults
from .deepseek_ocr import SAM, register_ocr, sam_model
from .qwen2 import QWEN2

#: The first's, its last convolution as wide as what follows.
_SAM = SAM.with_values(downsample_channels=[512, 896])
#: Qwen2-0.5B.
_QWEN2 = ModelConfig(config_defaults("deepseek_ocr2"))


def queries(width: Dim) -> dict[str, Module]:
    """Vectors that are learned, for views of two sizes."""
    sizes = {"query_768": 144, "query_1024": 256}
    return {name: Embedding(count, width, kind="query") for name, count in sizes.items()}


def reader(d: Decoder, c: ModelConfig) -> Module:
    """A decoder's layers without a vocabulary."""
    return d.model(c).without("embed_tokens")


def _qwen2() -> Module:
    inner = Module("CustomQwen2Decoder", model=reader(QWEN2, _QWEN2))
    tables = queries(QWEN2.width(_QWEN2))
    return Module("Qwen2Decoder2Encoder", {"model": inner, **tables}, part="vision")


register_ocr(
    "DeepseekOCR2",
    {"sam_model": lambda: sam_model(_SAM), "qwen2_model": _qwen2},
    896,
    ("view_seperator",),
    "index of deepseek-ai/DeepSeek-OCR-2",
)
