"""What an engine is: the rules by which it holds a model and what the model keeps.

Each engine is one file in this folder, which says all of them; ``registry.py`` lists the engines.
Members without a rule here are abstract, so that an engine which leaves one out does not start.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from ...core.records import dataclass
from ...errors import UsageError
from ...trees.cache_layout import KeysValues, State
from ...trees.prediction import Prediction
from ..cache_request import CachedLayer, CacheRequest
from .cache_dtypes import nbytes_of, short_names, spelled_dtype, two_dtypes

if TYPE_CHECKING:
    from ...core.footprint import Workspace
    from ..workspace import WorkspaceLimit

#: The most tokens of one step that a user may name.
MAX_STEP: Final = 2**24
#: More tokens than any step has: no engine cuts the prompt.
WHOLE_PROMPT: Final = 2**31


class Support(NamedTuple):
    """Which list of ``engine_classes.json`` says what an engine runs: its ``key`` and the engine's
    ``label``. ``through_transformers``: it runs other classes by transformers' own code."""

    key: str
    label: str
    through_transformers: bool


@dataclass(frozen=True)
class Engine(ABC):
    """The rules of one engine.

    Fields:
        step_tokens [tokens]: that one step works on at most (vLLM's max_num_batched_tokens,
            llama.cpp's ubatch); None: the engine's default
        cells [tokens]: a cache is held in blocks of so many
    """

    step_tokens: int | None = None
    cells: int = 1

    #: As ``--engine`` names it, and the version or commit whose source was read.
    name: ClassVar[str]
    version: ClassVar[str]
    #: Dtypes of keys and values that it has; None where it is no engine and any will do.
    cache_dtypes: ClassVar[tuple[str, ...] | None]
    #: The dtype of a cache where nobody chose one; None: the model's.
    default_cache_dtype: ClassVar[str | None]
    #: The dtype of all states where the engine fixes it; None: the model's.
    state_dtype: ClassVar[str | None]
    #: Columns of a convolution's kernel that it does not keep.
    kernel_less: ClassVar[int]
    #: Which list of classes it has; None where no list says what it runs.
    support: ClassVar[Support | None]
    #: Tokens of one step where a user names none; None where steps are no setting of it.
    default_step: ClassVar[int | None]
    #: What the limit of the workspace adds up, in words.
    workspace_parts: ClassVar[str]
    #: Whether each device gets some of the layers, and the rest may stay on the CPU.
    places_layers: ClassVar[bool]
    #: Whether several devices get whole layers where nobody says how they share a model.
    deals_layers: ClassVar[bool]
    #: Whether it runs GGUF files, and whether it runs anything else.
    runs_gguf: ClassVar[bool]
    runs_others: ClassVar[bool]
    #: Whether it holds what the key-values of a GGUF file say; others go by a config.
    reads_key_values: ClassVar[bool]
    #: Whether it holds what its converter makes of a class, with windows of its own.
    converts: ClassVar[bool]
    #: Whether the last stage of a pipeline is the first that gets a layer more.
    last_stage_is_full: ClassVar[bool]

    _REQUIRED: ClassVar[tuple[str, ...]] = tuple(
        """name version cache_dtypes default_cache_dtype state_dtype kernel_less support
        default_step workspace_parts places_layers deals_layers runs_gguf runs_others
        reads_key_values converts last_stage_is_full""".split()
    )

    def __post_init__(self) -> None:
        missing = [name for name in self._REQUIRED if not hasattr(self, name)]
        if missing:
            raise TypeError(f"{type(self).__name__} does not say {', '.join(missing)}")

    # ---- rows of keys and values

    @abstractmethod
    def rows(self, window: int | None, tokens: int, batch: int) -> int:
        """Rows of keys and values that one layer holds for all ``batch`` sequences of ``tokens``;
        ``window`` None: it looks at all of them."""

    def rows_of(self, item: KeysValues, window: int | None, tokens: int, batch: int) -> int:
        """Rows that one layer holds of ``item``, whose tokens are the decoder's own."""
        if item.every > 1:
            return batch * item.rows_of_groups(tokens)
        if item.by_sequence:
            return batch * self.rows(window, tokens, 1)
        return self.rows(window, tokens + int(item.before), batch)

    def holding(self, item: KeysValues) -> Engine:
        """The engine with the cells that it has for rows of ``item``."""
        return self

    @abstractmethod
    def rows_formula(self, window: str) -> str:
        """``rows`` in symbols: b sequences of N tokens. ``window`` is empty where there is none."""

    @abstractmethod
    def window_full(self, window: int, batch: int) -> int:
        """At how many tokens of a sequence the rows of a windowed layer grow no more."""

    def row_copies(self, item: KeysValues) -> int:
        """How often each row is held."""
        return 1

    def row_elements(self, item: KeysValues) -> int:
        """Elements of one token's row as the engine holds it."""
        return (int(item.key) + int(item.value)) * self.row_copies(item)

    def bytes_of_rows(
        self, item: KeysValues, rows: int, dtype: str, heads: int | None = None
    ) -> int:
        """Bytes of ``rows`` rows. ``heads`` are the key/value heads where the item does not say."""
        key, value = two_dtypes(item.dtype or dtype)
        if key == value:
            return nbytes_of(self.row_elements(item) * rows, key)
        rows *= self.row_copies(item)
        return nbytes_of(int(item.key) * rows, key) + nbytes_of(int(item.value) * rows, value)

    # ---- states

    def state_shape(self, item: State) -> tuple[int, ...]:
        """Of one sequence in one layer."""
        *outer, last = item.shape
        return (*outer, last - self.kernel_less if item.name == "conv" else last)

    def state_elements(self, item: State) -> int:
        """Elements of the state of one sequence in one layer."""
        return math.prod(int(size) for size in self.state_shape(item))

    def state_dtype_of(self, item: State, request: CacheRequest) -> str:
        """The dtype that a state is held in."""
        if item.name == "recurrent" and item.dtype and request.recurrent_dtype:
            return request.recurrent_dtype
        return self.state_dtype or item.dtype or request.state_dtype or request.dtype

    def state_bytes(self, item: State, request: CacheRequest, layers: int = 1) -> int:
        """Bytes of the states of all sequences in so many layers."""
        elements = self.state_elements(item) * layers
        return nbytes_of(
            self.state_sequences(request.batch) * elements, self.state_dtype_of(item, request)
        )

    @abstractmethod
    def recurrent_dtype(
        self, prediction: Prediction, config: Mapping[str, Any] | None, dtype: str
    ) -> str | None:
        """What the engine makes of recurrent states that transformers keeps in float32; None where
        it keeps float32. ``dtype`` is that of the other states."""

    @abstractmethod
    def in_pages(
        self, layers: Sequence[CachedLayer], request: CacheRequest
    ) -> tuple[Sequence[CachedLayer], Engine]:
        """Layers and engine where keys, values and states share pages of one size; layers that are
        in pages stay as they are. An engine without such pages returns both as they came."""

    # ---- dtypes

    def cache_dtype(self, name: str) -> str:
        """The dtype that a user wrote, as we spell it. Raises UsageError for one that is none, or
        that this engine does not have."""
        if "/" in name:
            problem = f"names two dtypes, and engine {self.name} has one"
            raise UsageError(f"cache dtype {name!r}", problem, expected="engine llama.cpp")
        dtype = spelled_dtype(name)
        if self.cache_dtypes is not None and dtype not in self.cache_dtypes:
            raise UsageError(
                f"cache dtype {name!r}",
                f"is not a cache dtype of {self.name}",
                expected=short_names(self.cache_dtypes),
            )
        return dtype

    def cache_refusal(self, item: KeysValues, dtype: str) -> str:
        """Why a cache of this dtype, which the engine has, cannot hold these rows; empty where it
        can."""
        return ""

    # ---- settings

    def with_settings(
        self, *, slots: int | None, split_cache: bool, swa_full: bool, flash_attention: bool
    ) -> Engine:
        """The engine with the settings of its server. Raises UsageError for one that it does not
        have, and for one that is not possible."""
        options = {
            "slots": slots is not None,
            "split cache": split_cache,
            "swa full": swa_full,
            "flash attention off": not flash_attention,
        }
        for name, is_named in options.items():
            if is_named:
                raise UsageError(
                    name, f"is not a setting of engine {self.name}", expected="engine llama.cpp"
                )
        return self

    def state_sequences(self, batch: int) -> int:
        """Sequences that states are held for, of which ``batch`` run."""
        return batch

    # ---- steps and workspace

    def with_step(self, step_tokens: int | None, stepping: Sequence[str]) -> Engine:
        """The engine with steps of so many tokens. ``stepping`` names the engines that have such a
        setting. Raises UsageError."""
        if step_tokens is None:
            return self
        if self.default_step is None:
            raise UsageError(
                f"step tokens {step_tokens}",
                f"are not a setting of engine {self.name}",
                expected=" or ".join(stepping),
            )
        if isinstance(step_tokens, bool) or not 1 <= step_tokens <= MAX_STEP:
            raise UsageError(
                f"step tokens {step_tokens!r}", "are not possible", expected=f"1 to {MAX_STEP:,}"
            )
        return replace(self, step_tokens=step_tokens)

    @property
    def step(self) -> int:
        """Tokens of each sequence that one step works on at most."""
        return self.step_tokens or self.default_step or WHOLE_PROMPT

    @abstractmethod
    def workspace(self, limit: WorkspaceLimit, context: int, batch: int) -> Workspace | None:
        """The limit of what a step needs next to weights and cache, at this context."""

    def on_device(self, nbytes: int, name: str) -> Engine:
        """The engine with the defaults that it takes on a device of so many bytes."""
        return self

    def in_stages(self, count: int) -> Engine:
        """The engine where the layers are cut into so many stages."""
        return self

    @abstractmethod
    def usable(self, nbytes: int) -> int:
        """Bytes of a device that the engine takes for weights, cache and workspace."""

    def in_groups(self, layers: Sequence[CachedLayer]) -> Sequence[CachedLayer]:
        """The layers, and after them those for which the engine reserves rows that no layer has."""
        return layers

    # ---- what it refuses and remarks

    @abstractmethod
    def unknown_layouts(self, layers: Sequence[CachedLayer]) -> Iterator[str]:
        """Why the bytes of some layers are not known under this engine."""

    def refused_type(self, model_type: str | None) -> str:
        """Why it keeps no cache of this type of model; empty where it does."""
        return ""

    def notes(
        self, layers: Sequence[CachedLayer], request: CacheRequest, first: int
    ) -> Iterator[str]:
        """What is easily misread in the engine's own words. ``first`` are the bytes that the first
        token adds."""
        return iter(())

    def encoder_notes(self, nbytes: Callable[[], tuple[int, int]]) -> tuple[str, ...]:
        """Remarks on a model that only encodes; ``nbytes`` gives the bytes of a cache that was made
        all the same, and its tokens."""
        return ()

    # ---- several devices

    @abstractmethod
    def check_parallel(self, devices: int) -> None:
        """Raises UsageError where the engine does not divide a model over so many devices."""

    def parallel_notes(self, tensor: int, pipeline: int, expert: int) -> Iterator[str]:
        """What the engine does otherwise than was named."""
        return iter(())


@dataclass(frozen=True)
class RowPerToken(Engine):
    """An engine that holds one row for each token that a later one looks at, apart from states."""

    def rows(self, window: int | None, tokens: int, batch: int) -> int:
        return batch * (tokens if window is None else min(tokens, self.window_full(window, batch)))

    def rows_formula(self, window: str) -> str:
        return f"b·min(N, {window} − 1)" if window else "b·N"

    def window_full(self, window: int, batch: int) -> int:
        return window - 1

    def in_pages(
        self, layers: Sequence[CachedLayer], request: CacheRequest
    ) -> tuple[Sequence[CachedLayer], Engine]:
        return layers, self


def padded(cells: int, step: int) -> int:
    """``cells`` rounded up to a multiple of ``step``."""
    return -(-cells // step) * step


def shares_rows(layers: Sequence[CachedLayer]) -> bool:
    """Whether tokens share rows in some layer."""
    return any(item.every > 1 for layer in layers for item in layer.keys_values)


def keeps_prompts_apart(layers: Sequence[CachedLayer]) -> bool:
    """Whether some layer keeps a prompt apart from what follows."""
    return any(item.prompt for layer in layers for item in layer.keys_values)


def not_known_here(name: str, layers: Sequence[CachedLayer]) -> Iterator[str]:
    """Why an engine whose source was not read for them cannot say what these layers take."""
    if shares_rows(layers):
        yield f"how {name} stores compressed keys is unknown"
    if keeps_prompts_apart(layers):
        yield f"how {name} stores a prompt before generated tokens is unknown"


def windows_of(layers: Sequence[CachedLayer]) -> list[int]:
    """The windows of layers that keep rows, each once."""
    return sorted({layer.window for layer in layers if layer.window and layer.keys_values})
