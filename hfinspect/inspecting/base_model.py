"""The whole of a model, as memory and engines need it: an adapter with its base, and by its config
what its files are only a part of."""

from dataclasses import replace

from ..core.wholeness import none_whole
from ..sizing.memory_request import AdapterBytes, MemoryRequest
from ..sources.opening import Access
from .adapter import base_target
from .build import Inspected
from .inspect_run import inspect_target
from .whole_model import as_whole


def with_base(
    inspected: Inspected, request: MemoryRequest, access: Access
) -> tuple[Inspected, MemoryRequest]:
    """An adapter's base model in its place, and the adapter's bytes in the request; in place of
    files that are not the model what its config or index says of it; unchanged anything else."""
    inspection = inspected.inspection
    adapter = inspection.adapter
    if adapter is None or adapter.base is None or adapter.base_parameters is None:
        return as_whole(inspected), request
    is_local = inspection.origin.kind in ("directory", "file")
    base = as_whole(inspect_target(base_target(adapter.base, is_local=is_local), access))
    below = base.inspection
    name = f"{below.origin.short_name} + {inspection.origin.short_name}"
    both = replace(below.origin, name=name, repo_id=None, path=None)  # no place has both
    renamed = replace(
        below,
        target=inspection.target,
        origin=both,
        whole=none_whole((inspection.whole, below.whole)),
        problems=(*inspection.problems, *below.problems),
    )
    adapter_bytes = AdapterBytes(
        inspection.origin.short_name, inspection.nbytes or 0, inspection.parameters or 0
    )
    return base._replace(inspection=renamed), replace(request, adapter=adapter_bytes)
