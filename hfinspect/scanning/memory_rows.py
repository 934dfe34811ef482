"""``--on`` and ``--context``: the sum of ``hfinspect memory`` as columns of a model's row."""

from __future__ import annotations

from dataclasses import replace

from ..core.footprint import Memory
from ..errors import UsageError
from ..inspecting.build import Inspected
from ..sizing.memory_request import MemoryRequest
from ..sizing.plan import plan
from .rows import MEMORY_COLUMNS, Row


def sized(whole: Inspected, wish: MemoryRequest) -> Memory:
    """The sum of one model. A choice that does not fit this model (a cache's dtype for other
    layers than it has) is a cache that is unknown, by its reason: it fits others of the list."""
    try:
        return plan(whole.inspection, whole.prediction, wish)
    except UsageError as error:
        reason = error.hint or str(error)
        return replace(plan(whole.inspection, None, wish), cache_unknown=reason)


def memory_row(found: Memory) -> Row:
    """Its columns; null where there is no answer, and why."""
    main = found.main
    unknown = found.cache_unknown
    if not unknown and found.weights.nbytes is None:
        unknown = found.weights.unknown
    if found.verdict is not None and found.fits is None:
        text = found.verdict.text
        unknown = text if unknown in text else f"{text}; {unknown}"
    values: Row = {
        "fits": found.fits,
        "max_context": found.max_context,
        "max_batch": found.max_batch,
        "memory_total": None if main is None else main.total,
        "memory_weights": found.weights.nbytes,
        "memory_cache": None if main is None else main.cache.nbytes,
        "memory_workspace": None if main is None else main.workspace.nbytes,
        "memory_context": None if main is None else main.context,
        "memory_batch": found.batch,
        "memory_engine": found.engine,
        "device": None if found.device is None else found.device[0],
        "smallest_card": found.smallest_card,
        "memory_unknown": unknown or None,
    }
    return {name: values[name] for name in MEMORY_COLUMNS}
