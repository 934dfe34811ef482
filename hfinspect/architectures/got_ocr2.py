"""GOT-OCR 2 (Wei et al. 2024): SAM's image encoder, two strided convolutions and a projection, and
Qwen2. Source: transformers/models/got_ocr2/modeling_got_ocr2.py."""

from functools import partial

from ..layers.multimodal import Joined, projector
from ..trees import Conv, Dim, Linear, ModelConfig, Module, config_defaults, register_part
from .sam import encoder_of


def _projector(j: Joined, c: ModelConfig, _width: Dim, h: Dim) -> Module:
    """Two convolutions that halve the map, and a linear layer."""
    out = c.section("vision_config").dim("output_channels", default=256)
    return projector(
        f"{j.name}MultiModalProjector",
        conv_upsampler1=Conv(out, out * 2, 3, stride=2, bias=False, component=None),
        conv_upsampler2=Conv(out * 2, h, 3, stride=2, bias=False, component=None),
        multimodal_projector=Linear(h, h),
    )


Joined(
    "GotOcr2",
    "got_ocr2_vision",
    "qwen2",
    projector=_projector,
    text_defaults=config_defaults("got_ocr2"),
).register(("got_ocr2", "pp_chart2table"))
_TYPES = ("got_ocr2_vision", "pp_chart2table_vision")
_TOWER = partial(encoder_of, "GotOcr2")
register_part(_TYPES, "GotOcr2VisionEncoder", _TOWER, "vision")
