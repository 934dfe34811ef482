"""DeepSeek-OCR 2 as transformers has it, all sizes in the config (models/deepseek_ocr2). Whole
files keep the first release's names (deepseek_ocr2.py), a part alone those of the attributes."""

from collections.abc import Callable

from ..layers import mixtures as m
from ..layers.composing import renamed
from ..layers.decoders import Decoder, evenly
from ..layers.multimodal import projector, register_worded
from ..trees import Component, Linear, ModelConfig, Module, Weight, register_part
from . import sam
from .deepseek_ocr import sam_encoder
from .deepseek_ocr2 import queries, reader
from .llama import LLAMA
from .qwen2 import QWEN2

_NAME = "DeepseekOcr2"
_count = m.counts("n_routed_experts", "num_experts", default=64, minimum=1)


def routed(
    inner: int = 1407, chosen: int | None = None, experts: m.MixturePart = m.each
) -> Callable[[Decoder, ModelConfig], Module]:
    """``inner`` and ``chosen`` are defaults: of an expert's width, of the experts of a token (None:
    all of them)."""
    return m.sparse(
        "Moe",
        {"experts": experts, "gate": m.scores("TopkRouter"), "shared_experts": m.biased},
        count=_count,
        used=lambda c: c.dim("num_experts_per_tok", default=chosen or _count(c)),
        inner=inner,
        shared=m.several("n_shared_experts", default=2),
        empty=True,
    )


#: For ``mlp_layer_types`` the class has no default. A part saved alone has its experts stacked.
_TEXT = LLAMA.like(
    f"{_NAME}Text",
    vocab_size=102400,
    attention=evenly,
    moe=routed(),
    kinds=lambda _d, c, n: c.strings("mlp_layer_types", default=None if n else (), count=n),
)
_ALONE = _TEXT.like(_TEXT.name, moe=routed(experts=m.stacked()))


def _sam(c: ModelConfig) -> Module:
    """Under the names of files of the whole."""
    inner = int(c.dim("hidden_size", default=768) * c.number("mlp_ratio", default=4.0))
    tower = sam_encoder(c.with_defaults(mlp_dim=inner, downsample_channels=[512, 896]))
    return renamed(tower, "Sam", f"{_NAME}Sam")


def _sam_model(c: ModelConfig) -> Module:
    """Under those of transformers' attributes."""
    tower = sam.vision_encoder(c)
    files = _sam(c)
    proj = Module(f"{_NAME}SamVisionProj", conv1=files["net_2"], conv2=files["net_3"])
    return renamed(tower.adding(proj=proj), "Sam", f"{_NAME}Sam")


_READER = QWEN2.like(f"{_NAME}Vision")


def _encoder(c: ModelConfig) -> Module:
    """Qwen2's layers without a vocabulary."""
    built = reader(_READER, c)
    built.class_name = f"{_NAME}VisionEncoder"
    built.part = "vision"
    return renamed(built, f"{_NAME}VisionDecoderLayer", f"{_NAME}VisionEncoderLayer")


def _vision_model(c: ModelConfig) -> Module:
    encoder = c.section("encoder_config")
    near = _sam_model(c.section("sam_config"))
    towers = {"sam_encoder": near, "vision_encoder": _encoder(encoder)}
    tables = {f"{at}_resolution": table for at, table in queries(_READER.width(encoder)).items()}
    return Module(f"{_NAME}VisionModel", {**towers, **tables}, part="vision")


def _base(c: ModelConfig) -> Module:
    """Under the names of files."""
    text = c.section("text_config")
    vision = c.section("vision_config")
    encoder = vision.section("encoder_config")
    h = _TEXT.width(text)
    inside = _encoder(encoder)
    width = _READER.width(encoder)
    parts = {"model": Module(inside.class_name, model=inside), **queries(width)}
    return _TEXT.named(f"{_NAME}Model", text).adding(
        sam_model=_sam(vision.section("sam_config")),
        qwen2_model=Module(f"{_NAME}VisionModel", parts, part="vision"),
        projector=projector("MlpProjector", layers=Linear(width, h)),
        view_seperator=Weight(h, component=Component.EMBEDDING),
    )


register_worded("deepseek_ocr2", _NAME, _base, tied=False, text="", alone=_ALONE.model)
register_part("deepseek_ocr2_vision", f"{_NAME}VisionModel", _vision_model, "vision")
register_part("deepseek_ocr2_sam_vision_model", f"{_NAME}SamVisionEncoder", _sam_model, "vision")
register_part("deepseek_ocr2_encoder", f"{_NAME}VisionEncoder", _encoder, "vision")
