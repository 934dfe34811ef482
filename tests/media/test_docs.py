"""docs/media.md names every type, answered or refused, and the numbers that are compared."""

from __future__ import annotations

from hfinspect.media.llama_cpp.counting import REFUSED as NO_RULE
from hfinspect.media.registry import REFUSED, RULES

from ..cli.program import ROOT
from .test_mmproj_tokens import RECORDED as MMPROJ
from .test_recorded_tokens import RECORDED, items

PAGE = (ROOT / "docs/media.md").read_text()


def test_the_page_names_every_type() -> None:
    assert [kind for kind in (*RULES, *REFUSED) if f"`{kind}`" not in PAGE] == []
    assert [reason for reason in set(REFUSED.values()) if f"- {reason}: " not in PAGE] == []


def test_the_page_counts_what_is_compared() -> None:
    count = sum(1 for case in RECORDED for _ in items(case))
    assert f"{count:,} numbers, none\ndiffers" in PAGE


def test_the_page_counts_what_is_compared_with_llama_cpp() -> None:
    cases = [one for one in MMPROJ if one["keys"]["clip.projector_type"] not in NO_RULE]
    types = {one["keys"]["clip.projector_type"] for one in cases}
    count = sum(len([*one.get("images", ()), *one.get("audio", ())]) for one in cases)
    assert f"{len(types)} types of projectors, {count:,} numbers" in PAGE
    assert [kind for kind in NO_RULE if kind not in PAGE and "tts_" not in kind] == []
