"""What the verbs return: plain data, each with one documented JSON form.

``hfinspect/schemas/inspection.schema.json`` describes ``Inspection.to_dict()``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, NamedTuple

from ..errors import HfinspectError
from .cache_size import CacheSize
from .checkpoint import Finding
from .display import Shown, counted
from .expectation import Assumed, Beyond, Expectation
from .json_form import JsonDocument, JsonForm, plain
from .media_tokens import MediaTokens
from .model_facts import ModelFacts
from .overrides import Override
from .records import dataclass
from .refs import Origin
from .tensor import TensorInfo
from .wholeness import Problem, SizedBy


@dataclass(frozen=True)
class Totals(JsonForm):
    """A group's sums.

    Fields:
        parameters [parameters]: unique ones of the class: tied weights once, without buffers and
            bookkeeping; None where a tensor's packing is unknown
        tensors [tensors]: how many tensors the group has
        nbytes [bytes]: as stored; None where a dtype is unknown
    """

    parameters: int | None
    tensors: int
    nbytes: int | None


@dataclass(frozen=True)
class WeightFile(JsonForm):
    """One weight file that was read: size in bytes if known, tensors and header bytes.

    Fields:
        path: relative to the model's folder
        format: ``safetensors``, ``torch`` or ``gguf``
        size [bytes]: of the whole file; None if unknown
        tensors [tensors]: how many the header describes
        header_bytes [bytes]: of the part that describes tensors
        sha256: of the file, where the Hub or its cache lists it; None otherwise
    """

    path: str
    format: str
    size: int | None
    tensors: int
    header_bytes: int
    sha256: str | None = None


class BitsOf(NamedTuple):
    """Bits in a file and the parameters in them; their ratio is the bits per weight.

    Fields:
        bits [bits]: in the file
        parameters [parameters]: that they hold
    """

    bits: int
    parameters: int


@dataclass(frozen=True)
class Quantization(
    JsonForm, without="findings", after={"weight_bits": "widths", "effective_bits": "weight_bits"}
):
    """How the weights are packed.

    Fields:
        method: the key that the config names, such as ``gptq``
        bits [bits]: of one packed weight; None if they differ or are not whole
        packed_parameters [parameters]: in packed tensors; None where a packing is unknown
        packed_bytes [bytes]: of the packed weights without scales; None where a packing is unknown
        roles [bytes]: by what they hold: weights, scales, zero points, tables
        findings: remarks on the packing
        scheme: the packing in the files, such as ``NVFP4``
        widths [parameters]: packed ones by bits, for GGUF by type
        group_size [weights]: that share a scale; None where the config names none for all
        declared_in: where the method is declared
    """

    method: str
    bits: int | None = None
    packed_parameters: int | None = None
    packed_bytes: int | None = 0
    roles: Mapping[str, int] = field(default_factory=dict, hash=False)
    findings: tuple[Finding, ...] = ()
    scheme: str = ""
    widths: Mapping[str, int] = field(default_factory=dict, hash=False)
    group_size: int | None = None
    declared_in: str = ""

    @property
    def weight_bits(self) -> BitsOf | None:
        """Bits of the packed weights in the file and the parameters in them; their ratio is the
        bits per weight."""
        if not self.packed_parameters or self.packed_bytes is None:
            return None
        return BitsOf(8 * self.packed_bytes, self.packed_parameters)

    @property
    def effective_bits(self) -> BitsOf | None:
        """The same with all bookkeeping."""
        if not self.packed_parameters or self.packed_bytes is None:
            return None
        return BitsOf(8 * sum(self.roles.values()), self.packed_parameters)


@dataclass(frozen=True)
class Member(JsonForm):
    """One part of a model that consists of several: a component of a pipeline, a module.

    Fields:
        name: the folder, or the place in modules.json
        declared: the class that the pipeline names
        architecture: the class that its config names
        catalogued: whether the catalog knows that class
        parameters [parameters]: unique ones; None where unknown
        predicted [parameters]: by its config.json; None where the catalog does not know it
        nbytes [bytes]: of its tensors; None where unknown
        dtypes: of its tensors, as safetensors spells them
        files: the weight files that were read
        whole: as that of an inspection
        quantization: how it is packed; None where it is not
        facts: sizes and counts of the part
    """

    name: str
    declared: str | None
    architecture: str | None
    catalogued: bool
    parameters: int | None
    predicted: int | None
    nbytes: int | None
    dtypes: tuple[str, ...]
    files: tuple[str, ...]
    whole: bool | None = None
    quantization: Quantization | None = None
    facts: ModelFacts = field(default_factory=ModelFacts)


@dataclass(frozen=True)
class VariantFile(JsonForm, without="parameters", after={"bits_per_weight": "size"}):
    """One of several quantisations of a model: its files, their size in bytes, the parameters in
    them, and whether it is the one that was read.

    Fields:
        label: the quantisation, from the file's name
        files: its files
        size [bytes]: of all its files; None where unknown
        parameters [parameters]: in them; None where they were not read
        read: whether this is the one that was read
    """

    label: str
    files: tuple[str, ...]
    size: int | None
    parameters: int | None
    read: bool = False

    @property
    def bits_per_weight(self) -> BitsOf | None:
        """Bits of the files, headers included, and the parameters in them."""
        if self.size is None or not self.parameters:
            return None
        return BitsOf(8 * self.size, self.parameters)


@dataclass(frozen=True)
class Adapter(JsonForm):
    """The settings of a PEFT adapter, whose own parameters are those of the inspection.

    Fields:
        type: the PEFT type, such as ``LORA``
        rank [dimensions]: ``r`` of the adapter's config
        alpha: ``lora_alpha``, a factor without unit
        targets: names of the modules that are adapted
        saved: names of modules that are saved whole
        task: the task type of the adapter's config
        base: the base model that the config names
        base_parameters [parameters]: unique parameters of the base; None if it could not be read
    """

    type: str | None
    rank: int | None
    alpha: int | float | None
    targets: tuple[str, ...]
    saved: tuple[str, ...]
    task: str | None
    base: str | None
    base_parameters: int | None


@dataclass(frozen=True, repr=False, kw_only=True)
class Inspection(
    JsonDocument,
    Shown,
    without="tensors metadata config sized_by",
    names={"origin.hub": "hub", "extra_tensors": "beyond"},
    after={"hub": "origin", "memory": "dtypes"},
):
    """What is inside a model.

    None means unknown, and a finding says why.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        source: ``checkpoint`` (from headers) or ``config`` (predicted)
        overrides: config keys that were changed for this answer
        model_type: of config.json
        architecture: the class that the config names, or that was assumed
        catalogued: whether the catalog knows the class
        format: ``safetensors``, ``torch`` or ``gguf``; None without files
        whole: False exactly where a loader would fail or leave weights random; None where nothing
            says what should be there
        problems: what is missing, wrong or to be known, what stops a loader first
        sized_by: what the sums follow: ``files``, or ``index`` or ``config`` where the files are
            not the whole model; no part of the JSON
        facts: sizes and counts of the model, by its config's or GGUF's keys; those of a pipeline
            are its members'
        parameters [parameters]: unique ones of the class, tied weights once, without buffers,
            unpacked; None if a packing is unknown
        parameters_with_head [parameters]: with a tied head counted separately; None without one
        active_parameters [parameters]: used per token; None if every token uses all of them
        logical [parameters]: in the files, or predicted, before ties are merged; None if a
            packing is unknown
        stored [elements]: in the files, or predicted, as packed, those of a shared storage once;
            None if unknown
        buffers [elements]: that are not parameters
        bookkeeping [elements]: of a quantisation: scales, zero points, tables
        nbytes [bytes]: of all tensors as stored, those of a shared storage once; None where a dtype
            is unknown
        components: sums of ``parameters`` by component: ``embedding``, ``attention``, ...
        parts: sums of ``parameters`` by part: ``text``, ``vision``, ...
        dtypes: sums of all that is stored by dtype, as safetensors spells it
        cache: the least cache for one sequence of the model's own context (engine ``logical``)
        cache_unknown: why ``cache`` is None; empty if it is not
        media: tokens of an image of 1,024 x 1,024 and of a sound of 30 seconds, of models that take
            such and have a rule
        tied: name left out -> name kept
        files: weight files that were read
        other_files: path -> why hfinspect did not read it
        missing_files: missing shards; all sums are then lower limits
        chosen_because: why these files were chosen
        extra_tensors: tensors in the files that the class does not define; from a config, those
            that files may hold
        assumed: the assumed class, if the config names none
        expectation: what config.json predicts, compared with the files
        quantization: how the weights are packed; None where they are not
        layout: ``model``, ``diffusers pipeline``, ``sentence-transformers`` or ``adapter``
        members: the parts of a pipeline or of sentence-transformers, in order
        variants: the quantisations to choose from
        adapter: the settings of a PEFT adapter
        contents: what the weight file says of itself: GGUF's key-values, what a pickle or a
            training checkpoint holds
        findings: remarks from reading
        tensors: every tensor with its labels
        metadata: the files' own free-form entries
        config: config.json as it was read
    """

    target: str
    origin: Origin
    source: Literal["checkpoint", "config"]
    overrides: tuple[Override, ...] = field(default=(), hash=False)
    model_type: str | None = None
    architecture: str | None = None
    catalogued: bool = False
    format: str | None = None
    whole: bool | None = None
    problems: tuple[Problem, ...] = ()
    sized_by: SizedBy = "files"
    facts: ModelFacts = field(default_factory=ModelFacts)
    parameters: int | None
    parameters_with_head: int | None = None
    active_parameters: int | None = None
    logical: int | None
    stored: int | None
    buffers: int
    bookkeeping: int
    nbytes: int | None
    components: Mapping[str, Totals] = field(hash=False)
    parts: Mapping[str, Totals] = field(hash=False)
    dtypes: Mapping[str, Totals] = field(hash=False)
    cache: CacheSize | None = None
    cache_unknown: str = ""
    media: tuple[MediaTokens, ...] = ()
    tied: Mapping[str, str] = field(default_factory=dict, hash=False)
    files: tuple[WeightFile, ...] = ()
    other_files: Mapping[str, str] = field(default_factory=dict, hash=False)
    missing_files: tuple[str, ...] = ()
    chosen_because: str = ""
    extra_tensors: tuple[Beyond, ...] = ()
    assumed: Assumed | None = None
    expectation: Expectation | None = None
    quantization: Quantization | None = None
    layout: str = "model"
    members: tuple[Member, ...] = ()
    variants: tuple[VariantFile, ...] = ()
    adapter: Adapter | None = None
    contents: Mapping[str, object] = field(default_factory=dict, hash=False)
    findings: tuple[Finding, ...] = ()
    tensors: Sequence[TensorInfo]
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)
    config: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def _in_a_line(self) -> str:
        known = self.architecture or self.model_type or self.layout
        return f"{self.target}: {counted(self.parameters)}, {known}"

    @property
    def repo_id(self) -> str | None:
        return self.origin.repo_id

    @property
    def revision(self) -> str | None:
        """The revision that was named."""
        return self.origin.revision

    @property
    def commit(self) -> str | None:
        """The commit that was read."""
        return self.origin.commit

    @property
    def holds_all_files(self) -> bool:
        """False if a shard is missing: every total is then a lower limit."""
        return not self.missing_files

    @property
    def extra_parameters(self) -> int | None:
        """Parameters in the files that the class does not hold; None where one is unknown."""
        counts = [group.parameters for group in self.extra_tensors]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def memory(self) -> dict[str, int]:
        """Bytes for the weights alone at 4, 2, 1 and 0.5 bytes per unique parameter."""
        return {} if self.parameters is None else weight_memory(self.parameters)

    def to_dict(self, *, tensors: bool = False) -> dict[str, Any]:
        """The JSON form (schema version ``SCHEMA_VERSION``); ``tensors`` adds every tensor."""
        form = super().to_dict()
        return {**form, "tensors": plain(self.tensors)} if tensors else form


def weight_memory(parameters: int) -> dict[str, int]:
    """Bytes of the weights at float32, 16 bits, int8 and int4 (rounded up to whole bytes)."""
    return {
        "float32": parameters * 4,
        "16-bit": parameters * 2,
        "int8": parameters,
        "int4": (parameters + 1) // 2,
    }


@dataclass(frozen=True, repr=False)
class Failure(JsonDocument, Shown):
    """A target that could not be inspected, as a value: one bad model never stops a list.

    Fields:
        target: the model as it was named
        error: why it could not be inspected
    """

    target: str
    error: HfinspectError

    def _in_a_line(self) -> str:
        text = str(self.error)  # most errors begin with what they are about
        return text if text.startswith(f"{self.target}:") else f"{self.target}: {text}"

    @property
    def kind(self) -> str:
        return self.error.kind
