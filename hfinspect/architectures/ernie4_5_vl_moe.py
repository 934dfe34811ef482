"""ERNIE 4.5 VL (Baidu 2025; transformers/models/ernie4_5_vl_moe). The released configs
(``ernie4_5_moe_vl``) have the decoder's keys at the top, some once for each set of experts
(configuration_ernie4_5_vl.py in ERNIE-4.5-VL-28B-A3B-PT)."""

from functools import partial

from ..layers.composing import renamed
from ..layers.decoders import Decoder, gated_of, grouped
from ..layers.experts import router, stacked_experts
from ..layers.layer_kinds import words
from ..layers.multimodal import projector
from ..layers.vision import scaled
from ..trees import Component, Dim, ModelConfig, builder, config_defaults, exact, register
from ..trees.modules import LayerNorm, Linear, Module, ModuleList, RMSNorm, Weight
from .ernie4_5 import mlp

_NAME = "Ernie4_5_VLMoe"


def _moe(d: Decoder, c: ModelConfig, *, alone: bool = False) -> Module:
    """Files number the experts for patches after those for words, and have the routers' scores
    transposed. A save of the text model ``alone`` has the names in memory, each set stacked."""
    h = d.width(c)
    count = c.count("moe_num_experts", "num_experts", default=64, minimum=1)
    used = min(int(c.count("moe_k", "num_experts_per_tok", default=6)), int(count))
    inner, inner_patches = c.dims("moe_intermediate_size", default=(1536, 512), count=2)
    sharing = c.count("moe_num_shared_experts", default=2)

    def statics(sets: int) -> Module:
        bias = Weight(exact(sets), count)
        parts = {"e_score_correction_bias": bias}
        return Module(f"{_NAME}MoeStatics", parts, component=Component.ROUTER)

    def stacked(inner: Dim, active: int) -> Module:
        gate = router(f"{_NAME}MoeTopKRouter", h, count).adding(moe_statics=statics(1))
        both = stacked_experts(f"{_NAME}MoeExperts", count, active, h, inner)
        return Module(f"{_NAME}SparseMoeBlock", gate=gate, experts=both)

    if alone:
        parts = {"text_moe": stacked(inner, used), "vision_moe": stacked(inner_patches, 0)}
    else:
        # A token goes to either set. Those of words are counted as active, as usual for a decoder.
        sets = [gated_of(d, c, width, "expert") for width in (inner, inner_patches)]
        sets[0].active = (used, int(count))
        sets[1].active = (0, int(count))
        each = ModuleList([sets[0]] * int(count) + [sets[1]] * int(count), kind="expert")
        gate = router(f"{_NAME}MoeTopKRouter", count, h).adding(weight_1=Weight(h, count))
        parts = {"gate": gate, "moe_statics": statics(2)}
        parts["experts"] = each.called(f"{_NAME}MoeExperts")
    shared = mlp(d, c, inner * sharing, "shared_expert") if sharing else None
    return Module(f"{_NAME}MoeBlock", dict(parts), shared_experts=shared, component=Component.MLP)


TEXT = Decoder(
    _NAME,
    **config_defaults("ernie4_5_vl_moe"),
    bias_key="use_bias",
    attention=lambda d, c: grouped(d, c).called(f"{d.name}TextAttention"),
    mlp=mlp,
    moe=_moe,
    kinds=words(lambda _c, i: "sparse" if i else "dense", key="mlp_layer_types"),
)


def _decoder(d: Decoder, c: ModelConfig) -> Module:
    return renamed(d.named(f"{_NAME}TextModel", c), f"{_NAME}Rotary", f"{_NAME}TextRotary")


def _resampler(c: ModelConfig, out: Dim) -> Module:
    """Joins a square of patches, then two frames. Files number the parts of an MLP and its norm."""
    side = c.dim("spatial_merge_size", default=2)
    space = c.dim("hidden_size", default=1280) * side * side

    def mlp(inputs: Dim) -> Module:
        parts = {"0": Linear(inputs, space), "2": Linear(space, space), "3": LayerNorm(space)}
        return Module(f"{_NAME}VisionMLP", parts)

    return projector(
        f"{_NAME}VariableResolutionResamplerModel",
        spatial_linear=mlp(space),
        temporal_linear=mlp(space * c.dim("temporal_merge_size", default=2)),
        mlp=Linear(space, out),
        after_norm=RMSNorm(out, class_name=f"{_NAME}RMSNorm"),
    )


def _alike(c: ModelConfig, key: str) -> int | None:
    """A number, or one for each set of experts, all equal."""
    numbers = {int(number) for number in c.dims(key, minimum=0)} if c.has(key) else {None}
    if len(numbers) != 1:
        raise c.error(key, c.raw(key), "the same for both sets of experts")
    return numbers.pop()


def _sections(c: ModelConfig) -> tuple[ModelConfig, ModelConfig]:
    """The decoder's config and the tower's, in the words of transformers."""
    vision = c.section("vision_config")
    if c.has("text_config") or not c.has("hidden_size"):
        return c.section("text_config"), vision
    values = dict(c.values)
    tower = dict(vision.values)
    values["moe_num_experts"] = _alike(c, "moe_num_experts")
    first = _alike(c, "moe_layer_start_index")
    if first is not None:
        count = int(c.count("num_hidden_layers", default=28))
        values["mlp_layer_types"] = ["dense" if i < first else "sparse" for i in range(count)]
    if vision.has("embed_dim"):
        tower["hidden_size"] = vision.raw("embed_dim")
    width = vision.dim("embed_dim", "hidden_size", default=1280)
    tower["intermediate_size"] = int(scaled(vision, width, "mlp_ratio", default=4))
    return ModelConfig(values, c.path), ModelConfig(tower, vision.path)


def _base(c: ModelConfig) -> Module:
    """Files keep the decoder's parts next to the tower, as if there were no towers."""
    text, vision = _sections(c)
    tower = builder(f"{_NAME}VisionTransformerPretrainedModel")(vision)
    resampler = _resampler(vision, TEXT.width(text))
    root = _decoder(TEXT, text).called(f"{_NAME}Model")
    return root.adding(vision_model=tower, resampler_model=resampler)


def _generation(c: ModelConfig) -> Module:
    head = TEXT.words(_sections(c)[0], "model.embed_tokens.weight" if c.tied() else None)
    return Module(f"{_NAME}ForConditionalGeneration", model=_base(c), lm_head=head)


# Each class has an older name too, which transformers goes on to know.
_NAMES = (_NAME, "Ernie4_5_VL_Moe")
_CLASSES = {"ForConditionalGeneration": _generation, "Model": _base}
register(
    ("ernie4_5_vl_moe", "ernie4_5_moe_vl"),
    {f"{name}{ending}": build for name in _NAMES for ending, build in _CLASSES.items()},
    base_prefix="model",
    aliases={
        "model.language_model.": "model.",
        "model.vision_tower.": "model.vision_model.",
        "vision_model.": "model.vision_model.",
    },
    category="multimodal",
)
_alone = partial(_decoder, TEXT.like(_NAME, moe=partial(_moe, alone=True)))
_TEXTS = dict.fromkeys((f"{name}TextModel" for name in _NAMES), _alone)
register("ernie4_5_vl_moe_text", _TEXTS, category="text decoder")
