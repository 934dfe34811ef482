"""DeepSeek-OCR 2 (DeepSeek-AI 2026): in the place of CLIP a Qwen2-0.5B without vocabulary reads
SAM's output and then learned queries. Configs say model_type ``deepseek_vl_v2``; their names of the
towers, and the total in the index, are what shapes were checked against."""

from ..core.nouns import Dim, ModelConfig
from ..layers.decoders import Decoder
from ..trees.modules import Embedding, Module
from .deepseek_ocr import SAM, register_ocr, sam_model
from .qwen2 import QWEN2

#: Qwen2-0.5B.
_QWEN2 = ModelConfig(
    {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
     "num_attention_heads": 14, "num_key_value_heads": 2}
)  # fmt: skip


def queries(width: Dim) -> dict[str, Module]:
    """Vectors that are learned, for views of two sizes."""
    sizes = {"query_768": 144, "query_1024": 256}
    return {name: Embedding(count, width, kind="query") for name, count in sizes.items()}


def reader(d: Decoder, c: ModelConfig) -> Module:
    """A decoder's layers without a vocabulary."""
    return d.model(c).without("embed_tokens")


def _sam() -> Module:
    """The first's, its last convolution as wide as what follows."""
    return sam_model(SAM.with_values(downsample_channels=[512, 896]))


def _qwen2() -> Module:
    inner = Module("CustomQwen2Decoder", model=reader(QWEN2, _QWEN2))
    tables = queries(QWEN2.width(_QWEN2))
    return Module("Qwen2Decoder2Encoder", {"model": inner, **tables}, part="vision")


register_ocr(
    "DeepseekOCR2", {"sam_model": _sam, "qwen2_model": _qwen2}, 896, ("view_seperator",),
    "index of deepseek-ai/DeepSeek-OCR-2",
)  # fmt: skip
