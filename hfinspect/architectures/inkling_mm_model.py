"""Inkling with its towers (2026; transformers/models/inkling): pixels of a patch folded together
step by step, a table of sounds, and text. File names are those of the first release."""

import math
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, combinations, pairwise
from operator import mul

from ..layers.composing import respelled, respelled_classes
from ..layers.heads import to_words
from ..trees import Component, Dim, ModelConfig, exact, named, register_pair, register_part
from ..trees.modules import Embedding, Layers, Linear, Module, Parameter, RMSNorm, each_module
from . import inkling_text

_NAME = "Inkling"
#: Sides and depths of a patch, and steps, beyond any real tower: the planning is quadratic in them.
_MAX_SIDE = 4096
_MAX_STEPS = 256
#: Class of the text tower -> names of its parts in files, where they are others than in memory.
_SPELLED = {
    "DecoderLayer": {
        "self_attn": "attn",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "mlp_norm",
    },
    "Attention": {
        "q_proj": "wq_du",
        "k_proj": "wk_dv",
        "v_proj": "wv_dv",
        "r_proj": "wr_du",
        "o_proj": "wo_ud",
    },
    "MLP": {"gate_proj": "w13_dn", "down_proj": "w2_md"},
    "TopkRouter": {"e_score_correction_bias": "bias"},
    "Experts": {"gate_up_proj": "w13_weight", "down_proj": "w2_weight"},
    "SharedExperts": {"gate_proj": "shared_w13_weight", "down_proj": "shared_w2_weight"},
}


def _primes(number: int) -> list[int]:
    """Prime factors, the largest first."""
    least = next((i for i in range(2, number + 1) if number % i == 0), None)
    return [*_primes(number // least), least] if least else []


Scale = tuple[int, int, int]  # depth in time, side, channels


def _scales(c: ModelConfig) -> list[Scale]:
    """How much of a patch one vector covers, step by step. Source: plan_out_scales."""
    usual = {"patch_size": 40, "temporal_patch_size": 2, "num_channels": 3}
    sizes = (c.dim(key, default=size, maximum=_MAX_SIDE) for key, size in usual.items())
    side, depth, channels = map(int, sizes)
    sides, depths = (accumulate(_primes(number), mul) for number in (side, depth))
    known: list[Scale] = [(1, 1, channels)]
    known += [(1, h, math.ceil(h * h * channels / 64) * 64) for h in sides]
    known += [(t, side, side * side * channels * t * 64) for t in depths]
    if len(known) == 1:
        raise c.error("patch_size", side, "more than 1, or a temporal_patch_size above 1")
    steps = int(c.dim("num_hidden_layers", "n_layers", default=24, maximum=_MAX_STEPS))
    total = math.log(side * side * depth * channels)
    targets = [total * i / steps for i in range(steps + 1)]
    costs = [[abs(want - math.log(t * h * h)) for t, h, _ in known] for want in targets]
    if steps >= len(known):
        chosen = [row.index(min(row)) for row in costs]
        others = [sorted(row)[1] - min(row) for row in costs[1:-1]]
    else:
        chosen = _assigned(costs)[1]
        others = [*_others(costs, chosen)]
    if any(more < 1e-4 for more in others):  # the same to a solver in single precision
        raise c.error("num_hidden_layers", steps, "a number of steps that one plan fits best")
    chosen[0] = 0
    chosen[-1] = len(known) - 1
    return [known[i] for i in chosen]


def _assigned(costs: list[list[float]]) -> tuple[float, list[int]]:
    """The least cost of a different column for each row, and these: in order, since both grow."""
    best: list[tuple[float, list[int]]] = [(0.0, [])] * (len(costs[0]) + 1)
    for row in costs:
        now: list[tuple[float, list[int]]] = [(math.inf, [])]
        for (total, columns), (j, cost) in zip(best, enumerate(row), strict=False):
            now.append(min(now[-1], (total + cost, [*columns, j])))
        best = now
    return best[-1]


def _others(costs: list[list[float]], chosen: list[int]) -> Iterator[float]:
    """How much more other assignments cost: which of several even ones the library's solver takes
    depends on how it rounds. The first and the last row are the same in all."""
    least = _assigned(costs)[0]
    rows = range(len(costs))
    for i in rows[1:-1]:
        without = [[*row] for row in costs]
        without[i][chosen[i]] = math.inf
        yield _assigned(without)[0] - least
    for i, j in combinations(rows, 2):
        if (i, j) != (0, rows[-1]):
            a = chosen[i]
            b = chosen[j]
            yield costs[i][b] + costs[j][a] - costs[i][a] - costs[j][b]


_norm = partial(RMSNorm, class_name=f"{_NAME}RMSNorm")


def _vision_model(c: ModelConfig, text: Dim) -> Module:
    layers = Module("ModuleDict")
    scales = [*pairwise(_scales(c))]
    for i, ((t, h, wide), (t2, h2, wide2)) in enumerate(scales, 1):
        last = i == len(scales)
        folded = wide * (t2 // t) * (h2 // h) ** 2
        inputs = named(folded, f"folded_{i - 1}", "channels of the patches that step joins")
        out = text if last else exact(wide2)
        layers.children[f"linear_{i - 1}"] = Linear(inputs, out, bias=False)
        layers.adding(**{f"norm_{i - 1}": None if last else _norm(out)})
    return Module(f"{_NAME}VisionModel", layers=layers, final_norm=_norm(text), part="vision")


def _vision_alone(c: ModelConfig) -> Module:
    """Step by step, as transformers itself has it."""
    tower = _vision_model(c, c.dim("text_hidden_size", default=6144))
    steps = []
    folding = tower.inside("layers").children
    for name in [name for name in folding if name.startswith("linear_")]:
        weight = _weight(folding[name])
        norm = folding.get(name.replace("linear", "norm"))
        linear = Module("Linear", weight=weight, component=Component.PROJECTOR)
        steps.append(Module(f"{_NAME}VisionEncoderLayer", projection=linear, layer_norm=norm))
    tower.children = {"encoder_layers": Layers(steps), "final_norm": tower["final_norm"]}
    return tower


def _weight(module: Module | Parameter) -> Parameter:
    return module if isinstance(module, Parameter) else module.tensor()


def _text_model(c: ModelConfig) -> Module:
    """Names of files below the layers, and short convolutions without the module in between."""
    tower = inkling_text.model(c)
    for module in each_module(tower):
        parts = module.children
        if parts.pop("up_proj", None):  # gate and up interleaved, row by row
            gate = parts["gate_proj"]
            *outer, rows, columns = _weight(gate).shape
            both = Parameter((*outer, 2 * rows, columns))
            parts["gate_proj"] = both if gate is _weight(gate) else Module("Linear", weight=both)
        if "conv1d" in parts:
            parts["weight"] = _weight(parts.pop("conv1d"))
    return respelled_classes(tower, _SPELLED, _NAME)


def _model(c: ModelConfig) -> Module:
    """A save of it alone has the names of transformers' own attributes for the towers and the
    embedding, and those of the first release inside."""
    text = c.section("text_config")
    audio = c.section("audio_config")
    hidden = text.dim("hidden_size", default=6144)
    bins = audio.dim("n_mel_bins", "num_codebooks", default=80)
    sounds = bins * audio.dim("mel_vocab_size", "codebook_size", default=256)
    heard = {"encoder": Embedding(sounds, hidden), "final_norm": _norm(hidden)}
    return Module(
        f"{_NAME}Model",
        language_model=_text_model(text),
        vision_tower=_vision_model(c.section("vision_config"), hidden),
        audio_tower=Module(f"{_NAME}AudioModel", heard, part="audio"),
    )


def _generation(c: ModelConfig) -> Module:
    names = {"language_model": "llm", "audio_tower": "audio", "vision_tower": "visual"}
    model = respelled(_model(c), names)
    llm = model.inside("llm")
    words = model.inside("llm", "embed_tokens")
    vocab, hidden = words.tensor().shape
    first = {"embed": words, "embed_norm": words.children.pop("embed_norm")}
    decoder = llm.without("embed_tokens").adding(unembed=to_words(hidden, vocab))
    llm.children = {**first, **decoder.children}
    return Module(_WHOLE, model=model)


_WHOLE = f"{_NAME}ForConditionalGeneration"
register_pair("inkling_mm_model", _NAME, _generation, _model, "multimodal", prefix="", base=_WHOLE)
register_part("inkling_vision", f"{_NAME}VisionModel", _vision_alone, "vision")
