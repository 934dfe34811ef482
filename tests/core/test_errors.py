"""The exception tree: stable kinds, documented exit codes, errors that cross process borders."""

from __future__ import annotations

import pickle

import pytest

from hfinspect import errors
from hfinspect.core.results import Failure
from hfinspect.errors import ConfigError, FormatError, HfinspectError, UnknownArchitectureError


def subclasses(cls: type[HfinspectError]) -> list[type[HfinspectError]]:
    return [cls, *(inner for sub in cls.__subclasses__() for inner in subclasses(sub))]


#: A subclass of another module is private, and of its parent's kind.
ALL = [cls for cls in subclasses(HfinspectError) if cls.__module__ == errors.__name__]
CODES = {"UsageError": 2, "AccessError": 3, "MalformedError": 4, "UnknownArchitectureError": 5}


def made(cls: type[HfinspectError]) -> HfinspectError:
    rule = {"rule": "truncated"} if issubclass(cls, FormatError) else {}
    return cls("x", "is odd", expected="even", where="y", hint="try", **rule)


def test_kinds_are_unique_and_drawn_in_the_docstring() -> None:
    assert len({cls.kind for cls in ALL}) == len(ALL)
    assert errors.__doc__
    assert [cls.__name__ for cls in ALL if cls.__name__ not in errors.__doc__] == []


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_exit_codes(name: str, code: int) -> None:
    assert {cls.exit_code for cls in subclasses(getattr(errors, name))} == {code}


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_errors_survive_a_process_border(cls: type[HfinspectError]) -> None:
    error = made(cls)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert (again.to_dict(), str(again), vars(again)) == (
        error.to_dict(),
        str(error),
        vars(error),
    )
    assert str(error) == "x: is odd, expected even (y)"


@pytest.mark.parametrize("cls", ALL[1:], ids=lambda cls: cls.__name__)
def test_every_error_has_a_hint(cls: type[HfinspectError]) -> None:
    rule = {"rule": "truncated"} if issubclass(cls, FormatError) else {}
    assert cls("x", "is odd", **rule).hint
    assert made(cls).hint == "try"


@pytest.mark.parametrize(
    ("subject", "target", "named"),
    [
        ("config.json", "org/name", "org/name: config.json"),
        ("config.json", "a/config.json", "a/config.json"),
        ("m.gguf", "a\\m.gguf", "a\\m.gguf"),
        ("m.gguf", "m.gguf", "m.gguf"),
        ("config key x", ".", ".: config key x"),
    ],
)
def test_an_error_learns_what_it_is_about(subject: str, target: str, named: str) -> None:
    error = errors.ConfigError(subject, "is odd")
    error.of(target)
    assert str(error) == f"{named}: is odd"


def test_details_stay() -> None:
    assert ConfigError("x", "y", key="a.b").key == "a.b"
    assert UnknownArchitectureError("x", "y", nearest=["a"]).nearest == ("a",)


def test_a_failure_is_a_value() -> None:
    failure = Failure("org/x", made(errors.GatedRepoError))
    assert failure.kind == "gated"
    assert failure.to_dict()["error"] == failure.error.to_dict()
