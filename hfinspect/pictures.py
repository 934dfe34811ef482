"""The verbs behind pages and pictures: all that one shows, from one run."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from .api import MemoryCall, ReadCall
from .core.choices import SourceChoice, check_source
from .core.given_config import config_given
from .core.option_field import called_with
from .core.records import dataclass
from .core.refs import ModelRef
from .errors import HfinspectError
from .inspecting.build import Inspected
from .inspecting.inspect_run import inspect_opened, is_config_file, of_pipeline
from .inspecting.read_options import inspect_with
from .sources.opening import Access, errors_about

# What only one of them needs is imported by it.
if TYPE_CHECKING:
    from .core.explanation import Explanation
    from .core.footprint import Memory
    from .core.verdicts import AuditResult
    from .reports.portrait import PartPortrait, Portrait
    from .sizing.curves import CacheOfLayers, Curves
    from .sizing.memory_request import MemoryRequest
    from .sources.memoized import MemoizedSource

#: A portrait has an audit of models up to so many tensors; a second reading of more takes longer
#: than everything else on the page.
MAX_AUDITED = 20_000
#: Parts that have a chapter of their own.
MAX_PARTS = 12


@dataclass(frozen=True, kw_only=True)
class PortraitCall(ReadCall):
    """The arguments of ``portrait``."""

    brief: bool = False


@called_with(PortraitCall)
def portrait(call: PortraitCall) -> Portrait:
    """All that a page about a model shows, from one run: what ``inspect`` returns, the
    derivation, memory at every context, and an audit of what was read. ``brief``: what a picture
    of its areas shows, without these three.

    Arguments and errors are those of ``inspect``. What a model has no answer for is the reason as
    text; so is the audit of more than ``MAX_AUDITED`` tensors, which takes as long again.
    """
    from .sources.memoized import MemoizedSource

    if call.brief:
        from .reports.portrait import Portrait

        inspected, _ = inspect_with(call, call.target)
        return Portrait(inspected.inspection, "", None, None, (), "")
    if config_given(call.target) is not None:
        inspected, _ = inspect_with(call, call.target)
        return _portrait(inspected, "only a config was given")
    target = str(call.target)
    source = call.source
    check_source(source, call.overrides)
    access = call.access()
    ref = of_pipeline(access.resolve(call.target, call.revision))
    access = access.started()
    opened = access.open(ref)
    memoized = MemoizedSource(opened)
    with errors_about(ref), closing(memoized):
        inspected = inspect_opened(
            target,
            ref,
            memoized if ref.path is None else opened,
            access,
            source=source,
            file=call.file,
            overrides=call.overrides,
        )
        parts = _parts(target, ref, memoized, access, inspected, source)
        audit = _audited(target, ref, call.file, memoized, inspected, source)
        return _portrait(inspected, audit, parts, _with_base(inspected, access))


def _parts(
    name: str,
    ref: ModelRef,
    opened: MemoizedSource,
    access: Access,
    inspected: Inspected,
    source: SourceChoice,
) -> tuple[PartPortrait, ...]:
    """Each part of a pipeline as its own folder says it; its files were read already."""
    from .inspecting.pipelines import folder_of
    from .reports.portrait import PartPortrait

    parts = []
    # What is changed is the root's config: a part for itself would be shown without the change.
    members = () if inspected.inspection.overrides else inspected.inspection.members
    for member in members[:MAX_PARTS]:
        folder = folder_of(member)
        if not folder:  # of the root there is no inspection without the other parts
            continue
        try:
            model = inspect_opened(name, ref, opened, access, source=source, file=folder)
        except HfinspectError as error:
            parts.append(PartPortrait(member.name, None, str(error)))
            continue
        parts.append(PartPortrait(member.name, model.inspection, _explanation(model)))
    return tuple(parts)


def _audited(
    name: str,
    ref: ModelRef,
    file: str | None,
    opened: MemoizedSource,
    inspected: Inspected,
    source: str,
) -> AuditResult | str:
    """The audit of what was inspected, or why there is none."""
    inspection = inspected.inspection
    if inspection.overrides or source == "config":
        return "only the config was to be read"
    if inspection.source == "config" and not inspection.findings and not inspection.other_files:
        return "no weight file was read, and nothing is odd so far; the command audit looks closer"
    if len(inspection.tensors) > MAX_AUDITED:
        return (
            f"of more than {MAX_AUDITED:,} tensors it takes as long as the rest of this page; the "
            "command audit does it"
        )
    picked = ref.file or file
    if is_config_file(picked) or is_config_file(ref.path):
        return "only the config was read"
    from .auditing.run import run_audit  # a hundred rules: a third of the time of a page
    from .sources.opening import local_source

    shards = () if inspected.checkpoint is None else inspected.checkpoint.shards
    try:
        if ref.path is not None:
            return run_audit(name, local_source(ref.path), file=picked, shards=shards)
        return run_audit(name, opened, file=picked, shards=shards)
    except HfinspectError as error:
        return str(error)


def _explanation(inspected: Inspected) -> Explanation | str:
    """Where the parameters come from; why that cannot be derived, as text."""
    from .explaining.derivation import Derivation
    from .explaining.derive import explained
    from .explaining.gguf_tree import gguf_derivation

    explanation = inspected.inspection
    prediction = inspected.prediction
    derivation = (
        gguf_derivation(explanation)
        if explanation.config is None and not explanation.members
        else None
    )
    if prediction is not None and explanation.config is not None:
        derivation = Derivation(prediction, explanation.config)
    if derivation is not None:
        return explained(explanation.target, explanation, derivation)
    if explanation.members:
        return f"it is a {explanation.layout} of several parts"
    return "its architecture is not in the catalog" if explanation.config else "there is no config"


def _with_base(inspected: Inspected, access: Access) -> tuple[Inspected, MemoryRequest]:
    """What memory is computed for: an adapter with its base model, any other model as it is."""
    from .inspecting.base_model import with_base
    from .sizing.engines.registry import LOGICAL
    from .sizing.memory_request import MemoryRequest

    request = MemoryRequest(LOGICAL)
    try:
        return with_base(inspected, request, access)
    except HfinspectError:  # the base was there a moment ago
        return inspected, request


def _portrait(
    inspected: Inspected,
    audit: AuditResult | str,
    parts: tuple[PartPortrait, ...] = (),
    sized: tuple[Inspected, MemoryRequest] | None = None,
) -> Portrait:
    from .reports.portrait import Portrait
    from .sizing.curves import caches_by_layer, curves
    from .sizing.engines.registry import LOGICAL
    from .sizing.memory_request import MemoryRequest
    from .sizing.plan import plan

    run, sized_request = sized or (inspected, MemoryRequest(LOGICAL))
    inspection = run.inspection
    prediction = run.prediction
    memory = plan(inspection, prediction, sized_request)
    drawn = None if prediction is None else curves(inspection, prediction, memory, sized_request)
    # The areas are those of the adapter alone, without its base model's cache.
    layer_caches: tuple[CacheOfLayers, ...] = ()
    if run is inspected and prediction is not None and drawn is not None:
        layer_caches = caches_by_layer(inspection, prediction, memory)
    return Portrait(
        inspected.inspection, _explanation(inspected), memory, drawn, layer_caches, audit, parts
    )


@called_with(MemoryCall)
def memory_drawn(call: MemoryCall) -> tuple[Memory, Curves | None]:
    """What ``memory`` returns for the same arguments and, from the same run, the curves of the
    model on one device; None where its cache is not known."""
    from .inspecting.base_model import with_base
    from .inspecting.media_read import with_media
    from .sizing.curves import curves
    from .sizing.memory_request import memory_request
    from .sizing.planned import planned
    from .sizing.recipes.at_recipe import at_recipe

    request = memory_request(call)
    inspected, access = inspect_with(call, call.target, unsized=request.device is not None)
    request = with_media(inspected, request, call.target, access, call.revision)
    inspected, request = with_base(inspected, request, access)
    memory = planned(inspected.inspection, inspected.prediction, request)
    if inspected.prediction is None or request.train is not None:
        return memory, None
    inspection = inspected.inspection
    if request.width is not None:
        inspection = at_recipe(inspection, inspected.prediction, request.width)
    return memory, curves(inspection, inspected.prediction, memory, request)
