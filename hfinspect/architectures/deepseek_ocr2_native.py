"""DeepSeek-OCR 2 as transformers has it: every size stands in the config, and the text model lists
which layers have experts. Source of shapes: transformers/models/deepseek_ocr2.

Files of the whole keep the names of the first release (deepseek_ocr2.py); a part saved alone has
those of transformers' attributes.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import layer_types
from ..layers.composing import renamed, respelled
from ..layers.decoders import Decoder
from ..layers.experts import routed_and_shared, router, stacked_experts
from ..layers.heads import to_words
from ..trees.catalog import register_pair, register_part
from ..trees.modules import Conv, Embedding, Linear, Module, Sequential, Weight
from . import got_ocr2
from .deepseek_ocr2 import QUERIES
from .llama import LLAMA
from .qwen2 import QWEN2

_NAME = "DeepseekOcr2"
#: A part of SAM -> its name in files of the whole.
_SAM_FILES = {
    "layers": "blocks", "layer_norm1": "norm1", "layer_norm2": "norm2", "projection": "proj",
}  # fmt: skip
_DOWNSAMPLED = (512, 896)


# ---- text


def _routed(d: Decoder, c: ModelConfig, *, stacked: bool) -> Module:
    h, inner = d.width(c), c.dim("moe_intermediate_size", default=1407)
    count = c.count("n_routed_experts", "num_experts", default=64, minimum=1)
    per_token = c.dim("num_experts_per_tok", default=count)
    shared = inner * c.count("n_shared_experts", default=2)
    block = routed_and_shared(
        d.name, h, inner, count=count, per_token=per_token, shared=shared,
        gate=router(f"{d.name}TopkRouter", h, count), act=d.act(c),
        bias=c.flag("mlp_bias", default=False), class_name=f"{d.name}Moe",
    )  # fmt: skip
    if stacked:
        block.children["experts"] = stacked_experts(f"{d.name}Experts", count, per_token, h, inner)
    return block


def _kinds(_d: Decoder, c: ModelConfig, count: int) -> tuple[str, ...]:
    """``mlp_layer_types``, for which the class has no default."""
    if count and not c.has("mlp_layer_types"):
        raise c.error("mlp_layer_types", None, "sparse or dense for each layer")
    return layer_types(c, count, lambda _: "dense", key="mlp_layer_types")


def _decoder(*, stacked: bool) -> Decoder:
    return LLAMA.like(
        f"{_NAME}Text",
        vocab_size=102400,
        mlp_bias=False,
        moe=partial(_routed, stacked=stacked),
        kinds=_kinds,
    )


_TEXT, _TEXT_FILES = _decoder(stacked=True), _decoder(stacked=False)


def _narrow(c: ModelConfig) -> ModelConfig:
    """head_dim is hidden / heads, whatever the config says."""
    return ModelConfig({k: v for k, v in c.values.items() if k != "head_dim"}, c.path)


def text_model(c: ModelConfig) -> Module:
    return _TEXT.model(_narrow(c))


# ---- vision


def _downsampled(c: ModelConfig) -> tuple[Dim, Dim]:
    found = c.dims("downsample_channels", default=_DOWNSAMPLED)
    if len(found) < 2:
        raise c.error("downsample_channels", c.raw("downsample_channels"), "two widths")
    return found[0], found[1]


def sam_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    ratio = c.number("mlp_ratio", default=4.0)
    tower = got_ocr2.vision_model(c.with_defaults(mlp_dim=int(int(h) * ratio)))
    first, second = _downsampled(c)
    out = c.dim("output_channels", default=256)
    tower.children["proj"] = Module(
        f"{_NAME}SamVisionProj",
        conv1=Conv(out, first, 3, stride=2, bias=False),
        conv2=Conv(first, second, 3, stride=2, bias=False),
    )
    renamed(tower, "GotOcr2VisionAttention", f"{_NAME}SamVisionSdpaAttention")
    return renamed(tower, "GotOcr2", f"{_NAME}Sam")


_READER = QWEN2.like(
    f"{_NAME}Vision", vocab_size=151936, intermediate_size=22016, num_key_value_heads=32
)


def reader(c: ModelConfig) -> Module:
    """Qwen2's layers without a vocabulary."""
    built = _READER.model(c)
    del built.children["embed_tokens"]
    built.class_name, built.part = f"{_NAME}VisionEncoder", "vision"
    return renamed(built, f"{_NAME}VisionDecoderLayer", f"{_NAME}VisionEncoderLayer")


def vision_model(c: ModelConfig) -> Module:
    encoder = c.section("encoder_config")
    width = encoder.dim("hidden_size", default=4096)
    return Module(
        f"{_NAME}VisionModel",
        {
            "sam_encoder": sam_model(c.section("sam_config")),
            "vision_encoder": reader(encoder),
            **{
                f"{key}_resolution": Embedding(count, width, kind="query")
                for key, count in QUERIES.items()
            },
        },
        part="vision",
    )


# ---- together, under the names of files


def _sam_file(c: ModelConfig) -> Module:
    tower = respelled(sam_model(c), _SAM_FILES)
    neck, proj = tower["neck"], tower.children.pop("proj")
    assert isinstance(neck, Module) and isinstance(proj, Module)
    parts = [part for part in neck.children.values() if isinstance(part, Module)]
    tower.children["neck"] = Sequential(*parts)
    tower.children |= {"net_2": proj["conv1"], "net_3": proj["conv2"]}
    return tower


def base(c: ModelConfig) -> Module:
    text, vision = _narrow(c.section("text_config")), c.section("vision_config")
    encoder = vision.section("encoder_config")
    width, h = encoder.dim("hidden_size", default=4096), _TEXT_FILES.width(text)
    queries = {key: Embedding(count, width, kind="query") for key, count in QUERIES.items()}
    inside = Module(f"{_NAME}VisionEncoder", model=reader(encoder))
    return Module(
        f"{_NAME}Model",
        {
            **_TEXT_FILES.model(text).children,
            "sam_model": _sam_file(vision.section("sam_config")),
            "qwen2_model": Module(
                f"{_NAME}VisionModel", {"model": inside, **queries}, part="vision"
            ),
            "projector": Module(
                "MlpProjector",
                layers=Linear(width, h),
                component=Component.PROJECTOR,
                part="projector",
            ),
            "view_seperator": Weight(h, component=Component.EMBEDDING),
        },
    )


def generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    head = to_words(
        _TEXT_FILES.width(text),
        text.dim("vocab_size", default=102400),
        "model.embed_tokens.weight" if c.tied(default=False) else None,
    )
    return Module(f"{_NAME}ForConditionalGeneration", model=base(c), lm_head=head)


register_pair("deepseek_ocr2", _NAME, generation, base, "multimodal")
register_part("deepseek_ocr2_text", f"{_NAME}TextModel", text_model, "text decoder")
register_part("deepseek_ocr2_vision", f"{_NAME}VisionModel", vision_model, "vision")
register_part("deepseek_ocr2_sam_vision_model", f"{_NAME}SamVisionEncoder", sam_model, "vision")
register_part("deepseek_ocr2_encoder", f"{_NAME}VisionEncoder", reader, "vision")
