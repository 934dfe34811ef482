"""Whether PEFT finds a place in the base for what a LoRA adapter holds.

PEFT builds the modules that adapter_config.json names in the base, and fills them by their whole
paths: a tensor without such a module is left out, with a warning at most, a tensor of another shape
raises. Source: set_peft_model_state_dict in peft/utils/save_and_load.py, peft 0.21.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...analysis.labels.lookup import spec_finder
from ...analysis.renamings import ANYWHERE
from ...core.text import shape_text
from ...core.wholeness import Problem, of_names
from ...errors import HfinspectError
from ...trees.prediction import predict

TensorShape = tuple[int, ...]

#: What stands before the path of a module in the base.
PREFIX: Final = "base_model.model."
_HALF = re.compile(r"\.lora_(embedding_)?([AB])(?:\.[^.]+)?(?:\.weight)?$")
#: Halves of which the adapter's name was cut out, with the end of ``lora_A``.
_CUT = re.compile(r"_[AB]\.weight$")
#: Categories of the catalog whose names in files are the paths of the library's modules.
_LITERAL: Final = ("text decoder", "encoder", "encoder-decoder")
#: Front segments with which names of one module differ.
_FRONTS: Final = ("model.", "transformer.", "base_model.")
_MAX_SETTINGS = 1000


class AdapterBase(NamedTuple):
    """The model that an adapter is put on.

    ``shapes`` are those of its tensors by name; ``literal``: whether names are the paths of the
    class's modules, so that PEFT takes them as they are.
    """

    shapes: Mapping[str, TensorShape]
    architecture: str = "the base"
    literal: bool = False


class _LoraPair(NamedTuple):
    """The names of both halves of a module, and their shapes; None where one is not there."""

    module: str
    first: tuple[str, TensorShape] | None
    second: tuple[str, TensorShape] | None
    embedding: bool

    @property
    def name(self) -> str:
        """Of a tensor that is there."""
        half = self.first or self.second
        assert half is not None
        return half[0]


def base_of(
    config: Mapping[str, Any] | None,
    settings: Mapping[str, object],
    stored: Mapping[str, TensorShape] | None = None,
) -> AdapterBase | None:
    """The base by its config, or by its tensors; None where neither says anything.

    The class is the one that the adapter names (``auto_mapping``), the bare one where the task is
    to extract features, else the config's. Of what the config predicts, modules count that are
    ``stored`` too, where that is known.
    """
    try:
        prediction = None if config is None else predict(config)
        family = None if prediction is None else prediction.family
        if config is not None and family is not None:
            name = _class_of(settings) or (
                family.base if settings.get("task_type") == "FEATURE_EXTRACTION" else None
            )
            if name in family.classes and prediction is not None:
                prediction = predict({**config, "architectures": [name]})
        if prediction is None:
            return None if not stored else AdapterBase(stored)
        specs = list(prediction.specs)
    except HfinspectError:
        return None if not stored else AdapterBase(stored)
    if stored:
        find = spec_finder(prediction)
        found_specs = (find(name) for name in stored)
        there = {_module(spec.name) for spec in found_specs if spec is not None}
        there |= {_module(name) for name in stored}
        specs = [one for one in specs if one.tied_to is not None or _module(one.name) in there]
    literal = family is not None and family.source == "transformers" and family.category in _LITERAL
    return AdapterBase({spec.name: spec.shape for spec in specs}, prediction.architecture, literal)


def _class_of(settings: Mapping[str, object]) -> str | None:
    mapping = settings.get("auto_mapping")
    name = mapping.get("base_model_class") if isinstance(mapping, dict) else None
    return name if isinstance(name, str) else None


def adapter_problems(
    tensors: Mapping[str, TensorShape], settings: Mapping[str, object], base: AdapterBase | None
) -> Iterator[Problem]:
    """What PEFT would leave out, refuse or fill with nothing of a LoRA adapter."""
    if str(settings.get("peft_type", "LORA")).upper() != "LORA" or not tensors:
        return
    pairs = _pairs(tensors)
    if not pairs:
        yield from _no_pair(tensors, settings)
        return
    yield from _halves(pairs)
    yield from _ranks(pairs, settings)
    yield from _saved_modules(tensors, settings)
    if base is not None:
        yield from _places(pairs, base)
        yield from _shapes(pairs, tensors, settings, base)
        yield from _without_matrices(pairs, settings, base)


def _pairs(tensors: Mapping[str, TensorShape]) -> list[_LoraPair]:
    halves: dict[tuple[str, bool], dict[str, tuple[str, TensorShape]]] = {}
    for name, shape in tensors.items():
        match = _HALF.search(name)
        if match is not None:
            key = (name[: match.start()], match[1] is not None)
            halves.setdefault(key, {})[match[2]] = (name, shape)
    return [
        _LoraPair(module, both.get("A"), both.get("B"), embedding)
        for (module, embedding), both in halves.items()
    ]


def _halves(pairs: Sequence[_LoraPair]) -> Iterator[Problem]:
    """Modules with one matrix of two: PEFT keeps the other as it was initialised."""
    alone = [pair for pair in pairs if pair.first is None or pair.second is None]
    if alone:
        names, count = of_names([pair.name for pair in alone])
        text = f"{count:,} of {len(pairs):,} modules lack one of their two matrices"
        cause = "PEFT keeps the other as it was initialised"
        yield Problem("broken_contract", text, count, names[0], cause, "save the adapter again",
                      names=names)  # fmt: skip


def _ranks(pairs: Sequence[_LoraPair], settings: Mapping[str, object]) -> Iterator[Problem]:
    """Matrices of another rank than the config says, or than their other half: PEFT refuses."""
    pattern = settings.get("rank_pattern")
    ranks = {settings.get("r"), *(pattern.values() if isinstance(pattern, dict) else ())}
    declared = {rank for rank in ranks if type(rank) is int}
    other = [pair for pair in pairs if not _of_rank(pair, declared)]
    if other:
        names, count = of_names([pair.name for pair in other])
        shown = " or ".join(map(str, sorted(declared))) or "unknown"
        text = f"{count:,} of {len(pairs):,} modules are of another rank than {shown}"
        yield Problem("broken_contract", text, count, names[0], "PEFT refuses them",
                      "correct r or rank_pattern", names=names)  # fmt: skip


def _of_rank(pair: _LoraPair, declared: set[int]) -> bool:
    first = None if pair.first is None or not pair.first[1] else pair.first[1][0]
    second = None if pair.second is None or len(pair.second[1]) < 2 else pair.second[1][1]
    of_pair = {rank for rank in (first, second) if rank is not None}
    return len(of_pair) < 2 and (not declared or of_pair <= declared)


def _no_pair(
    tensors: Mapping[str, TensorShape], settings: Mapping[str, object]
) -> Iterator[Problem]:
    if settings.get("target_parameters") or not settings.get("target_modules"):
        return
    cut = [name for name in tensors if _CUT.search(name)]
    names, count = of_names(cut or list(tensors))
    cause = "PEFT finds none of its matrices and keeps new ones, which do nothing"
    fix = "save the adapter again"
    if cut:
        cause = f"its name, `lora`, was cut out of the names on saving; {cause}"
        fix = "save it under another name, or put `.lora` before `_A.weight` and `_B.weight`"
    yield Problem(
        "other_names", "no LoRA pair is in the file", count, names[0], cause, fix, names=names
    )


def _saved_modules(
    tensors: Mapping[str, TensorShape], settings: Mapping[str, object]
) -> Iterator[Problem]:
    saved = settings.get("modules_to_save")
    modules = {_module(name) for name in tensors}
    for one in saved[:_MAX_SETTINGS] if isinstance(saved, list) else ():
        if isinstance(one, str) and not any(f".{one}." in f".{module}." for module in modules):
            yield Problem(
                "missing_tensors",
                f"modules_to_save names {one}, and no tensor belongs to it",
                1,
                one,
                "PEFT looks for its tensors and fails",
                "save the adapter again, or take it out of modules_to_save",
            )


# ---- paths


def _places(pairs: Sequence[_LoraPair], base: AdapterBase) -> Iterator[Problem]:
    """Modules of the adapter that are not where PEFT looks for them."""
    elsewhere: list[tuple[str, str, str]] = []
    nowhere: list[str] = []
    for pair in pairs:
        path = pair.module.removeprefix(PREFIX)
        near = _near(path, base)
        if near is None:
            if ".experts" not in path:  # fused in the library's modules
                nowhere.append(pair.name)
        elif base.literal and (near != path or not pair.module.startswith(PREFIX)):
            elsewhere.append((pair.name, pair.module, PREFIX + near))
    if elsewhere:
        names, count = of_names([name for name, _, _ in elsewhere])
        _, path, right = elsewhere[0]
        of_all = "all" if count == len(pairs) else f"{count:,} of"
        yield Problem(
            "other_names",
            f"{of_all} {len(pairs):,} modules have another path in {base.architecture}",
            count,
            names[0],
            "PEFT matches modules by their whole paths, leaves these out and only warns",
            f"rename {path} to {right}, and the others alike",
            names=names,
        )
    if nowhere:
        names, count = of_names(nowhere)
        text = "the base has no such module"
        if count > 1:
            text = f"the base has none of {count:,} modules"
        yield Problem(
            "parts_differ", text, count, names[0], fix="use the base that it was made for",
            names=names,
        )  # fmt: skip


def _near(path: str, base: AdapterBase) -> str | None:
    """The path of a module in the base that an adapter seems to mean; the path itself, if it can
    be."""
    shapes = base.shapes
    if f"{path}.weight" in shapes:
        return path
    plain = f".{path}"
    for wrapper in ANYWHERE:
        plain = plain.replace(f".{wrapper.prefix}", ".")
    name = plain[1:]
    for _ in range(4):
        for spelling in (name, *(front + name for front in _FRONTS)):
            if f"{spelling}.weight" in shapes:
                return spelling
        front = next((one for one in _FRONTS if name.startswith(one)), None)
        if front is None:
            first, _, rest = name.partition(".")
            return rest if first and f"{rest}.weight" in shapes else None
        name = name.removeprefix(front)
    return None


# ---- shapes


def _shapes(
    pairs: Sequence[_LoraPair],
    tensors: Mapping[str, TensorShape],
    settings: Mapping[str, object],
    base: AdapterBase,
) -> Iterator[Problem]:
    flipped = bool(settings.get("fan_in_fan_out"))
    for pair in pairs:
        near = _near(pair.module.removeprefix(PREFIX), base)
        shape = None if near is None else base.shapes[f"{near}.weight"]
        if shape is not None and not _fits(pair, shape, flipped):
            halves = [half[1] for half in (pair.first, pair.second) if half is not None]
            sizes = " and ".join(map(shape_text, halves))
            yield _differs(pair.name, f"its matrices are {sizes}", shape)
    for name, shape in tensors.items():
        if _HALF.search(name) or "lora_magnitude_vector" in name:
            continue
        path = name.removeprefix(PREFIX)
        near = _near(_module(path), base)
        leaf = path.rpartition(".")[2]
        expected = None if near is None else base.shapes.get(f"{near}.{leaf}")
        if expected is not None and expected != shape:
            yield _differs(name, f"it is {shape_text(shape)}", expected)


def _differs(name: str, text: str, shape: TensorShape) -> Problem:
    return Problem(
        "parts_differ",
        f"{text}, the base's weight {shape_text(shape)}",
        1,
        name,
        "PEFT refuses it",
        "use the base that it was made for, or resize the base's embedding first",
        names=(name,),
    )


def _fits(pair: _LoraPair, shape: TensorShape, flipped: bool) -> bool:
    """Linear: A (r, in), B (out, r) for a weight (out, in), stored flipped by Conv1D.
    Embedding: A (r, rows), B (width, r) for a table (rows, width). A convolution's have its axes.
    """
    if len(shape) < 2:
        return False
    out, into = (shape[1], shape[0]) if pair.embedding or flipped else (shape[0], shape[1])
    first = None if pair.first is None else pair.first[1]
    second = None if pair.second is None else pair.second[1]
    if first is not None and (len(first) < 2 or first[1] != into):
        return False
    return second is None or (len(second) > 1 and second[0] == out)


# ---- modules without matrices

#: Settings that choose among the modules that are named.
_CHOOSING: Final = (
    "layers_to_transform", "layers_pattern", "exclude_modules", "target_parameters",
)  # fmt: skip


def _without_matrices(
    pairs: Sequence[_LoraPair], settings: Mapping[str, object], base: AdapterBase
) -> Iterator[Problem]:
    """Modules that PEFT would adapt and of which the file has nothing: they stay as the base's."""
    targets = settings.get("target_modules")
    if not isinstance(targets, list) or any(settings.get(key) for key in _CHOOSING):
        return
    there = {_near(pair.module.removeprefix(PREFIX), base) for pair in pairs}
    in_file = [one for one in targets[:_MAX_SETTINGS] if _ends(there, one)]
    modules = {_module(name) for name, shape in base.shapes.items() if len(shape) == 2}
    lacking = sorted(one for one in modules - there if any(_is_end(one, end) for end in in_file))
    if base.literal and lacking and not any(problem for problem in _places(pairs, base)):
        names, count = of_names(lacking)
        yield Problem(
            "missing_tensors",
            f"{count:,} modules that target_modules names have no matrices",
            count,
            names[0],
            "PEFT gives them new ones, which do nothing",
            "save the adapter again",
            severity="warning",
            names=names,
        )


def _ends(modules: Iterable[str | None], end: object) -> bool:
    return any(_is_end(module, end) for module in modules if module is not None)


def _is_end(module: str, end: object) -> bool:
    return isinstance(end, str) and (module == end or module.endswith(f".{end}"))


def _module(name: str) -> str:
    return name.rpartition(".")[0]
