"""What SGLang leaves free of a card next to weights and cache, by its own rule.

``mem_fraction_static`` is the share of the memory that is free before the weights are loaded;
weights and cache take it, and the rest is for a step's activations and for CUDA graphs. In MiB::

    left = 512 + 1.5 × tokens of a step (2,048 at least) + 128 × devices + graphs
    graphs = 2 × sequences of the largest decoding graph + 8 × graphs of prompts
    left ≥ 10,240 on cards above 60 GiB
    mem_fraction_static = (card − left) / card, to three digits

Latents (MLA) take 1,536 for the graphs of prompts. Stages, pictures and sound (but for the classes
of ``_CAPTURED``), Kimi's delta attention and DeepSeek-V4 have none. A vision tower multiplies the
share by ``0.95 × (1.1 − 0.1 × layers × width² / (24 × 1024²))``, the second factor between 0.8
and 1.05, and 100 MiB keep its results. AMD's cards capture no prompts, and aiter's attention takes
15% of the share where the context is longer than 8,192.

Source: ``handle_gpu_memory_settings`` and ``adjust_mem_fraction_for_vlm`` in
arg_groups/memory_hook.py, ``generate_prefill_cuda_graph_batch_sizes`` in
arg_groups/cuda_graph_hook.py, configs/model_config.py, ``_profile_available_bytes`` in
mem_cache/kv_cache_configurator.py of SGLang 0.5.23, read on 2026-11-28.
``SGLANG_ENABLE_POST_CAPTURE_KV_SIZING``, which would replace the rule, is off but for Muse Spark.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

MIB: Final = 1024**2
_GIB: Final = 1024  # in MiB
#: Cards of fewer MiB: sequences of the largest decoding graph, on one to three devices and on more.
_SEQUENCES: Final = (
    (20 * _GIB, 8, 8),
    (35 * _GIB, 48, 160),
    (60 * _GIB, 32, 160),
    (160 * _GIB, 256, 512),
)
_MOST_SEQUENCES: Final = 512
#: Tokens of prompts that are captured: (first, last, step).
_PROMPTS: Final = ((4, 32, 4), (48, 256, 16), (288, 512, 32), (576, 1024, 64), (1280, 4096, 256))
_LONG_PROMPTS: Final = (4608, 512)
#: Classes that run as text unless ``--enable-multimodal`` is given.
_AS_TEXT: Final = frozenset(
    """Gemma3ForConditionalGeneration InklingForConditionalGeneration
    Llama4ForConditionalGeneration Step3VLForConditionalGeneration""".split()
)
#: Classes with pictures whose prompts are captured.
_CAPTURED: Final = frozenset(
    """Cohere2VisionForConditionalGeneration Glm5NextForConditionalGeneration
    InternS2MobiusForConditionalGeneration KimiK25ForConditionalGeneration
    KimiK3ForConditionalGeneration MiniMaxM3SparseForCausalLM
    MiniMaxM3SparseForConditionalGeneration MuseGlimmerForConditionalGeneration
    MuseSparkForConditionalGeneration PaddleOCRVLForConditionalGeneration
    Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration
    Qwen4ExpForConditionalGeneration""".split()
)
#: Keys of config.json that make a model more than its text.
_PARTS: Final = ("text_config", "llm_config", "thinker_config", "vision_config", "audio_config")
#: Heads that aiter's kernel for latents has.
_AITER_HEADS: Final = (16, 128)


class ServedModel(NamedTuple):
    """What the rule asks of a model. ``tower``: layers and width of its vision tower."""

    latents: bool = False
    multimodal: bool = False
    tower: tuple[int, int] | None = None
    captured: bool = True
    measures: bool = False
    heads: int = 0
    context: int = 0


class HeldCard(NamedTuple):
    """A card, the devices that share each layer, and the stages."""

    mib: Fraction
    tensor: int = 1
    stages: int = 1
    amd: bool = False


def served(architecture: str, config: Mapping[str, Any], heads: int, context: int) -> ServedModel:
    """Of a class and its config."""
    sections = [config, *(part for name in _PARTS if isinstance(part := config.get(name), dict))]
    several = any(isinstance(config.get(name), dict) for name in _PARTS)
    multimodal = several and architecture not in _AS_TEXT
    delta = any(_delta_layers(section) for section in sections)
    is_v4 = architecture.startswith("DeepseekV4")
    left_out = is_v4 or (delta and architecture != "Glm5NextForConditionalGeneration")
    vision = config.get("vision_config")
    tower = None
    if multimodal and isinstance(vision, dict):
        tower = (_count(vision, "num_hidden_layers", 24), _count(vision, "hidden_size", 1024))
    return ServedModel(
        latents=not is_v4 and any(_count(section, "kv_lora_rank", 0) for section in sections),
        multimodal=multimodal,
        tower=tower,
        captured=not left_out and (not multimodal or architecture in _CAPTURED),
        measures=architecture == "MuseSparkForConditionalGeneration",
        heads=heads,
        context=context,
    )


def _delta_layers(section: Mapping[str, Any]) -> bool:
    linear = section.get("linear_attn_config")
    return isinstance(linear, dict) and bool(linear.get("kda_layers"))


def _count(section: Mapping[str, Any], key: str, usual: int) -> int:
    value = section.get(key, usual)
    return value if type(value) is int and 0 <= value < 2**31 else usual


def static_share(card: HeldCard, step: int, model: ServedModel) -> Fraction:
    """``mem_fraction_static``: the share that weights and cache take; below 0 where nothing is left
    for them."""
    devices = Fraction(card.tensor * card.stages, 8) * 1024
    if model.measures and model.captured and card.stages == 1 and not card.amd:
        left = 1536 + devices
    else:
        left = 512 + max(step, 2048) * Fraction(3, 2) + devices + _graphs(card, step, model)
        if card.mib > 60 * _GIB:
            left = max(left, Fraction(10 * 1024))
    # SGLang rounds a number of 64 bits: ties go where that one lies.
    share = Fraction(repr(round(float((card.mib - left) / card.mib), 3)))
    if model.tower is not None:
        share *= _beside_tower(*model.tower)
    return share * Fraction(85, 100) if card.amd and _by_aiter(card, model) else share


def _by_aiter(card: HeldCard, model: ServedModel) -> bool:
    """Whether aiter's attention runs it, over a context that takes more of its memory."""
    runs = not model.latents or model.heads // card.tensor in _AITER_HEADS
    return runs and model.context > 8192


def _graphs(card: HeldCard, step: int, model: ServedModel) -> int:
    """MiB of the CUDA graphs."""
    few = card.tensor < 4
    sequences = next(
        (one if few else more for below, one, more in _SEQUENCES if card.mib < below),
        _MOST_SEQUENCES,
    )
    if card.stages > 1 or card.amd or not model.captured:
        return 2 * sequences
    if model.latents:
        return 2 * sequences + 1536
    return 2 * sequences + 8 * sum(1 for _ in prompts_captured(step))


def prompts_captured(step: int) -> Iterator[int]:
    """Tokens of the prompts that graphs are captured for, up to those of a step."""
    for first, last, by in _PROMPTS:
        yield from range(first, min(last, step) + 1, by)
    first, by = _LONG_PROMPTS
    yield from range(first, step + 1, by)


def _beside_tower(layers: int, width: int) -> Fraction:
    complexity = Fraction(layers * width**2, 24 * 1024**2)
    factor = 1 - Fraction(1, 10) * (complexity - 1)
    return Fraction(95, 100) * max(Fraction(8, 10), min(Fraction(105, 100), factor))


def left_free(nbytes: int, card: HeldCard, step: int, model: ServedModel, runtime: int) -> int:
    """Bytes of a device that are neither for weights nor for the cache. ``runtime`` are those that
    are taken before the weights are loaded."""
    share = max(static_share(card, step, model), Fraction(0))
    results = 100 * MIB if model.multimodal else 0
    return nbytes - int(share * (nbytes - runtime)) + results
