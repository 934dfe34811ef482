"""What the rules judge: everything about a target, read once and only read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ...analysis.quantization.declared import declared_in
from ...analysis.quantization.decoding import Decoding
from ...checkpoints.filenames import FileKind, WeightName
from ...checkpoints.one_file import IndexRead, Read
from ...checkpoints.repo_layout import config_name
from ...checkpoints.token_table import TokenTable
from ...core.checkpoint import Checkpoint, Finding, Shard
from ...core.records import dataclass
from ...core.refs import Origin
from ...core.results import Inspection
from ...core.tensor import StoredTensor, TensorInfo, TensorSpec
from ...core.verdicts import Unchecked
from ...core.wholeness import Problem
from ...errors import FormatError, HfinspectError
from ...formats.pickles.globals import PickleScan
from ...inspecting.declared_class import is_model
from ...sources.disk import DiskFact
from ...sources.source import FileEntry
from ...trees.prediction import Prediction
from .card import ModelCard

if TYPE_CHECKING:
    from ...analysis.quantization.packing import Packing
    from ...analysis.renamed import Renamed


class Gadget(NamedTuple):
    """Something in a graph of another library that acts when the graph is loaded or run.

    ``rule`` is the name of the rule that reports it.
    """

    rule: str
    path: str
    text: str
    severity: str


class LeftOut(NamedTuple):
    """What a limit, or the network, kept the audit from looking at; ``path`` is None where it is
    more than one file."""

    text: str
    path: str | None = None


@dataclass(frozen=True)
class WeightFact:
    """One weight file: its header as far as it could be read, and all that is wrong with it.

    ``shard`` may be there although ``problems`` hold errors: then its tensors are what the header
    says. ``refused`` is why there is none.
    """

    name: WeightName
    size: int | None
    shard: Shard | None = None
    problems: tuple[Finding, ...] = ()
    refused: HfinspectError | None = None

    @property
    def path(self) -> str:
        return self.name.path

    @property
    def tensors(self) -> Sequence[StoredTensor]:
        return self.shard.tensors if self.shard is not None else ()

    @property
    def is_other_format(self) -> bool:
        """Whether its bytes are those of another format than its name promises, or of none."""
        error = self.refused
        return isinstance(error, FormatError) and error.rule in _NOT_THIS_FORMAT

    @property
    def sound(self) -> bool:
        """Whether its list of tensors can be relied on."""
        return self.shard is not None and not any(
            problem.severity == "error" and problem.rule in _LOSES_TENSORS
            for problem in self.problems
        )


#: Rules of the formats of files that are not of the format that their name says.
_NOT_THIS_FORMAT = frozenset({"other-format", "header-too-large", "gguf-magic", "torch-magic"})
#: Rules of the formats after which a header's list of tensors is not complete.
_LOSES_TENSORS = frozenset(
    {"entry", "dtype", "shape", "offsets", "overflow", "duplicate-key", "not-json", "no-tensors"}
)


@dataclass(frozen=True)
class Copy:
    """One copy of some weights: a file, or the shards of one numbering or index.

    ``files`` are there, ``missing`` should be; ``extra`` are numbered shards that the index does
    not name.
    """

    label: str
    format: str
    kind: FileKind
    stem: str
    variant: str
    files: tuple[WeightFact, ...]
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    index: IndexRead | None = None

    @property
    def sharded(self) -> bool:
        return self.index is not None or any(f.name.shards is not None for f in self.files)

    @property
    def readable(self) -> bool:
        """Whether every tensor of it is known."""
        return (
            bool(self.files)
            and not self.missing
            and all(file.sound for file in self.files)
            and (self.index is None or self.index.value is not None)
        )

    @property
    def size(self) -> int:
        return sum(file.size or 0 for file in self.files)

    @cached_property
    def holders(self) -> Mapping[str, list[str]]:
        """Tensor name -> the files that hold it."""
        files_of: dict[str, list[str]] = {}
        for file in self.files:
            path = file.path
            for tensor in file.tensors:
                files_of.setdefault(tensor[0], []).append(path)
        return files_of

    @cached_property
    def tensors(self) -> Mapping[str, StoredTensor]:
        return {tensor[0]: tensor for file in self.files for tensor in file.tensors}

    @cached_property
    def file_of(self) -> Mapping[str, str]:
        return {name: paths[0] for name, paths in self.holders.items()}

    @cached_property
    def shard_of(self) -> Mapping[str, str]:
        """Tensor name -> path of the shard that the index gives it to; empty without an index."""
        if self.index is None or self.index.value is None:
            return {}
        folder = self.index.path[: self.index.path.rfind("/") + 1]
        weight_map = self.index.value.weight_map
        paths = {shard: folder + shard for shard in set(weight_map.values())}
        return {name: paths[shard] for name, shard in weight_map.items()}

    @cached_property
    def lost_names(self) -> frozenset[str]:
        """Names that the index gives to files that are missing or cannot be read."""
        fine = {file.path for file in self.files if file.sound}
        if fine.issuperset(self.shard_of.values()):
            return frozenset()
        return frozenset(name for name, file in self.shard_of.items() if file not in fine)


@dataclass(frozen=True)
class Judged:
    """A checkpoint next to what its config predicts.

    ``inspection`` is None where nothing could be compared; ``prediction`` where the architecture is
    not in the catalog or its config broken (``config_error``). ``companions`` are the files next to
    the config that say how weights are packed. ``copy`` is the folder's main copy under the names
    that the class gives to its tensors; ``renamed`` says which have other ones in the files.
    ``gguf_problems`` are why llama.cpp would refuse a GGUF file, by its own key-values.
    """

    inspection: Inspection | None = None
    prediction: Prediction | None = None
    decoding: Decoding = field(default_factory=Decoding)
    config_error: HfinspectError | None = None
    config: Mapping[str, object] | None = None
    companions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    copy: Copy | None = None
    renamed: Renamed | None = None
    gguf_problems: tuple[Problem, ...] = ()

    @cached_property
    def packing(self) -> Packing | None:
        """How the config says that the predicted tensors are packed; None if it does not."""
        if self.prediction is None or not declared_in(self.config, self.companions).method:
            return None
        from ...analysis.quantization.packing import packing

        return packing(self.prediction, self.config, self.companions)

    @cached_property
    def specs(self) -> Mapping[str, TensorSpec]:
        """Promised tensors by name, those included that a fresh save leaves out."""
        return {} if self.prediction is None else {s.name: s for s in self.prediction.specs}

    @cached_property
    def infos(self) -> Mapping[str, TensorInfo]:
        """Stored tensors with their labels, by name."""
        return {} if self.inspection is None else {t.name: t for t in self.inspection.tensors}


@dataclass(frozen=True)
class Folder:
    """One directory with weights or a config. ``path`` is empty or ends with a slash.

    ``main`` is the copy that loaders take for the model; ``json`` are its small files by name;
    ``declared`` is the class that modules.json or model_index.json gives the folder to;
    ``between_parts`` is what is wrong with the parts that this folder itself declares so.
    """

    path: str
    copies: tuple[Copy, ...]
    main: Copy | None
    json: Mapping[str, Read[object]] = field(default_factory=dict)
    tokenizer: TokenTable | None = None
    judged: Judged = field(default_factory=Judged)
    declared: str | None = None
    between_parts: tuple[Problem, ...] = ()

    @property
    def config(self) -> Mapping[str, object] | None:
        return self.mapping(config_name(self.declared))

    @property
    def is_model(self) -> bool:
        """Whether there should be weights: a pooling layer and a scheduler have a config alone."""
        return is_model(self.declared, self.config)

    @property
    def config_path(self) -> str:
        return f"{self.path}{config_name(self.declared)}"

    @property
    def adapter(self) -> Mapping[str, object] | None:
        fact = self.json.get("adapter_config.json")
        return fact.mapping if fact is not None else None

    def mapping(self, name: str) -> Mapping[str, object] | None:
        fact = self.json.get(name)
        return fact.mapping if fact is not None else None


@dataclass(frozen=True)
class DeepFact:
    """What reading all values of a file showed: ``sha256`` of the whole, tensors with values that
    are not finite (name, how many, element of the first, whether that is a NaN), tensors that are
    zero throughout, and what the format's own library reads otherwise in its header."""

    path: str
    sha256: str
    recorded: str | None = None
    not_finite: tuple[tuple[str, int, int, bool], ...] = ()
    zero: tuple[str, ...] = ()
    disagreement: str = ""
    error: HfinspectError | None = None


@dataclass(frozen=True)
class TargetFacts:
    """Everything about one target.

    ``listing_complete`` is False where only a part of a repo is in the cache and the Hub is out
    of reach. ``single`` says that one file was named: what is not next to it is not missed.
    ``left_out`` are those of ``unchecked`` that may hide anything.
    ``templates`` are chat templates in files of their own, by path, ``yaml`` files of settings.
    ``refused`` are directories that may not be read. ``disk`` is empty for the Hub.
    """

    origin: Origin
    files: Mapping[str, FileEntry]
    folders: tuple[Folder, ...]
    weights: Mapping[str, WeightFact]
    json: Mapping[str, Read[object]]
    pickles: Mapping[str, tuple[tuple[str, PickleScan], ...]] = field(default_factory=dict)
    pickle_errors: Mapping[str, HfinspectError] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    disk: Mapping[str, DiskFact] = field(default_factory=dict)
    root_mode: int = 0
    leftovers: tuple[str, ...] = ()
    refused: Mapping[str, HfinspectError] = field(default_factory=dict)
    gadgets: tuple[Gadget, ...] = ()
    templates: Mapping[str, str] = field(default_factory=dict)
    yaml: Mapping[str, str] = field(default_factory=dict)
    reference: Checkpoint | None = None
    reference_name: str | None = None
    reference_config: Mapping[str, object] | None = None
    deep: Mapping[str, DeepFact] = field(default_factory=dict)
    single: bool = False
    card: ModelCard = field(default_factory=ModelCard)
    listing_complete: bool = True
    unchecked: tuple[Unchecked, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def copies(self) -> Iterator[tuple[Folder, Copy]]:
        for folder in self.folders:
            for copy in folder.copies:
                yield folder, copy

    @property
    def has_config(self) -> bool:
        return any(folder.config is not None or folder.json for folder in self.folders)

    @property
    def root(self) -> Folder | None:
        return next((folder for folder in self.folders if not folder.path), None)
