"""Inspections: from what the headers hold, or from what config.json predicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..analysis.count import Cell, Key, Sums, by_component, by_dtype, by_part, sums, tally
from ..analysis.extra_tensors import extra_tensors_of, extra_tensors_of_config, with_extra_tensors
from ..analysis.key_facts import facts_of
from ..analysis.labels.place import Labelled, place_expected, place_stored
from ..analysis.labels.routing import routing_of
from ..analysis.quantization.declared import declared_in
from ..analysis.tensor_table import TensorTable
from ..core.cache_size import CacheSize
from ..core.checkpoint import Checkpoint, Finding
from ..core.components import Component, Role
from ..core.model_facts import ModelFacts
from ..core.overrides import Override
from ..core.refs import Origin
from ..core.results import Inspection, Totals, VariantFile, WeightFile
from ..core.tensor import TensorInfo
from ..formats.strict_json import collector_paused
from ..sizing.own_cache import NOTHING_READ, own_cache
from ..trees.prediction import Prediction, is_held
from .assumed import assumed_class, assumed_finding

if TYPE_CHECKING:
    from ..analysis.quantization.decoding import Decoding
    from ..analysis.quantization.packing import Packing
    from ..checkpoints.variants import Variant
    from ..core.results import Adapter

_NAME = itemgetter(0)
_ROLE = TensorInfo._fields.index("role")
#: A member of an Enum costs a call to look up.
_BOOKKEEPING = Role.QUANTIZATION


class Inspected(NamedTuple):
    """A result and what it was made from, for whatever comes next: the prediction of the config
    (None where there is none, or it does not name the class) and the weights as read."""

    inspection: Inspection
    prediction: Prediction | None = None
    checkpoint: Checkpoint | None = None

    @property
    def predicted(self) -> tuple[Mapping[str, Any], Prediction] | None:
        """The config and the catalog's prediction, for whoever reads the same config."""
        config, made = self.inspection.config, self.prediction
        own = made is not None and made.family is not None and not self.inspection.overrides
        return (config, made) if own and config is not None and made is not None else None


class ReadContext(NamedTuple):
    """What is known of a model before its tensors are counted.

    ``findings`` come before those of the files, ``last`` after them; ``variants`` are the
    quantisations to choose from, ``contents`` what the file says of itself.
    """

    findings: Sequence[Finding] = ()
    layout: str = "model"
    contents: Mapping[str, object] = {}
    variants: Sequence[Variant] = ()
    adapter: Adapter | None = None
    last: Sequence[Finding] = ()


NOTHING_MORE = ReadContext()


def from_prediction(
    target: str,
    origin: Origin,
    prediction: Prediction,
    *,
    config: Mapping[str, Any] | None = None,
    overrides: tuple[Override, ...] = (),
    companions: Mapping[str, Mapping[str, object]] | None = None,
    findings: Sequence[Finding] = (),
    layout: str = "model",
) -> Inspection:
    """What config.json predicts. Stored sizes are what a file in the config's dtype would hold, or
    one that is packed as the config (or one of the ``companions``, hf_quant_config.json and
    quantize_config.json) says."""
    with collector_paused():
        packed = _packed(prediction, config, companions)
        placed = place_expected(prediction, packed)
    assumed = assumed_class(prediction, config)
    facts = facts_of(config, prediction)
    return _inspection(
        target,
        origin,
        "config",
        placed.tensors,
        placed.tied,
        _count(placed.tensors),
        _head_apart(placed, prediction),
        model_type=prediction.model_type,
        architecture=prediction.architecture,
        catalogued=prediction.family is not None,
        facts=facts,
        **_cache(prediction, config, facts),
        beyond=extra_tensors_of_config(prediction),
        assumed=assumed,
        config=config,
        overrides=overrides,
        quantization=None if packed is None else packed.summary,
        findings=(
            *assumed_finding(assumed, prediction),
            *_how_built(prediction),
            *findings,
            *(() if packed is None else packed.findings),
        ),
        layout=layout,
        **({} if packed is None or packed.specs is not None else {"stored": None}),
    )


def _packed(
    prediction: Prediction,
    config: Mapping[str, Any] | None,
    companions: Mapping[str, Mapping[str, object]] | None,
) -> Packing | None:
    """How the config says that the tensors are packed; nothing is imported where they are not."""
    if not declared_in(config, companions or {}).method:
        return None
    from ..analysis.quantization.packing import packing

    return packing(prediction, config, companions)


def _how_built(prediction: Prediction) -> list[Finding]:
    """A prediction that is not the catalog's says whose it is."""
    if prediction.family is not None:
        return []
    return [Finding("built-by-transformers", prediction.because, severity="note")]


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
        vocabulary=_vocabulary(config) if said is True else (),
        untied=said is False,
        routing=routing_of(config, metadata),
    )
    placed = with_extra_tensors(placed, prediction, decoding.tensors, table)
    if is_gguf:
        from ..analysis.gguf.own_facts import unstored_head

        placed = placed._replace(tied={**placed.tied, **unstored_head(checkpoint.shards)})
    tensors = table.labelled(placed.tensors)
    counts = _count(tensors)
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
    inspection = _inspection(
        target,
        origin,
        "checkpoint",
        tensors,
        _with_unstored_ties(placed, prediction).tied,
        counts,
        _head_apart(placed, prediction),
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
            else _cache(carried, config, facts, dtypes)
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
            *_tie_findings(placed),
            *_claims(total, checkpoint),
            *promise.findings,
            *known.last,
        ),
    )
    return Inspected(inspection, carried, checkpoint)


class _Counts(NamedTuple):
    cells: dict[Key, Cell]
    total: Sums


def _count(tensors: Iterable[TensorInfo]) -> _Counts:
    cells = tally(tensors)
    return _Counts(cells, sums(cells))


def _inspection(
    target: str,
    origin: Origin,
    source: str,
    tensors: Sequence[TensorInfo],
    tied: Mapping[str, str],
    counts: _Counts,
    head_apart: int,
    **more: Any,
) -> Inspection:
    cells, total = counts
    return Inspection(
        target=target,
        origin=origin,
        source=source,
        tensors=tensors,
        parameters=total.parameters,
        logical=total.logical,
        buffers=total.buffers,
        bookkeeping=total.bookkeeping,
        nbytes=total.nbytes,
        components=by_component(cells),
        parts=by_part(cells),
        dtypes=by_dtype(cells),
        **{"stored": total.stored, **more},
        tied=tied,
        parameters_with_head=None
        if total.parameters is None or not head_apart
        else total.parameters + head_apart,
        active_parameters=None if total.active == total.parameters else total.active,
    )


def _cache(
    prediction: Prediction | None,
    config: Mapping[str, Any] | None,
    facts: ModelFacts,
    stored: Mapping[str, Totals] = NOTHING_READ,
) -> dict[str, CacheSize | str]:
    """The fields of a result that say what the model keeps between tokens."""
    heads = facts.kv_heads or facts.heads
    found = own_cache(prediction, config, facts.context, heads, stored)
    return {"cache_unknown" if isinstance(found, str) else "cache": found}


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


# ---- ties


#: Types and classes whose head is its own in transformers, whatever ``tie_word_embeddings`` says
#: (it is true by default): classes without ``_tied_weights_keys`` for the head. Asked where
#: nothing is predicted: the catalog lacks the type, or the config is malformed.
_OWN_HEAD = frozenset(
    """pop2piano AudioFlamingo3ForConditionalGeneration BailingHybridForCausalLM
    BigBirdPegasusForCausalLM ClvpForCausalLM Cosmos3EdgeForConditionalGeneration
    DiaForConditionalGeneration EsmcForMaskedLM GlmImageForConditionalGeneration
    HiggsAudioV2ForConditionalGeneration Inkling2ForCausalLM Inkling2ForConditionalGeneration
    InklingForCausalLM InklingForConditionalGeneration KimiLinearForCausalLM LukeForMaskedLM
    MllamaForCausalLM MllamaForConditionalGeneration Molmo2ForConditionalGeneration
    MoshiForCausalLM MuseSparkForConditionalGeneration MusicFlamingoForConditionalGeneration
    NemotronHForCausalLM PPFormulaNetForConditionalGeneration ParakeetForRNNT
    Qwen2AudioForConditionalGeneration ReformerForMaskedLM ReformerModelWithLMHead
    RemBertForCausalLM RemBertForMaskedLM VibeVoiceAsrForConditionalGeneration
    VoxtralForConditionalGeneration xLSTMForCausalLM""".split()
)


def _vocabulary(config: Mapping[str, Any] | None) -> frozenset[int]:
    """How many tokens a config that ties its embeddings and its sections say that there are."""
    if config is None or not _OWN_HEAD.isdisjoint(_named_in(config)):
        return frozenset()
    sections = [config, *(v for v in config.values() if isinstance(v, Mapping))]
    sizes = (section.get("vocab_size") for section in sections)
    return frozenset(size for size in sizes if type(size) is int)


def _named_in(config: Mapping[str, Any]) -> Iterator[str]:
    """The model type and the classes of a config, as far as they are text."""
    classes = config.get("architectures")
    for name in (config.get("model_type"), *(classes if isinstance(classes, list) else ())):
        if isinstance(name, str):
            yield name


def _with_unstored_ties(placed: Labelled, prediction: Prediction | None) -> Labelled:
    """Ties whose left-out end is, as usual, in no file."""
    if prediction is None or not prediction.tied:
        return placed
    held = {spec.name: name for name, spec in placed.specs.items()}
    tied = dict(placed.tied)
    for name, kept in prediction.tied.items():
        if name not in held and kept in held:
            tied.setdefault(name, held[kept])
    return placed._replace(tied=tied)


def _head_apart(placed: Labelled, prediction: Prediction | None) -> int:
    """Parameters of the head where it is tied to something that is no head."""
    if not placed.tied and (prediction is None or not prediction.tied):
        return 0
    stored = {info.name: info for info in placed.tensors}
    count = 0
    counted = set()
    specs_held = placed.specs
    for name, kept in placed.tied.items():
        info, keeper = stored.get(name), stored.get(kept)
        if info is None and keeper is not None and prediction is None:
            count += keeper.parameters or 0  # a head that GGUF leaves out
        if info is None or keeper is None:
            continue
        if info.component is Component.HEAD and keeper.component is not Component.HEAD:
            count += info.parameters or 0
            spec = specs_held.get(name)
            counted.add(spec.name if spec else name)
    if prediction is None:
        return count
    held = {spec.name for spec in specs_held.values()}
    find = prediction.specs.find
    for name in prediction.tied:
        spec = find(name)
        if spec is None or name in counted or name in held or spec.component is not Component.HEAD:
            continue
        keeper_spec = find(spec.tied_to or "")
        if keeper_spec is None or not is_held(keeper_spec):
            continue
        if keeper_spec.component is not Component.HEAD:
            count += spec.parameters
    return count


def _tie_findings(placed: Labelled) -> list[Finding]:
    if not placed.tied:
        return []
    stored = {info.name: info for info in placed.tensors}
    findings = []
    for name, kept in placed.tied.items():
        if name not in stored:
            continue
        rule, text = "tied-stored-twice", f"{name} is stored although it is tied to {kept}"
        if stored[name].view_of is not None:
            rule, text = "tied-view", f"{name} is a view of {stored[name].view_of}"
        findings.append(Finding(rule, f"{text}; it is counted once", tensor=name, severity="note"))
    return findings
