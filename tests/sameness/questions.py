"""What is asked of every config and every fixture: the commands that answer about one model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: Stands in the arguments for the model that is asked about.
MODEL: Final = "MODEL"


@dataclass(frozen=True)
class Question:
    """One command line. ``before`` is how the older commit calls it, where that is another."""

    verb: str
    name: str
    arguments: tuple[str, ...]
    before: tuple[str, ...] | None = None

    @property
    def older(self) -> tuple[str, ...]:
        """The arguments for the older commit."""
        return self.arguments if self.before is None else self.before


def _both(verb: str, name: str, *arguments: str) -> tuple[Question, Question]:
    """For the screen and as JSON."""
    words = (verb, MODEL, *arguments)
    return Question(verb, name, words), Question(verb, f"{name} json", (*words, "-f", "json"))


#: Where a verb has another name in a new commit, its rows say how the older one calls it (before=).
QUESTIONS: Final = (
    *_both("inspect", "inspect"),
    *_both("explain", "explain"),
    Question("explain", "explain cache", ("explain", MODEL, "--cache")),
    *_both("memory", "memory vllm", "--engine", "vllm", "--on", "A100 80GB"),
    *_both("memory", "memory llama.cpp", "--engine", "llama.cpp", "--on", "RTX 4090"),
    Question("memory", "memory train", ("memory", MODEL, "--train", "full", "--on", "8xA100 80GB")),
    *_both("runs", "runs", "--on", "RTX 4090"),
    *_both("audit", "audit"),
)


def chosen(words: Iterable[str]) -> tuple[Question, ...]:
    """The questions of these verbs, or of these names. Raises LookupError for one that is none."""
    wanted = tuple(words)
    known = {name for question in QUESTIONS for name in (question.verb, question.name)}
    for word in wanted:
        if word not in known:
            raise LookupError(f"{word!r} is no question; expected some of: {', '.join(names())}")
    return tuple(q for q in QUESTIONS if q.verb in wanted or q.name in wanted)


def names() -> list[str]:
    """The verbs, each before the questions that it has."""
    return list(dict.fromkeys(name for q in QUESTIONS for name in (q.verb, q.name)))
