"""docs/media.md names every type, answered or refused, and the numbers that are compared."""

from __future__ import annotations

from hfinspect.media.registry import REFUSED, RULES

from ..cli.program import ROOT
from .test_recorded_tokens import RECORDED, items

PAGE = (ROOT / "docs/media.md").read_text()


def test_the_page_names_every_type() -> None:
    assert [kind for kind in (*RULES, *REFUSED) if f"`{kind}`" not in PAGE] == []
    assert [reason for reason in set(REFUSED.values()) if f"- {reason}: " not in PAGE] == []


def test_the_page_counts_what_is_compared() -> None:
    count = sum(1 for case in RECORDED for _ in items(case))
    assert f"{count:,} numbers, none\ndiffers" in PAGE
