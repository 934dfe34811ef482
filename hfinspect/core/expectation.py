"""What the class of a model expects next to what its files hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from .json_form import JsonForm
from .records import dataclass
from .tensor import BeyondKind

#: Why parameters in the files are not those of the class.
BEYOND = {
    "mtp": "multi-token prediction",
    "unloaded": "tensors that transformers neither loads nor saves",
    "unexpected": "tensors that {} does not define",
}


@dataclass(frozen=True)
class Beyond(JsonForm):
    """Tensors in the files that the class does not define, by one of the reasons in ``BEYOND``.

    Fields:
        kind: ``mtp`` (multi-token prediction), ``unloaded`` (known, but transformers neither loads
            nor saves it) or ``unexpected`` (of a name that the class does not have)
        parameters [parameters]: None where a packing is unknown
        tensors [tensors]: how many tensors there are
        nbytes [bytes]: None where only the config was read
        first: the name of the first tensor
    """

    kind: BeyondKind
    parameters: int | None
    tensors: int
    nbytes: int | None
    first: str

    @property
    def text(self) -> str:
        """``769 parameters: tensors that the class does not define (pooler.weight and 1 more)``."""
        return self.text_of(None)

    def text_of(self, architecture: str | None) -> str:
        """The same, with the name of the class where it is known."""
        count = "unknown" if self.parameters is None else f"{self.parameters:,}"
        condition = "" if self.nbytes is not None else " (if in the files)"
        what = BEYOND[self.kind].format(architecture or "the class")
        if self.kind == "mtp":
            return f"{count} for {what}{condition}"
        also = f" and {self.tensors - 1:,} more" if self.tensors > 1 else ""
        return f"{count} parameters{condition}: {what} ({self.first}{also})"


#: Rule of the note that says which class was assumed.
ASSUMED = "assumed-class"
#: Rule of the finding that says why a model has no sizes at all.
NO_SIZES = "no-sizes"


@dataclass(frozen=True)
class Assumed(JsonForm):
    """The class that hfinspect assumes if the config names none, and why.

    Fields:
        architecture: the assumed class
        because: the reason, as part of a sentence
        other: the other common class: the base model, or one with a language model's head; or None
        other_parameters [parameters]: unique ones of the other class
    """

    architecture: str
    because: str
    other: str | None = None
    other_parameters: int | None = None

    def text(self, parameters: int) -> str:
        """A sentence; the other class is in it where its count is not ``parameters``."""
        text = f"config.json names no class: {self.architecture} is assumed, {self.because}"
        if self.other is None or self.other_parameters in (None, parameters):
            return text
        return f"{text}; {self.other} has {self.other_parameters:,} parameters"


class Reshaped(NamedTuple):
    """The two shapes of a tensor that is not as predicted.

    Fields:
        found [elements along each axis]: in the file
        expected [elements along each axis]: as predicted
    """

    found: tuple[int, ...]
    expected: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Expectation(JsonForm):
    """The prediction of config.json next to the headers.

    Fields:
        parameters [parameters]: unique ones, by the catalog
        missing: names of predicted tensors that no file holds
        unexpected: names of tensors in files that are not predicted
        unsaved: names of tensors in files that the class defines but ties or does not save; the
            count of the files has them all the same
        reshaped: name -> its two shapes
    """

    parameters: int
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()
    reshaped: Mapping[str, Reshaped] = field(default_factory=dict, hash=False)

    @property
    def agrees(self) -> bool:
        """Whether names and shapes are just those predicted."""
        return not (self.missing or self.unexpected or self.reshaped)
