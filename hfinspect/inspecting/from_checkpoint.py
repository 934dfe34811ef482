"""Inspections from what the headers of a checkpoint hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.count import Sums, by_dtype
from ..analysis.extra_tensors import extra_tensors_of, with_extra_tensors
from ..analysis.key_facts import facts_of
from ..analysis.labels.place import place_stored
from ..analysis.labels.routing import routing_of
from ..analysis.tensor_table import TensorTable
from ..core.cache_size import CacheSize
from ..core.checkpoint import Checkpoint, Finding
from ..core.model_facts import ModelFacts
from ..core.refs import Origin
from ..core.results import VariantFile, WeightFile
from ..core.tensor import TensorInfo
from ..trees.prediction import Prediction
from .assumed import assumed_class, assumed_finding
from .build import NOTHING_MORE, Inspected, ReadContext, assembled, cache_fields, count_tensors
from .ties import head_apart, tie_findings, vocabulary, with_unstored_ties

if TYPE_CHECKING:
    from ..analysis.quantization.decoding import Decoding
    from ..checkpoints.variants import Variant


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
    where: str = "config.json",
) -> Inspected:
    """What the headers hold, labelled and compared with what config.json (``where``) predicts.

    ``table`` are the tensors of ``checkpoint``, and ``decoding`` is of it. Raises NotAlikeError
    where the tensors of a group have to be looked at one by one.

    llama.cpp has names of its own: those of a GGUF file are translated to be compared, and its
    labels do not come from the prediction.
    """
    from .differing import Expected, compared

    is_gguf = checkpoint.format == "gguf"
    beside, prediction = (prediction, None) if is_gguf else (None, prediction)
    said = None if config is None else config.get("tie_word_embeddings")
    metadata = _metadata(checkpoint)
    placed = place_stored(
        table,
        prediction,
        decoding.tensors,
        vocabulary=vocabulary(config) if said is True else (),
        untied=said is False,
        routing=routing_of(config, metadata),
    )
    placed = with_extra_tensors(placed, prediction, decoding.tensors, table)
    if is_gguf:
        from ..analysis.gguf.own_facts import unstored_head

        placed = placed._replace(tied={**placed.tied, **unstored_head(checkpoint.shards)})
    tensors = table.labelled(placed.tensors)
    counts = count_tensors(tensors)
    total = counts.total
    promise = Expected()
    if prediction is not None:
        promise = Expected(True, compared(placed, prediction, decoding.tensors, table))
    elif is_gguf and not checkpoint.missing:
        from .gguf_compared import HeldTensors, promise_of

        first = checkpoint.shards[0].file if checkpoint.shards else None
        held = HeldTensors(first, metadata, placed.tensors, total.parameters)
        promise = promise_of(held, beside, where)
    carried = prediction or beside or (promise.prediction if config is None else None)
    assumed = assumed_class(prediction, config)
    architectures = (config or {}).get("architectures")
    named: object = (config or {}).get("architecture")  # timm's name
    if isinstance(architectures, list) and architectures:
        named = architectures[0]
    model_type = (config or {}).get("model_type")
    if is_gguf:
        from ..analysis.gguf.own_facts import gguf_facts, model_type_of

        model_type, facts = model_type or model_type_of(metadata), gguf_facts(metadata)
    else:
        facts = facts_of(config, prediction)
    dtypes = by_dtype(counts.cells)
    inspection = assembled(
        target,
        origin,
        "checkpoint",
        tensors,
        with_unstored_ties(placed, prediction).tied,
        counts,
        head_apart(placed, prediction),
        model_type=prediction.model_type if prediction else _text(model_type),
        architecture=(known.adapter.type if known.adapter else None)
        or (prediction.architecture if prediction else _text(named)),
        catalogued=promise.catalogued,
        beyond=extra_tensors_of(tensors, table.first_name),
        format=checkpoint.format,
        files=tuple(
            WeightFile(s.file, s.format, s.size, len(s.tensors), s.header_bytes)
            for s in checkpoint.shards
        ),
        other_files={path: checkpoint.reasons.get(path, "") for path in checkpoint.others},
        chosen_because=checkpoint.chosen_because,
        missing_files=checkpoint.missing,
        expectation=promise.expectation,
        assumed=assumed,
        quantization=decoding.summary,
        metadata=metadata,
        facts=facts,
        **(
            _cache_of_file(metadata, tensors, facts)
            if is_gguf
            else cache_fields(carried, config, facts, dtypes)
        ),
        config=config,
        layout=known.layout,
        contents=known.contents,
        variants=_variants(known.variants, checkpoint, total.parameters),
        adapter=known.adapter,
        findings=(
            *assumed_finding(assumed, prediction),
            *known.findings,
            *checkpoint.findings,
            *(finding for shard in checkpoint.shards for finding in shard.findings),
            *decoding.findings,
            *tie_findings(placed),
            *_claims(total, checkpoint),
            *promise.findings,
            *known.last,
        ),
    )
    return Inspected(inspection, carried, checkpoint)


def _cache_of_file(
    metadata: Mapping[str, object], tensors: Sequence[TensorInfo], facts: ModelFacts
) -> dict[str, CacheSize | str]:
    """The same of a GGUF file, whose key-values say it."""
    from ..sizing.gguf_layers import cache_of_file

    heads = facts.kv_heads or facts.heads
    found = cache_of_file(metadata, tensors, facts.context, heads)
    return {"cache_unknown" if isinstance(found, str) else "cache": found}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _metadata(checkpoint: Checkpoint) -> Mapping[str, object]:
    """The first shard's own metadata: shards of one model carry the same."""
    return checkpoint.shards[0].metadata if checkpoint.shards else {}


def _variants(
    variants: Sequence[Variant], checkpoint: Checkpoint, parameters: int | None
) -> tuple[VariantFile, ...]:
    """The quantisations to choose from; all have the parameters of the one that was read."""
    taken = {shard.file for shard in checkpoint.shards}
    return tuple(
        VariantFile(item.label, item.files, item.size, parameters, taken == set(item.files))
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
