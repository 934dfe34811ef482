"""An adapter with its base model, as memory and engines need it."""

from dataclasses import replace

from ..sizing.memory_request import AdapterBytes, MemoryRequest
from ..sources.opening import Access
from .adapter import base_target
from .build import Inspected
from .inspect_run import inspect_target


def with_base(
    inspected: Inspected, request: MemoryRequest, access: Access
) -> tuple[Inspected, MemoryRequest]:
    """An adapter's base model in its place, and the adapter's bytes in the request; unchanged
    what is no adapter, or whose base was not reached."""
    inspection = inspected.inspection
    adapter = inspection.adapter
    if adapter is None or adapter.base is None or adapter.base_parameters is None:
        return inspected, request
    is_local = inspection.origin.kind in ("directory", "file")
    base = inspect_target(base_target(adapter.base, is_local=is_local), access)
    below = base.inspection
    name = f"{below.origin.short_name} + {inspection.origin.short_name}"
    both = replace(below.origin, name=name, repo_id=None, path=None)  # no place has both
    renamed = replace(below, target=inspection.target, origin=both)
    adapter_bytes = AdapterBytes(
        inspection.origin.short_name, inspection.nbytes or 0, inspection.parameters or 0
    )
    return base._replace(inspection=renamed), replace(request, adapter=adapter_bytes)
