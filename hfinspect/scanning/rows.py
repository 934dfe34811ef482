"""A result as a row: plain columns with names and types that a DataFrame takes as they are."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from typing import Final, NamedTuple

from ..core.cache_size import CacheSize
from ..core.choices import listed
from ..core.model_facts import FACTS, ModelFacts
from ..core.results import Failure, Inspection
from ..errors import HfinspectError, UsageError

ScanValue = str | int | bool | None
ScanRow = dict[str, ScanValue]


class RowColumn(NamedTuple):
    """``kind`` is the type for Parquet: ``string``, ``int64`` or ``bool``."""

    kind: str
    value: Callable[[Inspection], ScanValue]
    meaning: str


class Described(NamedTuple):
    """A column whose value comes from elsewhere than an inspection."""

    kind: str
    meaning: str


#: Columns that every row has, first and in this order: they say whether the rest means anything.
LEADING: Final[Mapping[str, Described]] = {
    "target": Described("string", "the target as written in the list"),
    "status": Described("string", "`ok` or `failed`"),
    "error_kind": Described("string", "stable name of the error: `repo_not_found`, `gated`, ..."),
    "error": Described("string", "the error as a sentence"),
    "commit": Described("string", "the commit read; null for local targets"),
}


def _component(name: str) -> Callable[[Inspection], ScanValue]:
    def value(inspection: Inspection) -> ScanValue:
        totals = inspection.components.get(name)
        return 0 if totals is None else totals.parameters

    return value


def _weights_sha256(inspection: Inspection) -> ScanValue:
    """The sha256 of one weight file, or that of the sorted ones of several: equal for equal
    weights, whatever their files are called."""
    hashes = sorted(file.sha256 for file in inspection.files if file.sha256 is not None)
    if not hashes or len(hashes) < len(inspection.files):
        return None
    return hashes[0] if len(hashes) == 1 else sha256("\n".join(hashes).encode()).hexdigest()


def _main_dtype(inspection: Inspection) -> ScanValue:
    """The dtype of most bytes."""
    sized = {name: totals.nbytes or 0 for name, totals in inspection.dtypes.items()}
    return max(sized, key=lambda name: sized[name]) if sized else None


def _fact(name: str, unit: str, meaning: str) -> RowColumn:
    """A fact of the build; lists and two sides as numbers with blanks between them."""
    annotation = str(ModelFacts.__dataclass_fields__[name].type)

    def value(inspection: Inspection) -> ScanValue:
        number = getattr(inspection.facts, name)
        if annotation == "int | None" or number is None:
            return number  # type: ignore[no-any-return]  # an int or None
        return " ".join(map(str, number if isinstance(number, tuple) else (number,)))

    return RowColumn(
        "int64" if annotation == "int | None" else "string", value, f"{unit}: {meaning}"
    )


def _hub(name: str, meaning: str) -> RowColumn:
    def value(inspection: Inspection) -> ScanValue:
        declared = None if inspection.origin.hub is None else getattr(inspection.origin.hub, name)
        if isinstance(declared, tuple):
            return " ".join(declared)
        return (
            declared
            if declared is None
            else str(declared).lower()
            if isinstance(declared, bool)
            else declared
        )

    return RowColumn("string", value, f"{meaning}, by the Hub")


def _cache(value: Callable[[CacheSize], int], meaning: str) -> RowColumn:
    return RowColumn("int64", lambda f: None if f.cache is None else value(f.cache), meaning)


def _part(name: str, what: str) -> RowColumn:
    return RowColumn("int64", _component(name), f"unique parameters of {what}")


#: The columns of an inspection, all of them the default. Null where unknown.
COLUMNS: Final[Mapping[str, RowColumn]] = {
    "repo_id": RowColumn("string", lambda f: f.repo_id, "`org/name`; null for local targets"),
    "revision": RowColumn("string", lambda f: f.revision, "the requested revision, if any"),
    "read_from": RowColumn(
        "string", lambda f: f.origin.kind, "`hub`, `cache`, `directory` or `file`"
    ),
    "source": RowColumn(
        "string", lambda f: f.source, "`checkpoint` (headers) or `config` (predicted)"
    ),
    "format": RowColumn("string", lambda f: f.format, "`safetensors`, `torch`, `gguf`"),
    "model_type": RowColumn("string", lambda f: f.model_type, "of config.json"),
    "architecture": RowColumn(
        "string", lambda f: f.architecture, "the class that the config names"
    ),
    "catalogued": RowColumn("bool", lambda f: f.catalogued, "whether the architecture is known"),
    **{name: _fact(name, *fact) for name, fact in FACTS.items()},
    "whole": RowColumn(
        "bool",
        lambda f: f.whole,
        "false where a loader would fail or leave weights random; null where nothing says what "
        "should be there",
    ),
    "problems": RowColumn(
        "string",
        lambda f: "; ".join(problem.sentence for problem in f.problems) or None,
        "what is missing, wrong or to be known, what stops a loader first",
    ),
    "parameters": RowColumn(
        "int64", lambda f: f.parameters, "unique parameters, tied weights once"
    ),
    "parameters_with_head": RowColumn(
        "int64", lambda f: f.parameters_with_head, "with a tied head counted separately"
    ),
    "active_parameters": RowColumn(
        "int64", lambda f: f.active_parameters, "parameters used per token, if fewer"
    ),
    "beyond": RowColumn(
        "int64", lambda f: f.extra_parameters, "parameters in the files that the class lacks"
    ),
    "logical": RowColumn("int64", lambda f: f.logical, "parameters in the files, ties not merged"),
    "stored": RowColumn("int64", lambda f: f.stored, "elements in the files, packed as they are"),
    "buffers": RowColumn("int64", lambda f: f.buffers, "elements that are not parameters"),
    "embedding": _part("embedding", "embeddings"),
    "attention": _part("attention", "attention"),
    "mlp": _part("mlp", "feed-forward layers, experts included"),
    "router": _part("router", "the routers of experts"),
    "ssm": _part("ssm", "state-space layers"),
    "conv": _part("conv", "convolutions"),
    "projector": _part("projector", "what joins modalities"),
    "norm": _part("norm", "norms"),
    "head": _part("head", "the head, 0 where it is tied"),
    "other": _part("other", "everything else"),
    "tied": RowColumn("bool", lambda f: bool(f.tied), "whether weights are tied"),
    "dtype": RowColumn("string", _main_dtype, "the dtype of most bytes"),
    "dtypes": RowColumn("string", lambda f: " ".join(f.dtypes), "all of them"),
    "quantization": RowColumn(
        "string", lambda f: f.quantization.method if f.quantization else None, "the method"
    ),
    "bits": RowColumn(
        "int64", lambda f: f.quantization.bits if f.quantization else None, "of a packed weight"
    ),
    "nbytes": RowColumn("int64", lambda f: f.nbytes, "bytes of all tensors"),
    "cache_per_token": _cache(
        lambda cache: cache.per_token_first,
        "bytes that a token adds to the cache while no window is full; null without a cache",
    ),
    "cache_per_token_later": _cache(
        lambda cache: cache.per_token, "the same at the model's own context, where windows are full"
    ),
    "cache_per_sequence": _cache(
        lambda cache: cache.fixed, "bytes of a sequence's cache that do not grow: states, encoders"
    ),
    "cache_tokens": _cache(
        lambda cache: cache.tokens, "the context of the next: the model's own, else 32,768"
    ),
    "cache_nbytes": _cache(
        lambda cache: cache.nbytes, "bytes of one sequence's cache at that many tokens"
    ),
    "cache_dtype": RowColumn(
        "string", lambda f: f.cache.dtype if f.cache else None, "of its keys and values"
    ),
    "cache_unknown": RowColumn(
        "string", lambda f: f.cache_unknown or None, "why there is no cache, or why it is not known"
    ),
    "tensors": RowColumn("int64", lambda f: len(f.tensors), "number of tensors"),
    "files": RowColumn("int64", lambda f: len(f.files), "number of weight files read"),
    "weights_sha256": RowColumn(
        "string",
        _weights_sha256,
        "equal for equal weight files, whatever their names; null where no list has hashes",
    ),
    "findings": RowColumn("int64", lambda f: len(f.findings), "remarks from reading the model"),
    "license": _hub("license", "the licence"),
    "gated": _hub("gated", "`auto`, `manual` or `false`"),
    "last_modified": _hub("last_modified", "time of the last commit"),
    "library": _hub("library", "the library that loads it"),
    "task": _hub("task", "the pipeline tag"),
    "tags": _hub("tags", "the tags, with blanks between them"),
}

#: Columns of ``--on`` and ``--context``: ``hfinspect memory`` for each model.
MEMORY_COLUMNS: Final[Mapping[str, Described]] = {
    "fits": Described("bool", "whether the model fits the device; null if unknown"),
    "max_context": Described("int64", "tokens that still fit at this batch; 0 for none"),
    "max_batch": Described("int64", "sequences that still fit at this context; 0 for none"),
    "memory_total": Described("int64", "bytes of weights, cache and workspace at this context"),
    "memory_weights": Described("int64", "bytes of the weights that the class loads"),
    "memory_cache": Described("int64", "bytes of the cache, by the engine's rules"),
    "memory_workspace": Described("int64", "bytes of the workspace, a limit"),
    "memory_context": Described(
        "int64", "the context: --context, else the model's own, else 32,768"
    ),
    "memory_batch": Described("int64", "sequences at once"),
    "memory_engine": Described("string", "whose rules the cache follows"),
    "device": Described("string", "of --on"),
    "smallest_card": Described("string", "the smallest usual card that holds it at this context"),
    "memory_unknown": Described("string", "why there is no answer"),
}

#: Columns of ``--audit``.
AUDIT_COLUMNS: Final[Mapping[str, Described]] = {
    "audit_errors": Described("int64", "findings of severity error"),
    "audit_warnings": Described("int64", "findings of severity warning"),
    "audit_notes": Described("int64", "findings of severity note"),
    "audit_codes": Described("string", "codes of the rules that found something"),
}

#: Columns of ``--totals-only``: what the Hub says of itself.
TOTALS_COLUMNS: Final[Mapping[str, Described]] = {
    "repo_id": Described("string", "`org/name`"),
    "hub_reported_parameters": Described("int64", "the Hub's own total, by its own rules"),
    "hub_reported_dtypes": Described("string", "the Hub's own counts, as `BF16:123 F32:45`"),
    "model_type": Described("string", "of config.json"),
    "architecture": Described("string", "the class that the config names"),
    **{
        name: Described("string", COLUMNS[name].meaning)
        for name in ("license", "gated", "last_modified", "library", "task")
    },
}
#: Columns for which the Hub sends a chat template with every model: only if they are named.
_LONG: Final = ("model_type", "architecture")


#: What rows can be sorted by.
SORTABLE: Final = frozenset((*LEADING, *COLUMNS, *MEMORY_COLUMNS, *AUDIT_COLUMNS, *TOTALS_COLUMNS))


def chosen_columns(text: str | None, *, totals: bool = False) -> tuple[str, ...]:
    """Columns named in a comma-separated list, those of audits and of memory too; for None all of
    an inspection. ``totals``: those of the Hub's own report instead. Raises UsageError."""
    known = tuple(TOTALS_COLUMNS) if totals else (*COLUMNS, *MEMORY_COLUMNS, *AUDIT_COLUMNS)
    if text is None:
        return tuple(name for name in known if name not in _LONG) if totals else tuple(COLUMNS)
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in known and name not in LEADING]
    if not names:
        raise UsageError("columns", "are empty", expected=", ".join(known))
    if unknown:
        near = nearest_columns(unknown[0], known)
        raise UsageError(
            f"column {unknown[0]!r}",
            "is unknown",
            expected=None if near else ", ".join(known),
            hint=f"did you mean {listed(near)}?" if near else None,
        )
    return tuple(dict.fromkeys(name for name in names if name not in LEADING))


#: What others call a column: config.json, the Hub's API, other tools.
_ALSO: Final[Mapping[str, str]] = {
    "model": "target",
    "name": "target",
    "url": "target",
    "path": "target",
    "model_id": "repo_id",
    "architectures": "architecture",
    "arch": "architecture",
    "hidden_size": "width",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "vocab_size": "vocabulary",
    "num_key_value_heads": "kv_heads",
    "max_position_embeddings": "context",
    "size": "nbytes",
    "bytes": "nbytes",
    "file_size": "nbytes",
    "torch_dtype": "dtype",
    "sha": "commit",
    "licence": "license",
    "library_name": "library",
    "pipeline_tag": "task",
    "params": "parameters",
    "lastModified": "last_modified",
    "quantisation": "quantization",
    "memory": "memory_total",
}


def nearest_columns(name: str, known: Sequence[str]) -> list[str]:
    """Columns that may be meant: of that meaning, with the word as a part of their name, or spelled
    much like it. ``id`` is a part of ``repo_id`` and only spelled like ``tied``."""
    other = _ALSO.get(name) or _ALSO.get(name.lower())
    if other is not None and (other in known or other in LEADING):
        return [other]
    parts = [one for one in (*LEADING, *known) if name.lower() in one.split("_")]
    return parts[:3] or get_close_matches(name.lower(), (*LEADING, *known), n=1, cutoff=0.6)


def lead(target: str, *, error: HfinspectError | None = None, commit: str | None = None) -> ScanRow:
    """The leading columns of a row: ok, or failed with an error's kind and sentence."""
    if error is None:
        return dict(zip(LEADING, (target, "ok", None, None, commit), strict=True))
    return dict(zip(LEADING, (target, "failed", error.kind, str(error), None), strict=True))


def row_of(
    result: Inspection | Failure, columns: Sequence[str], target: str | None = None
) -> ScanRow:
    """One row: the leading columns, then ``columns`` (null for a failed target)."""
    if isinstance(result, Failure):
        return {**lead(target or result.target, error=result.error), **dict.fromkeys(columns)}
    return {
        **lead(target or result.target, commit=result.commit),
        **{name: COLUMNS[name].value(result) for name in columns},
    }


def sorted_by(rows: Sequence[ScanRow], column: str) -> list[ScanRow]:
    """Rows by a column: numbers from the largest, yes before no, texts from A; rows that lack it
    last, in their order."""

    def key(row: ScanRow) -> tuple[bool, int, str]:
        value = row.get(column)
        number = -int(value) if isinstance(value, (bool, int)) else 0
        return value is None, number, value if isinstance(value, str) else ""

    return sorted(rows, key=key)


def types_of(columns: Sequence[str]) -> dict[str, str]:
    """Column -> type of a whole row, in order; ``columns`` with or without the leading ones."""
    types = {**TOTALS_COLUMNS, **MEMORY_COLUMNS, **AUDIT_COLUMNS, **LEADING}
    kinds = {name: column.kind for name, column in types.items()}
    kinds.update((name, column.kind) for name, column in COLUMNS.items())
    return {name: kinds[name] for name in dict.fromkeys((*LEADING, *columns))}


def meanings() -> dict[str, str]:
    """Column -> what it says."""
    groups = (LEADING, COLUMNS, MEMORY_COLUMNS, AUDIT_COLUMNS, TOTALS_COLUMNS)
    return {name: column.meaning for group in groups for name, column in group.items()}
