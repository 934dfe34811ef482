"""``--on`` and ``--context``: the sum of ``hfinspect memory`` as columns of a model's row."""

from dataclasses import replace

from ..core.footprint import Memory
from ..errors import UsageError
from ..inspecting.build import Inspected
from ..inspecting.whole_model import as_whole
from ..sizing.memory_request import MemoryRequest
from ..sizing.plan import plan
from .rows import MEMORY_COLUMNS, ScanRow


def sized(inspected: Inspected, request: MemoryRequest) -> Memory:
    """The sum of one model. A choice that does not fit this model (a cache's dtype for other
    layers than it has) is a cache that is unknown, by its reason: it fits others of the list."""
    inspected = as_whole(inspected)
    try:
        return plan(inspected.inspection, inspected.prediction, request)
    except UsageError as error:
        reason = error.hint or str(error)
        return replace(plan(inspected.inspection, None, request), cache_unknown=reason)


def memory_row(memory: Memory) -> ScanRow:
    """Its columns; null where there is no answer, and why."""
    main = memory.main
    unknown = memory.cache_unknown or memory.workspace_unknown
    if not unknown and memory.weights.nbytes is None:
        unknown = memory.weights.unknown
    if memory.verdict is not None and memory.fits is None:
        text = memory.verdict.text
        unknown = text if unknown in text else f"{text}; {unknown}"
    values: ScanRow = {
        "fits": memory.fits,
        "max_context": memory.max_context,
        "max_batch": memory.max_batch,
        "memory_total": None if main is None else main.total,
        "memory_weights": memory.weights.nbytes,
        "memory_cache": None if main is None else main.cache.nbytes,
        "memory_workspace": None if memory.workspace is None else memory.workspace.nbytes,
        "memory_context": None if main is None else main.context,
        "memory_batch": memory.batch,
        "memory_engine": memory.engine,
        "device": None if memory.device is None else memory.device[0],
        "smallest_card": memory.smallest_card,
        "memory_unknown": unknown or None,
    }
    return {name: values[name] for name in MEMORY_COLUMNS}
