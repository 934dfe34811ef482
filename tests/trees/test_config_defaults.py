"""The table of what config classes have where a config says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hfinspect.trees import config_defaults
from hfinspect.trees.catalog import index
from hfinspect.trees.config_defaults import rows

FAMILIES = Path(__file__).resolve().parents[2] / "hfinspect" / "architectures"


def test_each_row_is_one_that_a_family_takes() -> None:
    text = "".join(path.read_text() for path in FAMILIES.parent.rglob("*.py"))
    taken = {row for row in rows() if f'config_defaults("{row}")' in text}
    assert set(rows()) - taken <= set(index().types)  # those of decoders, by their type


def test_a_row_is_the_callers_own() -> None:
    taken = config_defaults("mimi")
    taken["upsampling_ratios"].append(2)
    assert config_defaults("mimi")["upsampling_ratios"] == [8, 6, 5, 4]


def test_a_row_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        config_defaults("no such type")


def test_rows_are_in_order() -> None:
    assert list(rows()) == sorted(rows())
