"""docs/accuracy.md is what the records say today."""

from __future__ import annotations

import pytest

from . import accuracy


@pytest.mark.all_recordings
def test_the_page_is_up_to_date() -> None:
    """``python -m tests.accuracy`` writes it."""
    assert accuracy.PAGE.read_text(encoding="utf-8") == accuracy.page()
