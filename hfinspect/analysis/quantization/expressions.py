"""Foreign regular expressions and globs as one automaton, so that matching takes linear time.

An expression in a config is written by others: Python's ``re`` may take hours for a bad one. What
real configs use (literals, ``.``, ``\\.``, ``\\d``, ``\\w``, ``[...]``, groups, ``|``, ``*``,
``+``, ``?``, ``^``, ``$``) becomes states and edges (Thompson's construction); the rest is refused.
"""

from collections.abc import Callable, Iterable

from ...errors import LimitError

#: Characters of one expression; real ones have some 60.
MAX_LENGTH = 2_000
#: Groups in groups.
MAX_DEPTH = 20
#: States of all expressions of a config together; real ones need some 10,000.
MAX_STATES = 100_000
#: Steps of all names together, a second or two; the largest real config takes 12,000.
MAX_STEPS = 500_000

Test = Callable[[str], bool]
_QUANTIFIERS = "*+?"
_SPECIAL = frozenset("()[]{}*+?|\\^$.")


class UnreadablePatternError(ValueError):
    """An expression with parts (look-ahead, counted repetition) that are not read."""


def _is_any(_character: str) -> bool:
    return True


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_CLASSES: dict[str, Test] = {"d": str.isdigit, "w": _is_word, "s": str.isspace}


class Automaton:
    """States with edges by character, edges that are free, and free ones at a name's end only.

    ``accepts`` maps a state to the number of its pattern.
    """

    def __init__(self) -> None:
        self.accepts: dict[int, int] = {}
        self._edges: list[list[tuple[Test, int]]] = []
        self._free: list[list[int]] = []
        self._at_end: list[list[int]] = []
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._taken = 0

    def expression(self, text: str, number: int) -> int:
        """Adds a regular expression; its first state. Raises UnreadablePatternError, LimitError."""
        first, last = _ExpressionReader(self, text).read()
        self.accepts[last] = number
        return first

    def glob(self, text: str, number: int) -> int:
        """Adds a pattern of ``*`` and ``?``, to be matched to the end; its first state."""
        if len(text) > MAX_LENGTH or "[" in text:
            raise UnreadablePatternError(text)
        first = at = self.new()
        for character in text:
            if character == "*":
                self._edges[at].append((_is_any, at))
            else:
                at = self.step_on(at, _is_any if character == "?" else character.__eq__)
        last = self.new()
        self.link(at, last, at_end=True)
        self.accepts[last] = number
        return first

    def closure(self, states: Iterable[int], *, at_end: bool = False) -> frozenset[int]:
        """These states and those that are reached for free."""
        closed = set(states)
        waiting = list(closed)
        while waiting:
            state = waiting.pop()
            reached = self._free[state] + self._at_end[state] if at_end else self._free[state]
            for other in reached:
                if other not in closed:
                    closed.add(other)
                    waiting.append(other)
        return frozenset(closed)

    def step(self, states: frozenset[int], character: str) -> frozenset[int]:
        """The states after one more character. Raises LimitError beyond MAX_STEPS."""
        if not states:
            return states
        known = self._steps.get((states, character))
        if known is None:
            self._taken += len(states)
            if self._taken > MAX_STEPS:
                raise LimitError(
                    "quantization_config",
                    "has patterns that take too long to match",
                    expected=f"at most {MAX_STEPS:,} steps",
                )
            reached = {
                target for state in states for test, target in self._edges[state] if test(character)
            }
            known = self._steps[states, character] = self.closure(reached)
        return known

    def accepted(self, states: Iterable[int]) -> frozenset[int]:
        """The numbers of the patterns that end in one of these states."""
        return frozenset(self.accepts[state] for state in states if state in self.accepts)

    # ---- building

    def new(self) -> int:
        if len(self._edges) >= MAX_STATES:
            raise LimitError(
                "quantization_config",
                "lists too long patterns",
                expected=f"at most {MAX_STATES:,} characters",
            )
        self._edges.append([])
        self._free.append([])
        self._at_end.append([])
        return len(self._edges) - 1

    def link(self, state: int, other: int, *, at_end: bool = False) -> None:
        (self._at_end if at_end else self._free)[state].append(other)

    def step_on(self, state: int, test: Test) -> int:
        after = self.new()
        self._edges[state].append((test, after))
        return after


class _ExpressionReader:
    """One expression by recursive descent; each part becomes (first state, last state)."""

    def __init__(self, automaton: Automaton, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise UnreadablePatternError(text[:80])
        self._automaton = automaton
        self._text = text
        self._at = 0

    def read(self) -> tuple[int, int]:
        ends = self._alternatives(0)
        if self._at < len(self._text):
            raise UnreadablePatternError(self._text)
        return ends

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _take(self) -> str:
        character = self._peek()
        if not character:
            raise UnreadablePatternError(self._text)
        self._at += 1
        return character

    def _alternatives(self, depth: int) -> tuple[int, int]:
        if depth > MAX_DEPTH:
            raise UnreadablePatternError(self._text)
        build = self._automaton
        first = build.new()
        last = build.new()
        while True:
            begin, end = self._sequence(depth)
            build.link(first, begin)
            build.link(end, last)
            if self._peek() != "|":
                return first, last
            self._at += 1

    def _sequence(self, depth: int) -> tuple[int, int]:
        build = self._automaton
        first = at = build.new()
        while self._peek() not in ("", "|", ")"):
            begin, end = self._repeated(*self._atom(depth))
            build.link(at, begin)
            at = end
        return first, at

    def _repeated(self, begin: int, end: int) -> tuple[int, int]:
        quantifier = self._peek()
        if quantifier not in _QUANTIFIERS or not quantifier:
            return begin, end
        self._at += 1
        if self._peek() == "?":  # lazy: the same names match
            self._at += 1
        if self._peek() in ("*", "+", "?", "{") and self._peek():
            raise UnreadablePatternError(self._text)
        build = self._automaton
        first = build.new()
        last = build.new()
        build.link(first, begin)
        build.link(end, last)
        if quantifier in "*?":
            build.link(first, last)
        if quantifier in "*+":
            build.link(end, begin)
        return first, last

    def _atom(self, depth: int) -> tuple[int, int]:
        build = self._automaton
        character = self._take()
        if character == "(":
            return self._group(depth)
        first = build.new()
        if character == "$":
            last = build.new()
            build.link(first, last, at_end=True)
            return first, last
        if character == "^":
            if self._at > 1:  # anywhere else it matches nothing that is read here
                raise UnreadablePatternError(self._text)
            return first, first
        return first, build.step_on(first, self._test(character))

    def _group(self, depth: int) -> tuple[int, int]:
        if self._peek() == "?":
            self._at += 1
            if self._take() != ":":
                raise UnreadablePatternError(self._text)
        ends = self._alternatives(depth + 1)
        if self._take() != ")":
            raise UnreadablePatternError(self._text)
        return ends

    def _test(self, character: str) -> Test:
        if character == ".":
            return _is_any
        if character == "\\":
            return self._escaped()
        if character == "[":
            return self._set()
        if character in _SPECIAL:
            raise UnreadablePatternError(self._text)
        return character.__eq__

    def _escaped(self) -> Test:
        character = self._take()
        test = _CLASSES.get(character)
        if test is not None:
            return test
        if character.isalnum():  # \b, \1, \D ... are not read
            raise UnreadablePatternError(self._text)
        return character.__eq__

    def _set(self) -> Test:
        negated = self._peek() == "^"
        self._at += negated
        tests: list[Test] = []
        while self._peek() != "]" or not tests:
            character = self._take()
            if character == "\\":
                tests.append(self._escaped())
            elif self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                tests.append(_between(character, self._take()))
            else:
                tests.append(character.__eq__)
        self._at += 1
        return lambda other: any(test(other) for test in tests) is not negated


def _between(least: str, most: str) -> Test:
    return lambda character: least <= character <= most
