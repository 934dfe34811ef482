"""Every catalogued family: printed formulas with printed values come to the printed numbers, and
their sum is what the catalog predicts.

Every sixth family by default, the others with ``pytest -m all_recordings``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hfinspect.core.explanation import Explanation
from hfinspect.core.formula import Formula
from hfinspect.core.refs import Origin
from hfinspect.errors import UnknownArchitectureError
from hfinspect.explaining.derivation import Derivation
from hfinspect.explaining.derive import explained
from hfinspect.inspecting.build import from_prediction
from hfinspect.reports.document import Document
from hfinspect.reports.explained import lay_out
from hfinspect.reports.latex import render as latex
from hfinspect.reports.table import Canvas, render
from hfinspect.trees.prediction import Prediction, predict

from ..architectures import recordings
from ..some_rows import one_of
from .formula_reading import value_of, value_of_tree

FAMILIES = recordings.FAMILIES


#: Classes of a family differ in their heads, which are much alike; one shows the family's blocks.
CLASSES = 1


def configs(family: str) -> Iterator[dict[str, Any]]:
    """A recorded config of some classes of a family, small ones first."""
    cases = sorted(recordings.of(family).items(), key=lambda item: "default" in item[0])
    seen: set[str] = set()
    for _, record in cases:
        if record["architecture"] not in seen and len(seen) < CLASSES:
            seen.add(record["architecture"])
            spellings = recordings.spellings(record)
            yield spellings.get("given") or spellings["empty"]


def explanation_of(config: dict[str, Any], prediction: Prediction) -> Explanation:
    origin = Origin("mapping", "config")
    inspection = from_prediction("config", origin, prediction, config=config)
    return explained("config", inspection, Derivation(prediction, config))


def formulas(explanation: Any) -> Iterator[Formula]:
    """Every formula anywhere in an explanation."""
    if isinstance(explanation, Formula):
        yield explanation
    elif isinstance(explanation, tuple):
        for item in explanation:
            yield from formulas(item)
    elif hasattr(explanation, "__dataclass_fields__"):
        for name in explanation.__dataclass_fields__:
            yield from formulas(getattr(explanation, name))


@pytest.mark.parametrize("family", one_of(6, FAMILIES))
def test_printed_formulas_come_to_the_printed_numbers(family: str) -> None:
    checked = 0
    for config in configs(family):
        try:
            prediction = predict(config)
            e = explanation_of(config, prediction)
        except UnknownArchitectureError:
            continue  # recorded ahead of the catalog
        values = {letter.letter: letter.value for letter in e.letters}
        assert len(values) == len(e.letters)
        for formula in dict.fromkeys(formulas(e)):
            assert value_of(formula.text, values) == formula.value
            assert value_of(formula.numbers) == formula.value
            assert value_of_tree(formula.to_dict()["tree"], values) == formula.value
            checked += 1
        check_sums(e, prediction.parameters)
        check_letters(e)
        summary = lay_out(e).blocks[0]
        assert len(render(Document("", (summary,)), Canvas(80)).splitlines()) <= 8
        json.dumps(e.to_dict(), allow_nan=False)
        assert f"{e.parameters:,}" in latex(lay_out(e, depth="model"))
    if not checked:
        pytest.skip("recorded ahead of the catalog")


def check_letters(e: Explanation) -> None:
    """Each stands for one thing, whatever case it is in, and says which."""
    assert len({letter.letter.lower() for letter in e.letters}) == len(e.letters)
    assert len({letter.meaning for letter in e.letters}) == len(e.letters)
    assert all(letter.meaning for letter in e.letters)


def check_sums(e: Explanation, expected: int) -> None:
    """Rows add up to sections, sections and components to the total."""
    assert e.parameters == expected
    assert sum(section.parameters for section in e.sections) == expected
    assert sum(share.value for share in e.shares) == expected
    for section in e.sections:
        assert sum(row.value for row in section.rows if row.indent == 0) == section.value
        assert sum(share.value for share in section.shares) == section.value
        assert (section.times is None) == (not section.layers)
        # The same layers of every copy of a list that the path folds (``projectors.*.layer``).
        assert not section.layers or section.copies % len(section.layers) == 0
        for row, parts in groups(section.rows):
            assert sum(part.value for part in parts) == row.value


def groups(rows: tuple[Any, ...]) -> Iterator[tuple[Any, list[Any]]]:
    """Rows that have rows below them, with the rows just below."""
    for at, row in enumerate(rows):
        below = []
        for other in rows[at + 1 :]:
            if other.indent <= row.indent:
                break
            if other.indent == row.indent + 1:
                below.append(other)
        if below:
            yield row, below
