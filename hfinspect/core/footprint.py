"""What ``memory`` returns: weights, cache, workspace and training, each with its derivation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from .bytes_read import Reading
from .cache_size import CacheSize
from .display import Shown
from .fitting import NamedDevice, Verdict
from .flop_count import Flops
from .json_form import JsonDocument, JsonForm
from .media_tokens import MediaTokens
from .offload_plan import Offload
from .recipe_fits import RecipeFits
from .records import dataclass
from .refs import Origin
from .training_bytes import Training
from .wholeness import Problem, SizedBy


@dataclass(frozen=True)
class WeightBytes(JsonForm):
    """Bytes of the weights.

    Fields:
        nbytes [bytes]: bytes that the class loads, exact from headers or from the config's own
            dtypes; None where a packing or dtype is unknown
        source: ``checkpoint`` or ``config``
        parameters [parameters]: unique ones
        per_device [bytes]: on the fullest device under tensor parallelism
        widths [bytes]: at float32, 16 bits, int8 and int4
        unknown: why ``nbytes`` is None
    """

    nbytes: int | None
    source: Literal["checkpoint", "config"]
    parameters: int | None
    per_device: int | None
    widths: Mapping[str, int] = field(default_factory=dict, hash=False)
    unknown: str = ""


@dataclass(frozen=True)
class Workspace(JsonForm, after={"nbytes": ""}):
    """A limit, not an exact number: what a step needs in addition to weights and cache, in bytes.

    What is added up is each engine's own.

    Fields:
        logits [bytes]: of the positions that tokens are chosen from, with their copies
        activation [bytes]: what the largest moment of a step holds above the logits
        runtime [bytes]: of the device's own context and libraries, and what an engine leaves free
        formula: formula of the sum
    """

    logits: int
    activation: int
    runtime: int
    formula: str

    @property
    def nbytes(self) -> int:
        """The sum."""
        return self.logits + self.activation + self.runtime


@dataclass(frozen=True)
class Stage(JsonForm):
    """One stage of a pipeline, by one of its devices.

    Fields:
        first [index, from 0]: of its first layer
        last [index, from 0]: of its last layer
        holds: ``embedding`` on the first stage, ``head`` on the last
        weights [bytes]: on one device; None where unknown
        cache [bytes]: on one device, at the main context
    """

    first: int
    last: int
    holds: tuple[str, ...]
    weights: int | None
    cache: int


@dataclass(frozen=True)
class AtContext(JsonForm, after={"context": ""}):
    """The sum at one context on the fullest device.

    Fields:
        cache: of all sequences
        workspace: upper limit of what a step needs in addition; None where unknown
        total [bytes]: weights, cache and workspace on one device; None where unknown
        fits: whether the device holds it; None without a device, or where the sum is unknown
        weights [bytes]: on that device; None where unknown
        stage [index, from 0]: of the pipeline that the device is in; None without one
    """

    cache: CacheSize
    workspace: Workspace | None
    total: int | None
    fits: bool | None = None
    weights: int | None = None
    stage: int | None = None

    @property
    def context(self) -> int:
        """Tokens of each sequence."""
        return self.cache.tokens


@dataclass(frozen=True, repr=False, kw_only=True)
class Memory(
    JsonDocument,
    Shown,
    without="origin",
    names={"origin.commit": "commit", "version": "engine_version"},
    after={"commit": "model_type", "fits": "device"},
):
    """What a model needs to run: weights, cache and workspace at one or more contexts.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        whole: as that of an inspection; with False nothing fits as it is
        problems: as those of an inspection
        sized_by: ``files``, or ``index`` or ``config`` where the files are not the whole model, and
            all sums are of the whole
        architecture: the class that the config names
        model_type: of config.json
        engine: the engine whose rules the cache follows
        version: the engine's version
        batch [sequences]: at once
        tensor_parallel [devices]: that share each layer
        pipeline_parallel [stages]: that the layers are cut into
        expert_parallel [devices]: that share the experts
        own_context [tokens]: the longest that the config allows
        precision: the dtype or packing of the weights in a few words
        weights: bytes of the weights
        at: one sum for each context, the main one last
        cache_unknown: why the cache is unknown, and ``at`` empty; empty if it is known
        workspace_unknown: why no entry has a workspace; empty if they have one
        device: what was named; None without one
        verdict: whether the device holds it, or the training; None without a device
        max_context [tokens]: that still fits at this batch, up to the model's own or the one that
            was named; None without a device, and where any length fits
        holds_more: whether the device holds a longer context than ``max_context``
        recipes: the weights under other recipes, and the cards that hold them
        max_batch [sequences]: largest batch that fits at this context; None without a device
        smallest_card: the smallest known card that holds the main entry, or the limit of its need
        flops: of a forward pass over the main context; one multiply-add is two
        flops_unknown: why ``flops`` is None; empty if it is not
        training: memory of one training step; None without ``train``
        training_unknown: why ``training`` is None; empty if it is not
        stages: of a pipeline, in order; none without one
        offload: the model by layer, and what goes to the GPU, with llama.cpp; else None
        offload_unknown: why ``offload`` is None; empty if it is not
        reading: bytes that the next token reads, and the speed limit that follows
        media: what each image, video or sound takes that was named
        notes: remarks
    """

    target: str
    origin: Origin
    whole: bool | None = None
    problems: tuple[Problem, ...] = ()
    sized_by: SizedBy = "files"
    architecture: str | None
    model_type: str | None
    engine: str
    version: str
    batch: int
    tensor_parallel: int
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    own_context: int | None = None
    precision: str = ""
    weights: WeightBytes
    at: tuple[AtContext, ...] = ()
    cache_unknown: str = ""
    workspace_unknown: str = ""
    device: NamedDevice | None = None
    verdict: Verdict | None = None
    max_context: int | None = None
    holds_more: bool = False
    recipes: Sequence[RecipeFits] = ()
    max_batch: int | None = None
    smallest_card: str | None = None
    flops: Flops | None = None
    flops_unknown: str = ""
    training: Training | None = None
    training_unknown: str = ""
    stages: tuple[Stage, ...] = ()
    offload: Offload | None = None
    offload_unknown: str = ""
    reading: Reading | None = None
    media: tuple[MediaTokens, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> AtContext | None:
        """The entry of the context that was named, or of the model's own."""
        return self.at[-1] if self.at else None

    @property
    def cache(self) -> CacheSize | None:
        return None if self.main is None else self.main.cache

    @property
    def workspace(self) -> Workspace | None:
        return None if self.main is None else self.main.workspace

    @property
    def total(self) -> int | None:
        """Bytes on one device at the main context."""
        return self.weights.per_device if self.main is None else self.main.total

    @property
    def fits(self) -> bool | None:
        """The verdict as a bool: of training where a way of training was named. None without a
        device, and where it depends."""
        return None if self.verdict is None else self.verdict.fits

    def _in_a_line(self) -> str:
        count = self.total if self.training is None else self.training.least
        total = "bytes unknown" if count is None else f"{count:,} bytes"
        tokens = None if self.main is None or self.training else self.main.context
        where = "" if tokens is None else f" at {tokens:,} tokens"
        answer = ""
        if self.verdict is not None and self.device is not None:
            name, _, count = self.device
            answer = f", {self.verdict.text} on {f'{count} x ' if count > 1 else ''}{name}"
        training = "" if self.training is None else f", training {self.training.method}"
        how = f"engine {self.engine}, batch {self.batch}"
        return f"{self.target}: {total}{where}, {how}{training}{answer}"
