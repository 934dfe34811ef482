"""Inspections: what one is made from, and those from what config.json predicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..analysis.count import CountCell, Key, Sums, by_component, by_dtype, by_part, sums, tally
from ..analysis.extra_tensors import extra_tensors_of_config
from ..analysis.key_facts import facts_of
from ..analysis.labels.place import place_expected
from ..analysis.quantization.declared import declared_in
from ..core.cache_size import CacheSize
from ..core.checkpoint import Checkpoint, Finding
from ..core.collector import collector_paused
from ..core.model_facts import ModelFacts
from ..core.overrides import Override
from ..core.refs import Origin
from ..core.results import Inspection, Totals
from ..core.tensor import TensorInfo
from ..errors import HfinspectError
from ..sizing.own_cache import NOTHING_READ, own_cache
from ..trees.prediction import Prediction
from .assumed import assumed_class, assumed_finding
from .judging.judge import judged_config
from .ties import head_apart

if TYPE_CHECKING:
    from ..analysis.quantization.packing import Packing
    from ..checkpoints.variants import Variant
    from ..core.results import Adapter
    from ..sources.source import FileEntry


class Inspected(NamedTuple):
    """A result and what it was made from, for whatever comes next: the prediction of the config
    (None where there is none, or it does not name the class) and the weights as read. ``refused``
    is the error that the model is to whoever asks what is inside (``unsized.py``)."""

    inspection: Inspection
    prediction: Prediction | None = None
    checkpoint: Checkpoint | None = None
    refused: HfinspectError | None = None

    @property
    def predicted(self) -> tuple[Mapping[str, Any], Prediction] | None:
        """The config and the catalog's prediction, for whoever reads the same config."""
        config = self.inspection.config
        prediction = self.prediction
        if config is None or prediction is None or prediction.family is None:
            return None
        return None if self.inspection.overrides else (config, prediction)


class ReadContext(NamedTuple):
    """What is known of a model before its tensors are counted.

    ``findings`` come before those of the files, ``last`` after them; ``variants`` are the
    quantisations to choose from, ``contents`` what the file says of itself. ``files`` is the list
    of all files, with the hashes that are known, ``unfinished`` what an interrupted download left,
    ``config_error`` why no class can be built from the config, ``base_config`` that of an
    adapter's base.
    """

    findings: Sequence[Finding] = ()
    layout: str = "model"
    contents: Mapping[str, object] = {}
    variants: Sequence[Variant] = ()
    adapter: Adapter | None = None
    last: Sequence[Finding] = ()
    files: Mapping[str, FileEntry] = {}
    unfinished: Sequence[str] = ()
    config_error: str = ""
    base_config: Mapping[str, Any] | None = None


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
        labelled = place_expected(prediction, packed)
    assumed = assumed_class(prediction, config)
    facts = facts_of(config, prediction)
    return assembled(
        target,
        origin,
        "config",
        labelled.tensors,
        labelled.tied,
        count_tensors(labelled.tensors),
        head_apart(labelled, prediction),
        model_type=prediction.model_type,
        architecture=prediction.architecture,
        catalogued=prediction.family is not None,
        facts=facts,
        **cache_fields(prediction, config, facts),
        extra_tensors=extra_tensors_of_config(prediction),
        assumed=assumed,
        config=config,
        **judged_config(config),
        overrides=overrides,
        quantization=None if packed is None else packed.summary,
        findings=(
            *assumed_finding(assumed, prediction),
            *_how_built(prediction),
            *_without_release(prediction),
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


def _without_release(prediction: Prediction) -> list[Finding]:
    """A note where releases of transformers save this class otherwise, and the config names none:
    the newest one was taken."""
    if not prediction.releases:
        return []
    text = (
        f"config.json names no transformers_version, so that the answer is that of "
        f"{prediction.releases[-1]}; transformers before saves {prediction.architecture} otherwise"
    )
    return [Finding("release-assumed", text, severity="note")]


class TensorCounts(NamedTuple):
    cells: dict[Key, CountCell]
    total: Sums


def count_tensors(tensors: Iterable[TensorInfo]) -> TensorCounts:
    cells = tally(tensors)
    return TensorCounts(cells, sums(cells))


def assembled(
    target: str,
    origin: Origin,
    source: Literal["checkpoint", "config"],
    tensors: Sequence[TensorInfo],
    tied: Mapping[str, str],
    counts: TensorCounts,
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


def cache_fields(
    prediction: Prediction | None,
    config: Mapping[str, Any] | None,
    facts: ModelFacts,
    stored: Mapping[str, Totals] = NOTHING_READ,
) -> dict[str, CacheSize | str]:
    """The fields of a result that say what the model keeps between tokens."""
    heads = facts.kv_heads or facts.heads
    cache = own_cache(prediction, config, facts.context, heads, stored)
    return {"cache_unknown" if isinstance(cache, str) else "cache": cache}
