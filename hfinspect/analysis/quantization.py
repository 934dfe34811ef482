"""What packed tensors and their bookkeeping stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.checkpoint import Finding
from ..core.components import Role
from ..core.results import Quantization


class Decoded(NamedTuple):
    """The meaning of one stored tensor of a quantised module.

    ``name`` is the name that the unquantised tensor would have (its labels are looked up by it),
    ``parameters`` the logical parameters: unpacked for a packed weight, 0 for bookkeeping, None
    where the packing is not known.
    """

    name: str
    role: Role
    parameters: int | None


@dataclass(frozen=True)
class Decoding:
    """The meaning of every tensor that is not simply what it looks like, by stored name."""

    tensors: Mapping[str, Decoded] = field(default_factory=dict)
    summary: Quantization | None = None
    findings: tuple[Finding, ...] = ()
