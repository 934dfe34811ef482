"""Inspections from what the headers of a checkpoint hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..analysis.count import Sums, by_dtype
from ..analysis.extra_tensors import extra_tensors_of, with_extra_tensors
from ..analysis.key_facts import facts_of
from ..analysis.labels.place import Labelled, place_stored
from ..analysis.labels.routing import routing_of
from ..analysis.mlx_layout import MLX_LAYOUT, is_mlx
from ..analysis.tensor_table import TensorTable
from ..core.cache_size import CacheSize
from ..core.checkpoint import Checkpoint, Finding, Shard
from ..core.expectation import Expectation
from ..core.model_facts import ModelFacts
from ..core.refs import Origin
from ..core.results import VariantFile, WeightFile
from ..core.tensor import TensorInfo
from ..sources.source import FileEntry
from ..trees.prediction import Prediction
from .assumed import assumed_class, assumed_finding
from .build import (
    NOTHING_MORE,
    Inspected,
    ReadContext,
    TensorCounts,
    assembled,
    cache_fields,
    count_tensors,
)
from .differing import Expected, compared
from .judging.evidence import Evidence
from .judging.judge import judged
from .ties import head_apart, tie_findings, vocabulary, with_unstored_ties

if TYPE_CHECKING:
    from ..analysis.quantization.decoding import Decoding
    from ..analysis.renamed import Renamed
    from ..checkpoints.variants import Variant
    from ..core.results import Adapter


def from_checkpoint(
    target: str,
    origin: Origin,
    checkpoint: Checkpoint,
    table: TensorTable,
    prediction: Prediction | None,
    decoding: Decoding,
    *,
    config: Mapping[str, Any] | None = None,
    known: ReadContext = NOTHING_MORE,
    companions: Mapping[str, Mapping[str, object]] = {},
    where: str = "config.json",
    renamed: Renamed | None = None,
) -> Inspected:
    """What the headers hold, labelled and compared with what config.json (``where``) predicts.

    ``table`` are the tensors of ``checkpoint``, and ``decoding`` is of it; ``renamed`` says which
    of them have other names in the files. Raises NotAlikeError where the tensors of a group have to
    be looked at one by one.

    llama.cpp has names of its own: those of a GGUF file are translated to be compared, and its
    labels do not come from the prediction.
    """
    read = _read_gguf if checkpoint.format == "gguf" else _read
    tensors = read(checkpoint, table, prediction, decoding, config, where)
    evidence = Evidence(
        checkpoint,
        tensors.all,
        tensors.prediction,
        tensors.expected.expectation,
        decoding,
        config,
        companions,
        known.files,
        known.layout,
        where,
        origin=origin,
        unfinished=known.unfinished,
        config_error=known.config_error,
        dtypes=by_dtype(tensors.counts.cells),
        renamed=renamed,
        base_config=known.base_config,
    )
    inspection = assembled(
        target,
        origin,
        "checkpoint",
        tensors.all,
        with_unstored_ties(tensors.labelled, tensors.same_names).tied,
        tensors.counts,
        head_apart(tensors.labelled, tensors.same_names),
        **_model(checkpoint, tensors, config, known.adapter),
        **_files(checkpoint, known.files),
        **judged(evidence),
        extra_tensors=extra_tensors_of(tensors.all, table.first_name),
        catalogued=tensors.expected.catalogued,
        expectation=tensors.expected.expectation,
        quantization=decoding.summary,
        config=config,
        layout=known.layout,
        contents=known.contents,
        variants=_variants(known.variants, checkpoint, tensors.counts.total.parameters),
        adapter=known.adapter,
        findings=(
            *assumed_finding(assumed_class(tensors.same_names, config), tensors.same_names),
            *known.findings,
            *checkpoint.findings,
            *(finding for shard in checkpoint.shards for finding in shard.findings),
            *decoding.findings,
            *tie_findings(tensors.labelled),
            *_claims(tensors.counts.total, checkpoint),
            *tensors.expected.findings,
            *_original(checkpoint, renamed, tensors.expected.expectation),
            *known.last,
        ),
    )
    return Inspected(inspection, tensors.prediction, checkpoint)


def _original(
    checkpoint: Checkpoint, renamed: Renamed | None, expectation: Expectation | None
) -> tuple[Finding, ...]:
    if renamed is None:
        return ()
    from .judging.names_known import original_note

    return original_note(checkpoint, renamed, expectation)


# ---- first half: the tensors, labelled, counted and compared


class _Tensors(NamedTuple):
    """The tensors of a checkpoint: those of the table's shards with their labels, ``all`` of them,
    their sums, and what differs from the ``prediction``. This is also ``same_names`` where its
    names are those of the files."""

    labelled: Labelled
    all: Sequence[TensorInfo]
    counts: TensorCounts
    expected: Expected
    prediction: Prediction | None
    same_names: Prediction | None


def _read(
    _checkpoint: Checkpoint,
    table: TensorTable,
    prediction: Prediction | None,
    decoding: Decoding,
    config: Mapping[str, Any] | None,
    _where: str,
) -> _Tensors:
    labelled = _labelled(table, prediction, decoding, config)
    tensors = table.labelled(labelled.tensors)
    expected = Expected()
    if prediction is not None:
        expectation = compared(labelled, prediction, decoding.tensors, table)
        expected = Expected(True, expectation)
        if not expectation.agrees and is_mlx(table.shards, expectation.unexpected, decoding):
            expected = _in_mlx_layout(expectation, tensors, prediction)
    return _Tensors(labelled, tensors, count_tensors(tensors), expected, prediction, prediction)


def _in_mlx_layout(
    expectation: Expectation, tensors: Sequence[TensorInfo], prediction: Prediction
) -> Expected:
    from .differing import as_in_mlx

    rest = as_in_mlx(expectation, tensors, prediction)
    if rest is expectation:
        return Expected(True, expectation)
    text = "in MLX's layout, which MLX loads alone"
    if rest.agrees:
        text = f"complete, {text}"
    return Expected(True, rest, (Finding(MLX_LAYOUT, text, severity="note"),))


def _read_gguf(
    checkpoint: Checkpoint,
    table: TensorTable,
    prediction: Prediction | None,
    decoding: Decoding,
    config: Mapping[str, Any] | None,
    where: str,
) -> _Tensors:
    """The same with names of llama.cpp: labels do not come from the prediction."""
    from ..analysis.gguf.own_facts import unstored_head
    from .gguf_compared import HeldTensors, expected_of

    labelled = _labelled(table, None, decoding, config)
    labelled = labelled._replace(tied={**labelled.tied, **unstored_head(checkpoint.shards)})
    tensors = table.labelled(labelled.tensors)
    counts = count_tensors(tensors)
    expected = Expected()
    if not checkpoint.missing:
        first = checkpoint.shards[0].file if checkpoint.shards else None
        file_tensors = HeldTensors(first, _metadata(table.shards), tensors, counts.total.parameters)
        expected = expected_of(file_tensors, prediction, where)
    if prediction is None and config is None:
        prediction = expected.prediction
    return _Tensors(labelled, tensors, counts, expected, prediction, None)


def _labelled(
    table: TensorTable,
    prediction: Prediction | None,
    decoding: Decoding,
    config: Mapping[str, Any] | None,
) -> Labelled:
    tie = None if config is None else config.get("tie_word_embeddings")
    labelled = place_stored(
        table,
        prediction,
        decoding.tensors,
        vocabulary=vocabulary(config) if tie is True else (),
        untied=tie is False,
        routing=routing_of(config, _metadata(table.shards)),
    )
    return with_extra_tensors(labelled, prediction, decoding.tensors, table)


# ---- second half: what a result says next to the tensors


def _model(
    checkpoint: Checkpoint,
    tensors: _Tensors,
    config: Mapping[str, Any] | None,
    adapter: Adapter | None,
) -> dict[str, Any]:
    """The fields about the model: what it is called, its numbers, and what it keeps in a cache."""
    metadata = _metadata(checkpoint.shards)
    values: Mapping[str, Any] = {} if config is None else config
    same_names = tensors.same_names
    model_type = values.get("model_type")
    if checkpoint.format == "gguf":
        from ..analysis.gguf.own_facts import gguf_facts, model_type_of

        model_type = model_type or model_type_of(metadata)
        facts = gguf_facts(metadata)
        cache = _cache_of_file(metadata, tensors.all, facts)
    else:
        facts = facts_of(config, same_names)
        cache = cache_fields(tensors.prediction, config, facts, by_dtype(tensors.counts.cells))
    architecture = same_names.architecture if same_names else _class_named(values)
    return {
        "model_type": same_names.model_type if same_names else _text(model_type),
        "architecture": (adapter.type if adapter else None) or architecture,
        "assumed": assumed_class(same_names, config),
        "metadata": metadata,
        "facts": facts,
        **cache,
    }


def _class_named(config: Mapping[str, Any]) -> str | None:
    """The class that a config names first."""
    architectures = config.get("architectures")
    if isinstance(architectures, list) and architectures:
        return _text(architectures[0])
    return _text(config.get("architecture"))  # timm's name


def _files(checkpoint: Checkpoint, listed: Mapping[str, FileEntry]) -> dict[str, Any]:
    """The fields about the weight files."""
    hashes = {s.file: listed[s.file].sha256 for s in checkpoint.shards if s.file in listed}
    return {
        "format": checkpoint.format,
        "files": tuple(
            WeightFile(s.file, s.format, s.size, len(s.tensors), s.header_bytes, hashes.get(s.file))
            for s in checkpoint.shards
        ),
        "other_files": {path: checkpoint.reasons.get(path, "") for path in checkpoint.others},
        "chosen_because": checkpoint.chosen_because,
        "missing_files": checkpoint.missing,
    }


def _cache_of_file(
    metadata: Mapping[str, object], tensors: Sequence[TensorInfo], facts: ModelFacts
) -> dict[str, CacheSize | str]:
    """The same of a GGUF file, whose key-values say it."""
    from ..sizing.gguf_layers import cache_of_file

    heads = facts.kv_heads or facts.heads
    cache = cache_of_file(metadata, tensors, facts.context, heads)
    return {"cache_unknown" if isinstance(cache, str) else "cache": cache}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _metadata(shards: Sequence[Shard]) -> Mapping[str, object]:
    """The first shard's own metadata: shards of one model carry the same."""
    return shards[0].metadata if shards else {}


def _variants(
    variants: Sequence[Variant], checkpoint: Checkpoint, parameters: int | None
) -> tuple[VariantFile, ...]:
    """The quantisations to choose from; all have the parameters of the one that was read."""
    files = {shard.file for shard in checkpoint.shards}
    return tuple(
        VariantFile(item.label, item.files, item.size, parameters, files == set(item.files))
        for item in variants
    )


def _claims(total: Sums, checkpoint: Checkpoint) -> list[Finding]:
    """What an index says of itself next to what was counted: compared, never believed."""
    if checkpoint.index is None or checkpoint.missing:
        return []
    counted = {
        "total_size": (total.nbytes,),
        # Written as unique parameters, with tied ones twice, or of packed tensors as stored.
        "total_parameters": (total.parameters, total.logical, total.stored),
    }
    findings = []
    for key, values in counted.items():
        claim = checkpoint.index.metadata.get(key)
        if isinstance(claim, (int, float)) and values[0] is not None and claim not in values:
            text = f"{key} is {claim:,}, counted were {values[0]:,}"
            findings.append(Finding("index-total", text, checkpoint.index.file, severity="note"))
    return findings
