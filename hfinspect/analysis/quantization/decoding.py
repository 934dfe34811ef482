"""The meaning of stored tensors, and the sheet on which a method's file writes it."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from operator import methodcaller
from typing import Any, NamedTuple

from ...core.checkpoint import Finding
from ...core.choices import Severity
from ...core.components import Role
from ...core.records import dataclass
from ...core.results import Quantization
from ...core.tensor import StoredTensor
from ..tensor_table import EACH_ALONE, TensorTable

#: Findings of one rule that are kept; the rest is counted in one more finding.
MAX_FINDINGS = 5


class Holds(str, Enum):
    """What a tensor of a quantised module holds."""

    WEIGHTS = "weights"
    SCALES = "scales"
    ZERO_POINTS = "zero points"
    TABLES = "tables"

    def __str__(self) -> str:
        return self.value


class Decoded(NamedTuple):
    """The meaning of one stored tensor of a quantised module.

    ``name`` is the name that the unquantised tensor would have (its labels are looked up by it),
    ``parameters`` the logical parameters: unpacked for a packed weight, 0 for bookkeeping, None
    where the packing is not known. ``bits`` are those of one weight, None where it is no whole
    number or not known.
    """

    name: str
    role: Role
    parameters: int | None
    holds: Holds = Holds.WEIGHTS
    bits: int | None = None


@dataclass(frozen=True)
class Decoding:
    """The meaning of every tensor that is not simply what it looks like, by stored name."""

    tensors: Mapping[str, Decoded] = field(default_factory=dict)
    summary: Quantization | None = None
    findings: tuple[Finding, ...] = ()


class StoredModule(NamedTuple):
    """The tensors of one module by the last segment of their names (``qweight``, ``scales``)."""

    name: str
    tensors: Mapping[str, StoredTensor]

    def get(self, *suffixes: str) -> StoredTensor | None:
        """The first of these that is there."""
        for suffix in suffixes:
            if suffix in self.tensors:
                return self.tensors[suffix]
        return None

    def full(self, suffix: str) -> str:
        """The name of a tensor of this module."""
        return f"{self.name}.{suffix}" if self.name else suffix


#: A tensor's name as module, dot, last segment.
_SPLIT = methodcaller("rpartition", ".")


class Modules(Mapping[str, StoredModule]):
    """All tensors of a table by module; a ``StoredModule`` is made when needed, as of
    50,000 most are only compared. Of a name in two shards the last counts, as loaded.

    ``entries`` are the tensors of a module, each after a number for its kind (last segment of the
    name, dtype, shape, size, and how many tensors its group has): modules whose numbers agree
    differ in nothing but their names.
    """

    def __init__(self, table: TensorTable) -> None:
        self.entries: dict[str, list[Any]] = {}
        entries = self.entries
        numbers: defaultdict[object, int] = defaultdict(itertools.count().__next__)
        for shard in table.shards:
            if not shard.tensors:
                continue
            names, dtypes, shapes, elements, sizes, *_ = zip(*shard.tensors, strict=True)
            modules, _, suffixes = zip(*map(_SPLIT, names), strict=True)
            counts = (count for _, count in table.groups(shard))
            kinds = zip(suffixes, dtypes, shapes, elements, sizes, counts, strict=True)
            known = map(numbers.__getitem__, kinds)
            for name, number, tensor in zip(modules, known, shard.tensors, strict=True):
                if name in entries:
                    entries[name] += (number, tensor)
                else:
                    entries[name] = [number, tensor]

    def __getitem__(self, name: str) -> StoredModule:
        return StoredModule(name, {t.name.rpartition(".")[2]: t for t in self.entries[name][1::2]})

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


#: Parameters that the architecture's tree gives a tensor of this unquantised name, None if unknown.
PredictedElements = Callable[[str], "int | None"]


@dataclass()
class Sheet:
    """Collects what a method finds out, and the sums of it.

    ``roles`` are bytes by what tensors hold, ``widths`` logical parameters by bits, ``schemes``
    packed weights by the name of their scheme. ``metadata`` is the files' own; ``table`` are the
    tensors, as far as the sums are over more than what is written down.
    """

    predicted: PredictedElements = lambda _name: None
    metadata: Mapping[str, object] = field(default_factory=dict)
    table: TensorTable = EACH_ALONE
    tensors: dict[str, Decoded] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    roles: dict[str, int] = field(default_factory=dict)
    widths: dict[int | None, int] = field(default_factory=dict)
    schemes: dict[str, int] = field(default_factory=dict)
    has_unknown: bool = False
    _counts: dict[str, int] = field(default_factory=dict)

    def weight(
        self, tensor: StoredTensor, name: str, parameters: int, bits: int | None, scheme: str = ""
    ) -> None:
        """A packed weight of ``parameters`` logical parameters."""
        meaning = Decoded(name, Role.PARAMETER, parameters, Holds.WEIGHTS, bits)
        if not self._put(tensor, meaning):
            return
        total = self.table.total
        self.widths[bits] = self.widths.get(bits, 0) + total(tensor.name, parameters)
        if scheme:
            self.schemes[scheme] = self.schemes.get(scheme, 0) + total(tensor.name)

    def plain(self, tensor: StoredTensor, name: str, role: Role) -> None:
        """A tensor that is not packed, stored under another name than its own."""
        count = tensor.elements if role is Role.PARAMETER else 0
        self.tensors.setdefault(tensor.name, Decoded(name, role, count))

    def unknown(self, tensor: StoredTensor, name: str, why: str) -> None:
        """A packed weight whose packing is not known."""
        if self._put(tensor, Decoded(name, Role.PARAMETER, None)):
            self.has_unknown = True
            text = f"the parameters of {tensor.name} cannot be counted: {why}"
            self.note("unknown-packing", text, tensor.name)

    def aside(self, tensor: StoredTensor, name: str, holds: Holds) -> None:
        """Bookkeeping of the weight called ``name``."""
        self._put(tensor, Decoded(name, Role.QUANTIZATION, 0, holds))

    def add_sums(self, other: "Sheet", modules: int) -> None:
        """The sums of another sheet for so many modules, without its tensors and findings."""
        for role, size in other.roles.items():
            self.roles[role] = self.roles.get(role, 0) + size * modules
        for bits, parameters in other.widths.items():
            self.widths[bits] = self.widths.get(bits, 0) + parameters * modules
        for scheme, count in other.schemes.items():
            self.schemes[scheme] = self.schemes.get(scheme, 0) + count * modules

    def note(
        self, rule: str, text: str, tensor: str | None, severity: Severity = "warning"
    ) -> None:
        """A finding; at most MAX_FINDINGS of a rule are kept."""
        count = self._counts[rule] = self._counts.get(rule, 0) + 1
        if count <= MAX_FINDINGS:
            self.findings.append(Finding(rule, text, tensor=tensor, severity=severity))

    def all_findings(self) -> tuple[Finding, ...]:
        """The findings, with one for each rule that had too many to keep."""
        rest = [
            Finding(rule, f"{rule}: the same holds for {count - MAX_FINDINGS:,} more tensors")
            for rule, count in self._counts.items()
            if count > MAX_FINDINGS
        ]
        return (*self.findings, *rest)

    def _put(self, tensor: StoredTensor, meaning: Decoded) -> bool:
        """Whether this is the tensor's first meaning; a later one does not count."""
        if tensor.name in self.tensors:
            return False
        self.tensors[tensor.name] = meaning
        role = meaning.holds.value
        size = self.table.total(tensor.name, tensor.nbytes)
        self.roles[role] = self.roles.get(role, 0) + size
        return True


def whole_ratio(number: int, by: int) -> int | None:
    """``number / by`` if that is a positive whole number, else None."""
    return number // by if by > 0 and number > 0 and number % by == 0 else None
