"""The page of a million tensors with as many names (a slow test, next to those of the browser)."""

from __future__ import annotations

import pytest

from ..reports.test_page import check_page_of

pytestmark = pytest.mark.browser


def test_a_million_names_that_do_not_fold() -> None:
    check_page_of(1_000_000)
