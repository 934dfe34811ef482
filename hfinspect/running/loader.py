"""What is asked of each engine. A new one is a file whose class says all abstract members; one that
leaves a member out does not start."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from ..analysis.library_layouts import LAYOUTS
from ..core.engine_answers import NO, UNKNOWN, YES, EngineAnswer, KernelRow, LaunchLine, YesNo
from ..core.wholeness import first_reason
from .engine_lists import engine_lists
from .subject import Subject


class Check(NamedTuple):
    """One condition: the answer, why, and what the engine makes of the model."""

    answer: YesNo
    reason: str = ""
    runs_as: str | None = None
    note: str = ""


PASSED = Check(YES)


class Launch(NamedTuple):
    """The lines that start the engine, or why there is none, or none after those that make its
    file; ``fits`` says whether the card holds what they start."""

    lines: tuple[LaunchLine, ...] = ()
    unknown: str = ""
    fits: Check = PASSED


def of_files(subject: Subject) -> list[Check]:
    """What the judgement of the checkpoint says of loading it as it is, the same for every
    engine."""
    problems = subject.inspection.problems
    checks = [
        Check(YES, note=problem.sentence)
        for problem in problems
        if problem.kind == "missing_prediction_layer"
    ]
    if subject.inspection.whole is False:
        checks.append(Check(NO, f"not as it is: {first_reason(problems)}"))
    return checks


class Loader(ABC):
    """What one engine loads, by its own lists."""

    #: As ``--engine`` names it, as its makers write it, and what its lists are recorded under.
    name: ClassVar[str]
    label: ClassVar[str]
    key: ClassVar[str]
    #: Rules of the notes about layouts (``LAYOUTS``) that it takes.
    layouts: ClassVar[tuple[str, ...]] = ()

    _REQUIRED: ClassVar[tuple[str, ...]] = ("name", "label", "key")

    def __init__(self) -> None:
        missing = [name for name in self._REQUIRED if not hasattr(self, name)]
        if missing:
            raise TypeError(f"{type(self).__name__} does not say {', '.join(missing)}")

    @property
    def lists(self) -> dict[str, Any]:
        """What was recorded of it (``engine_lists.py``)."""
        lists: dict[str, Any] = engine_lists()[self.key]
        return lists

    @property
    def version(self) -> str:
        """Of the source that was read."""
        return str(self.lists["version"])

    @property
    def read(self) -> str:
        """The day on which it was read, as ISO 8601 writes it."""
        return str(self.lists["read"])

    @abstractmethod
    def of_class(self, subject: Subject) -> Check:
        """Whether it has the class, the type or the architecture."""

    @abstractmethod
    def of_packing(self, subject: Subject) -> Check:
        """Whether it reads the weights as they are stored."""

    def of_layout(self, subject: Subject) -> Check:
        """Whether it takes tensors under the names, and in the shapes, that they have."""
        for finding in subject.inspection.findings:
            layout = LAYOUTS.get(finding.rule)
            if layout is not None and finding.rule not in self.layouts:
                return Check(NO, f"the tensors are in {layout}")
        return PASSED

    def of_card(self, subject: Subject) -> Check:  # noqa: ARG002 - of an engine for all cards
        """Whether it runs on the card that was named, with weights that are packed so."""
        return PASSED

    def kernels(self, subject: Subject) -> tuple[KernelRow, ...]:  # noqa: ARG002
        """The kernels for packed weights; none where its source was not read for them."""
        return ()

    @abstractmethod
    def launch(self, subject: Subject) -> Launch:
        """The lines for the card that was named; where none was, those that need no number."""

    def _refusal(self, reason: str) -> EngineAnswer:
        """Why no engine takes what was read."""
        return EngineAnswer(
            engine=self.name, label=self.label, version=self.version, read=self.read, answer=NO,
            reasons=(reason,),
        )  # fmt: skip

    def answer(self, subject: Subject) -> EngineAnswer:
        """All conditions together: ``no`` where one fails, ``unknown`` where one is not known."""
        if subject.other_kind:
            return self._refusal(f"no model: the file is {subject.other_kind}")
        checked = (self.of_class, self.of_packing, self.of_layout)
        of_class, *others = (check(subject) for check in checked)
        others += of_files(subject)
        if subject.device is not None:
            others.append(self.of_card(subject))
        launch = Launch()
        if of_class.answer == UNKNOWN and not subject.is_gguf:
            launch = Launch(unknown=of_class.reason)  # what would be started is not known
        elif NO not in (of_class.answer, *(check.answer for check in others)):
            launch = self.launch(subject)
            others.append(launch.fits)
        checks = (of_class, *others)
        answers = {check.answer for check in checks}
        answer: YesNo = NO if NO in answers else UNKNOWN if UNKNOWN in answers else YES
        reasons = [one.reason for one in checks if one.answer == answer and one.reason]
        return EngineAnswer(
            engine=self.name,
            label=self.label,
            version=self.version,
            read=self.read,
            answer=answer,
            reasons=tuple(dict.fromkeys(reasons)),
            runs_as=of_class.runs_as,
            kernels=() if of_class.answer == NO else self.kernels(subject),
            launch=() if answer == NO else launch.lines,
            launch_unknown=launch.unknown if answer != NO else "",
            notes=tuple(check.note for check in checks if check.note),
        )
