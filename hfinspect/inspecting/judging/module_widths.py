"""Widths along the modules of sentence-transformers: what each gives is what the next one takes.

Source: ``forward`` of the classes of ``sentence_transformers/*/modules``, release 6.2.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...core.wholeness import Problem
from ...layers.sentence_modules import TRANSFORMERS, own_class
from .part_sizes import HIDDEN, size_of
from .parts_declared import PartsEvidence

#: Modules that give as wide a vector as they take.
_SAME_WIDTH: Final = frozenset({"Dropout", "LayerNorm", "Normalize", "WeightedLayerPooling"})
#: Where a module's config says how wide a vector it takes.
_TAKES: Final[Mapping[str, tuple[str, ...]]] = {
    "CNN": ("in_embedding_dimension", "in_word_embedding_dimension"),
    "Dense": ("in_features",),
    "LSTM": ("embedding_dimension", "word_embedding_dimension"),
    "LayerNorm": ("dimension",),
    "SparseAutoEncoder": ("input_dim",),
    "WeightedLayerPooling": ("embedding_dimension", "word_embedding_dimension"),
}
_POOLED: Final = ("embedding_dimension", "word_embedding_dimension")
#: Ways of pooling of releases before 5.3, each a flag; their vectors stand side by side.
_FLAGS: Final = tuple(
    f"pooling_mode_{mode}"
    for mode in (
        "cls_token",
        "max_tokens",
        "mean_tokens",
        "mean_sqrt_len_tokens",
        "weightedmean_tokens",
        "lasttoken",
    )
)
#: Transformers that are no plain encoder: what they give is no state of theirs.
_NO_STATES: Final = frozenset({"CLIPModel", "MLMTransformer"})
#: Where a Dense takes its input from, as far as that is the module before it.
_FROM_BEFORE: Final = frozenset({"sentence_embedding", "token_embeddings"})

#: Model types whose positions are rows of a table, and how many rows come before the first:
#: ``padding_idx + 1`` in RoBERTa and its kin. Sources: ``modeling_*.py`` of transformers.
_ROWS_BEFORE: Final[Mapping[str, int]] = {
    "albert": 0,
    "bert": 0,
    "camembert": 2,
    "distilbert": 0,
    "electra": 0,
    "ernie": 0,
    "longformer": 2,
    "mpnet": 2,
    "roberta": 2,
    "xlm-roberta": 2,
    "xlm-roberta-xl": 2,
}
#: What the position of a padding token is where the config does not say it.
_PADDING: Final = 1


def width_problems(evidence: PartsEvidence) -> Iterator[Problem]:
    """Modules that take another width than those before them give; the length of a transformer
    beyond its positions."""
    width: int | None = None
    giver = ""
    for part in evidence.parts:
        declared = evidence.declared[part]
        name = own_class(declared) or ""
        config = evidence.configs.get(part, {})
        if "/" in part:
            continue  # one of a router's: what it takes is what the router is given
        if name in TRANSFORMERS:
            yield from _too_long(evidence, part, config)
            width = None if name in _NO_STATES else _hidden(config)
            giver = part or "the transformer"
        elif name == "Pooling":
            declared_width = _first(config, _POOLED)
            if width is not None and declared_width not in (None, width):
                yield _pooling(evidence, part, declared_width, giver, width)
            base = declared_width if width is None else width
            width = None if base is None else base * _modes(config)
            giver = part
        else:
            taken_from = config.get("module_input_name", "sentence_embedding")
            takes = _first(config, _TAKES.get(name, ()))
            if taken_from not in _FROM_BEFORE:
                takes = None  # from elsewhere
            if None not in (takes, width) and takes != width:
                yield _differs(evidence, part, takes, giver, width)
            width = _gives(name, config, width)
            giver = part


def _hidden(config: Mapping[str, Any]) -> int | None:
    size = size_of("", config, HIDDEN)
    return None if size is None else size.value


def _first(config: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    values = [config[key] for key in keys if key in config]
    is_size = bool(values) and isinstance(values[0], int) and not isinstance(values[0], bool)
    return values[0] if is_size else None


def _modes(config: Mapping[str, Any]) -> int:
    """How many vectors a Pooling puts side by side."""
    modes = config.get("pooling_mode")
    if isinstance(modes, list):
        return max(1, len(modes))
    if isinstance(modes, str):
        return 1
    return max(1, sum(config.get(flag) is True for flag in _FLAGS))


def _gives(name: str, config: Mapping[str, Any], width: int | None) -> int | None:
    if name == "Dense":
        return _first(config, ("out_features",))
    return width if name in _SAME_WIDTH else None


def _differs(
    evidence: PartsEvidence, part: str, takes: int | None, giver: str, width: int | None
) -> Problem:
    key = next(
        key
        for key in _TAKES[own_class(evidence.declared[part]) or ""]
        if key in evidence.configs[part]
    )
    return Problem(
        "parts_differ",
        f"{part} does not fit {giver}: its {key} is {takes:,}, and {giver} gives {width:,}",
        2,
        part,
        fix="take both modules from one release of the model",
        file=evidence.config_path(part),
        names=(part, giver),
    )


def _pooling(
    evidence: PartsEvidence, part: str, declared: int | None, giver: str, width: int
) -> Problem:
    """It pools whatever it is given: what it says of its width is wrong, and nothing fails."""
    return Problem(
        "parts_differ",
        f"{part} does not fit {giver}: it is made for {declared:,} features, and {giver} gives "
        f"{width:,}",
        2,
        part,
        "it pools what it gets, and the model says a wrong size of its vectors",
        "correct the config",
        evidence.config_path(part),
        "warning",
        (part, giver),
    )


def _too_long(evidence: PartsEvidence, part: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    settings = evidence.settings.get(part, {})
    length = _first(settings, ("max_seq_length",))
    rows = _first(config, ("max_position_embeddings",))
    kind = config.get("model_type")
    before = _ROWS_BEFORE.get(kind) if isinstance(kind, str) else None
    if length is None or rows is None or before is None:
        return
    if config.get("position_embedding_type", "absolute") != "absolute":
        return
    padding = config.get("pad_token_id", _PADDING)
    if before and isinstance(padding, int) and not isinstance(padding, bool):
        before = padding + 1
    positions = rows - before
    if length > positions:
        shown = part or "the transformer"
        yield Problem(
            "parts_differ",
            f"{shown} has {positions:,} positions, and max_seq_length is {length:,}",
            1,
            shown,
            "a text of more tokens than positions fails",
            f"set max_seq_length to {positions:,}",
            evidence.settings_path(part),
            "warning",
            (shown,),
        )
