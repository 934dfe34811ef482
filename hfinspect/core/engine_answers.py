"""What ``runs`` returns: which engines load a model, why others do not, and with what line."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from .display import Shown
from .fitting import NamedDevice
from .json_form import JsonDocument, JsonForm
from .records import dataclass
from .refs import Origin
from .wholeness import Problem

YesNo: TypeAlias = Literal["yes", "no", "unknown"]
YES: Final = "yes"
NO: Final = "no"
UNKNOWN: Final = "unknown"


@dataclass(frozen=True)
class KernelRow(JsonForm):
    """The kernels that an engine tries for packed linear layers on one generation of cards.

    Fields:
        generation: the maker's name of it and its compute capabilities
        kernels: in the order in which the engine tries them, at most three
    """

    generation: str
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class LaunchLine(JsonForm):
    """A command, and where its numbers come from.

    Fields:
        command: as a shell takes it
        because: the rule behind each number
    """

    command: str
    because: tuple[str, ...] = ()


@dataclass(frozen=True)
class EngineAnswer(JsonForm):
    """What one engine does with the model.

    Fields:
        engine: as ``--engine`` names it
        label: its own name
        version: of the source that was read; a commit where it has no versions
        read: the day on which it was read
        answer: ``yes``, ``no`` or ``unknown``
        reasons: why, the most important first
        runs_as: the class or architecture that the engine makes of it; None where it has none
        kernels: for packed weights, by generation of cards; on one card, those of the card
        launch: the lines that start it
        launch_unknown: why there is no line that starts it; empty where there is one
        notes: remarks
    """

    engine: str
    label: str
    version: str
    read: str
    answer: Literal["yes", "no", "unknown"]
    reasons: tuple[str, ...]
    runs_as: str | None = None
    kernels: tuple[KernelRow, ...] = ()
    launch: tuple[LaunchLine, ...] = ()
    launch_unknown: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingLaunch(JsonForm, names={"framework": "way"}):
    """How a training is started over several devices.

    Fields:
        framework: ``FSDP`` or ``DeepSpeed``
        launch: the command, and where its numbers come from; None where nothing fits
        least [bytes]: that one device holds at least
        fits: whether the device holds it; None without a device, and where it depends
        file: name of the file that the command reads; empty where it needs none
        config: what is in it
    """

    framework: Literal["FSDP", "DeepSpeed"]
    launch: LaunchLine | None
    least: int | None
    fits: bool | None
    file: str = ""
    config: str = ""


@dataclass(frozen=True, repr=False, kw_only=True)
class EngineAnswers(
    JsonDocument,
    Shown,
    without="origin",
    names={"origin.commit": "commit", "answers": "engines"},
    after={"commit": "model_type", "answer": "precision"},
):
    """Which engines load a model.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        whole: as that of an inspection; with False no engine loads it as it is
        problems: as those of an inspection
        architecture: the class that the config names
        model_type: of config.json; of a GGUF file its architecture
        precision: the dtype or packing of the weights in a few words
        device: what was named; None without one
        answers: one for each engine
        training: how a training is started, where a way of training was named
        training_unknown: why that cannot be given; empty where it can
    """

    target: str
    origin: Origin
    whole: bool | None = None
    problems: tuple[Problem, ...] = ()
    architecture: str | None
    model_type: str | None
    precision: str
    device: NamedDevice | None = None
    answers: tuple[EngineAnswer, ...]
    training: tuple[TrainingLaunch, ...] = ()
    training_unknown: str = ""

    @property
    def answer(self) -> Literal["yes", "no", "unknown"]:
        """``yes`` where one of the engines loads it, ``no`` where none does."""
        answers = {one.answer for one in self.answers}
        return YES if YES in answers else UNKNOWN if UNKNOWN in answers else NO

    def _in_a_line(self) -> str:
        each = ", ".join(f"{one.engine} {one.answer}" for one in self.answers)
        return f"{self.target}: {each}"
