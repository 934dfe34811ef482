"""Whether a checkpoint is whole: one judgement, made once from headers, that every result carries.

``whole`` is False exactly where a loader would fail or leave weights random, None where nothing
says what should be there, and True otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias, get_args

from .choices import Severity
from .json_form import JsonForm
from .records import dataclass

ProblemKind: TypeAlias = Literal[
    # Loaders fail, or leave weights random.
    "missing_files",  # shards or files that an index, a numbering or a graph names
    "missing_tensors",  # that the class has and no file holds
    "missing_part",  # a tower, a head, a component of a pipeline, with all its tensors
    "wrong_shapes",  # tensors of other shapes than the config makes
    "empty_tensors",  # of no element, where the class has some
    "other_names",  # the same tensors under names that the loader does not know
    "parts_differ",  # sizes of two parts that meet: a text encoder and a denoiser, adapter and base
    "not_this_format",  # the file is of another format than its name says
    "damaged_file",  # a file that is cut off, or whose header contradicts itself
    "broken_contract",  # what a loader requires of keys, tensors or packings and does not get
    # Of a checkpoint that loads all the same.
    "missing_prediction_layer",  # the config declares layers of multi-token prediction
    "unpacked_modules",  # modules in 16 bits that the quantisation does not leave out by name
    "odd_values",  # values that some loader or release refuses, and others take
]

#: What the size of a model follows: its files, or what says how large the whole is.
SizedBy: TypeAlias = Literal["files", "index", "config"]

#: Problems of which the files are less, or other, than the model: their sums are not its size.
OTHER_SIZE: Final[frozenset[ProblemKind]] = frozenset(
    {
        "missing_files",
        "missing_tensors",
        "missing_part",
        "wrong_shapes",
        "empty_tensors",
        "damaged_file",
    }
)

PROBLEM_KINDS: Final[tuple[ProblemKind, ...]] = get_args(ProblemKind)


@dataclass(frozen=True)
class Problem(JsonForm, without="source"):
    """One thing that keeps a checkpoint from being the model, or that its user has to know.

    Fields:
        kind: from a fixed list (``PROBLEM_KINDS``)
        text: what is wrong, as a part of a sentence: ``3 of 4 shards are missing``
        count [files, tensors or keys]: how many things it is about
        example: the first of them; None where it is about none by name
        cause: why it is so, where that is known: ``an interrupted download``; else empty
        fix: what helps, such as a command; else empty
        file: the file concerned, or None
        severity: ``error`` where a loader fails or leaves weights random, else ``warning`` or
            ``note``
        names: those that it is about, the first thousand
        source: of the rule of the audit that shows it, where its kind does not say it; no part of
            the JSON
    """

    kind: ProblemKind
    text: str
    count: int = 1
    example: str | None = None
    cause: str = ""
    fix: str = ""
    file: str | None = None
    severity: Severity = "error"
    names: tuple[str, ...] = ()
    source: str = ""

    @property
    def stops_loading(self) -> bool:
        """Whether a loader fails for it, or leaves weights random."""
        return self.severity == "error"

    @property
    def sentence(self) -> str:
        """The text with its cause: ``14 weights are empty: saved under ZeRO-3 ...``."""
        return f"{self.text}: {self.cause}" if self.cause else self.text


def first_reason(problems: Iterable[Problem]) -> str:
    """Why it does not load, in a sentence; empty where nothing stops a loader."""
    return next((problem.sentence for problem in problems if problem.stops_loading), "")


#: Names that a problem lists.
MAX_NAMES: Final = 1000


def of_names(names: Iterable[str]) -> tuple[tuple[str, ...], int]:
    """The first names and how many there are, as ``Problem.names`` and ``Problem.count``."""
    all_names = names if isinstance(names, Sequence) else tuple(names)
    return tuple(all_names[:MAX_NAMES]), len(all_names)


def is_whole(problems: Iterable[Problem], *, known: bool) -> bool | None:
    """The judgement that follows from the problems. ``known``: whether anything says what should
    be there."""
    if any(problem.stops_loading for problem in problems):
        return False
    return True if known else None


def none_whole(answers: Iterable[bool | None]) -> bool | None:
    """One answer for several: False where one is, else None where one is not known."""
    all_answers = set(answers)
    return False if False in all_answers else None if None in all_answers else True


def by_weight(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """What stops a loader first, then by kind."""
    return tuple(
        sorted(problems, key=lambda one: (not one.stops_loading, PROBLEM_KINDS.index(one.kind)))
    )
