"""Why a count by hand differs: the smallest set of usual conventions that explains it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any, Final, NamedTuple

from ..core.alternative_counts import Against, Convention, KnownModel, Term
from ..core.explanation import Explanation
from ..core.formula import Formula
from ..errors import UsageError
from ..trees.prediction import predict
from .conventions import conventions_of
from .count_convention import Counting
from .derivation import Derivation
from .ledger import MAX_PRINTED_TERMS
from .polynomials import Monomial, Number, Polynomial, monomial_value, number, total

#: Beyond five conventions at once almost any number can be reached, which explains nothing.
MAX_CONVENTIONS = 5
#: Sets of more than this many ways would cost minutes: 60 choose 3 is 34,220, held in memory.
MAX_TRIED = 60
#: Equally short readings that are worth showing.
MAX_READINGS = 3

#: For a rounded count two conventions are enough to reach almost any: one, of a whole module.
MAX_ROUNDED = 1

_UNITS = {"k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12, "万": 10**4, "亿": 10**8}
_SEPARATORS = re.compile("[,_'’ \u00a0\u202f]")
#: Digits, in groups of three if there are any separators: 1,5B is not 15 billion.
_GROUPED = re.compile(r"[0-9]{1,12}|[0-9]{1,3}(?:[,_'’ \u00a0\u202f][0-9]{3}){1,4}")
_ROUNDED = re.compile(r"(?P<whole>[0-9][^.]*?)(?P<part>\.[0-9]{1,9})? ?(?P<unit>[kmbgt万亿])", re.I)
#: 1.1e8: as exact as its digits.
_SCIENTIFIC = re.compile(
    r"(?P<digits>[0-9](?:\.(?P<part>[0-9]{1,12}))?)e\+?(?P<power>[0-9]{1,2})", re.I
)

#: 2^80: more than any count, small enough to be exact in every consumer's big integers.
_MAX_COUNT = 2**80


class ReconcileRequest(NamedTuple):
    """A count that was asked about: as written, its number, and the counts from ``low`` up to
    ``high`` (not included) that round to it; for a whole number itself alone."""

    text: str
    number: int
    low: int
    high: int

    @property
    def rounded(self) -> bool:
        return self.high - self.low > 1


def parse_count(count: str | int) -> ReconcileRequest:
    """``115,740,736``, ``115_740_736`` or ``115 740 736``, or rounded: ``124M``, ``1.5 B``.
    Raises UsageError."""
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MAX_COUNT:
        return ReconcileRequest(f"{count:,}", count, count, count + 1)
    text = count.strip() if isinstance(count, str) else ""
    match = _ROUNDED.fullmatch(text)
    if match is not None and _GROUPED.fullmatch(match["whole"]):
        value = Decimal(_SEPARATORS.sub("", match["whole"]) + (match["part"] or ""))
        unit = _UNITS[match["unit"].lower()]
        half = Decimal(10) ** -len((match["part"] or ".")[1:])
        low, high = (int(edge * unit) for edge in (value - half / 2, value + half / 2))
        return ReconcileRequest(text, int(value * unit), max(low, 0), high)
    scientific = _SCIENTIFIC.fullmatch(text)
    if scientific is not None and Decimal(text) <= _MAX_COUNT:
        value = Decimal(scientific["digits"])
        unit = 10 ** int(scientific["power"])
        half = Decimal(10) ** -len(scientific["part"] or "")
        low, high = (int(edge * unit) for edge in (value - half / 2, value + half / 2))
        return ReconcileRequest(text, int(value * unit), max(low, 0), max(high, low + 1))
    digits = _SEPARATORS.sub("", text)
    if not re.fullmatch(r"[0-9]{1,25}", digits) or int(digits) > _MAX_COUNT:
        shown = text if isinstance(count, str) else repr(count)
        raise UsageError(
            f"count {shown[:40]!r}",
            "is not a number",
            expected="115,740,736, or rounded: 124M, 1.5B, 1.1e8",
        )
    return parse_count(int(digits))


def compared(explanation: Explanation, d: Derivation, request: ReconcileRequest) -> Explanation:
    """The explanation with ``against`` filled in."""
    choices = _conventions(explanation, d, request)
    exact = explanation.parameters
    fits = request.low <= exact < request.high
    at_most = MAX_ROUNDED if request.rounded else MAX_CONVENTIONS
    matching: list[tuple[Counting, ...]] = []
    if request.rounded and not fits:
        matching = roughly(choices, request.low - exact, request.high - exact)
    elif not fits:
        matching = readings(choices, request.number - exact)
    nearest = (
        same_size(request.low, request.high)
        if request.rounded and not fits and not matching
        else None
    )
    comparison = Against(
        text=request.text,
        number=request.number,
        fits=(request.low, request.high),
        difference=request.number - exact,
        readings=tuple(tuple(_convention(one, d) for one in reading) for reading in matching),
        searched=len(choices),
        at_most=at_most,
        known=nearest,
    )
    if matching:
        comparison = _with_forms(comparison, d, matching[0])
    return replace(explanation, against=comparison)


def _conventions(e: Explanation, d: Derivation, request: ReconcileRequest) -> tuple[Counting, ...]:
    """What may explain the count: the usual ways, what the files hold beyond the class, and for a
    rounded count whole modules alone."""
    choices = list(conventions_of(d)[:MAX_TRIED])
    counts = {one.delta.value for one in choices}
    for group in e.extra_tensors:
        if group.parameters and group.parameters not in counts:
            text = f"tensors that {e.architecture} does not define counted ({group.first})"
            choices.append(
                Counting("not-loaded", text, number(group.parameters), frozenset({group.first}))
            )
    return tuple(one for one in choices if one.is_of_modules) if request.rounded else tuple(choices)


def _convention(one: Counting, d: Derivation) -> Convention:
    delta: Formula | None = None
    if len(one.delta.terms) <= MAX_PRINTED_TERMS:
        delta = d.ledger.writer.formula(one.delta)
    return Convention(one.name, one.text, delta, one.delta.value)


# ---- the search


def readings(choices: Sequence[Counting], difference: int) -> list[tuple[Counting, ...]]:
    """The smallest sets of compatible ways that sum to the difference, likeliest first.

    Meets in the middle: sets of up to three are listed, larger ones are joined from two of them.
    """
    small: dict[int, list[tuple[int, ...]]] = {}
    for size in range(1, min(3, MAX_CONVENTIONS) + 1):
        hits = []
        for chosen in combinations(range(len(choices)), size):
            if _compatible(choices, chosen):
                value = sum(choices[i].delta.value for i in chosen)
                if value == difference:
                    hits.append(chosen)
                if size <= 2 or MAX_CONVENTIONS > 3:
                    small.setdefault(value, []).append(chosen)
        if hits:
            return _ranked(choices, hits)
    for size in range(4, MAX_CONVENTIONS + 1):
        joined = set(_joined(choices, small, difference, size))
        if joined:
            return _ranked(choices, sorted(joined))
    return []


def roughly(choices: Sequence[Counting], low: int, high: int) -> list[tuple[Counting, ...]]:
    """The smallest sets of compatible ways whose sum is from ``low`` up to ``high``, likeliest
    first."""
    for size in range(1, MAX_ROUNDED + 1):
        hits = [
            chosen
            for chosen in combinations(range(len(choices)), size)
            if low <= sum(choices[i].delta.value for i in chosen) < high
            and _compatible(choices, chosen)
        ]
        if hits:
            return _ranked(choices, hits)
    return []


def _joined(
    choices: Sequence[Counting], small: dict[int, list[tuple[int, ...]]], difference: int, size: int
) -> Iterator[tuple[int, ...]]:
    for value, sets in small.items():
        for other in small.get(difference - value, ()):
            for one in sets:
                if len(one) + len(other) == size and not set(one) & set(other):
                    chosen = tuple(sorted((*one, *other)))
                    if _compatible(choices, chosen):
                        yield chosen


def _compatible(choices: Sequence[Counting], chosen: Sequence[int]) -> bool:
    """No tensor is changed twice."""
    touched: set[str] = set()
    for i in chosen:
        if not touched.isdisjoint(choices[i].touches):
            return False
        touched |= choices[i].touches
    return True


def _ranked(
    choices: Sequence[Counting], hits: Sequence[tuple[int, ...]]
) -> list[tuple[Counting, ...]]:
    def rank(chosen: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        return sum(choices[i].cost for i in chosen), chosen

    best = sorted(hits, key=rank)[:MAX_READINGS]
    return [tuple(choices[i] for i in chosen) for chosen in best]


# ---- closed forms side by side


def _with_forms(comparison: Against, d: Derivation, reading: tuple[Counting, ...]) -> Against:
    right = d.closed(d.polynomial)
    other = d.closed(d.polynomial + total(one.delta for one in reading))
    if max(len(right.terms), len(other.terms)) > MAX_PRINTED_TERMS:
        return comparison
    writer = d.ledger.writer
    keys = [
        key
        for key in {**right.terms, **other.terms}
        if right.terms.get(key) != other.terms.get(key)
    ]
    terms = [
        Term(
            writer.formula(Polynomial({key: 1})).text if _is_integer(key) else "·",
            int(monomial_value(key)) if _is_integer(key) else 0,
            _coefficient(right.terms.get(key, 0)),
            _coefficient(other.terms.get(key, 0)),
        )
        for key in sorted(keys, key=lambda key: -monomial_value(key))
    ]
    return replace(
        comparison,
        closed=writer.collected(right, d.hidden),
        other=writer.collected(other, d.hidden),
        terms=tuple(terms),
    )


def _is_integer(key: Monomial) -> bool:
    return monomial_value(key).denominator == 1


def _coefficient(value: Number) -> str:
    return str(value).replace("-", "−")


# ---- well-known models

#: Well-known model -> the keys of its config.json that are not the defaults of its class. Which
#: sizes they have the catalog counts: no number stands here.
_MODELS: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai-gpt": {"model_type": "openai-gpt", "architectures": ["OpenAIGPTLMHeadModel"]},
    "gpt2": {"model_type": "gpt2"},
    "gpt2-medium": {"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16},
    "gpt2-large": {"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20},
    "gpt2-xl": {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25},
    "bert-base-uncased": {"model_type": "bert", "architectures": ["BertModel"]},
    "bert-large-uncased": {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    },
    "distilbert-base-uncased": {"model_type": "distilbert", "architectures": ["DistilBertModel"]},
    "t5-small": {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]},
}


def same_size(low: int, high: int) -> KnownModel | None:
    """The first well-known model with at least ``low`` and less than ``high`` parameters."""
    for name, config in _MODELS.items():
        parameters = predict(config).parameters
        if low <= parameters < high:
            return KnownModel(name, parameters)
    return None
