"""Rows of a table that the default suite compares, and the others behind a marker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def one_of(every: int, rows: Sequence[Any]) -> list[Any]:
    """For ``parametrize``: one row of so many, the others for ``pytest -m all_recordings``."""
    marked = pytest.mark.all_recordings
    return [pytest.param(row, marks=marked) if at % every else row for at, row in enumerate(rows)]
