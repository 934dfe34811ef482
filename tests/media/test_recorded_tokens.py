"""Every recorded number of the library's own processors, and every type of the catalog answered or
refused by name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hfinspect.core.media_tokens import AudioItem, ImageItem, MediaItem, VideoItem
from hfinspect.media import registry
from hfinspect.media.rule import TokenRule
from hfinspect.trees.catalog import families

from ..cli.program import ROOT

FILE = json.loads((ROOT / "fixtures/oracle/media_tokens.json").read_text())
RECORDED = FILE["cases"]


def items(case: dict[str, Any]) -> Iterator[tuple[MediaItem, int | str, int]]:
    """Item, tokens or the library's error, and the other number that was recorded."""
    for width, height, tokens, *other in case.get("images", ()):
        yield ImageItem(width, height), tokens, (other or [0])[0]
    for width, height, frames, tokens in case.get("videos", ()):
        yield VideoItem(width, height, frames), tokens, 0
    for milliseconds, tokens, *other in case.get("audio", ()):
        yield AudioItem(milliseconds), tokens, (other or [0])[0]


@pytest.mark.parametrize("kind", sorted({case["type"] for case in RECORDED}))
def test_as_the_processor_counts(kind: str) -> None:
    for case in RECORDED:
        if case["type"] == kind:
            check_case(case)


def check_case(case: dict[str, Any]) -> None:
    for item, tokens, other in items(case):
        media_tokens = registry.count_tokens(item, case["type"], case["config"], case["files"])
        where = (case["type"], case["files"], item, media_tokens.unknown)
        assert media_tokens.tokens == (None if isinstance(tokens, str) else tokens), where
        assert bool(media_tokens.unknown) == (media_tokens.tokens is None)
        if case["type"] == "idefics":
            assert (
                f"{other:,} positions of cross-attention, of which" in media_tokens.derivation[-1]
            )
        elif case["type"] == "whisper" or (other and media_tokens.tokens == 0):
            assert media_tokens.cross_tokens == other
        elif case["type"] == "mllama" and media_tokens.tokens:
            each = (case["config"]["vision_config"]["image_size"] // 14) ** 2 + 1
            assert media_tokens.cross_tokens == other * each
        elif case["type"] == "llava_onevision" and isinstance(item, ImageItem) and other:
            several = ImageItem(item.width, item.height, several=True)
            again = registry.count_tokens(several, case["type"], {}, case["files"])
            assert again.tokens == other


def test_each_rule_has_a_changed_setting_and_a_number() -> None:
    numbers = ((case["type"], tokens) for case in RECORDED for _, tokens, _ in items(case))
    answered = {kind for kind, tokens in numbers if isinstance(tokens, int)}
    assert answered == set(registry.RULES)
    changed = {case["type"] for case in RECORDED if case["files"]}
    judged = {registry.RULES[kind] for kind in changed}
    alone = {kind for kind, rule in registry.RULES.items() if rule not in judged}
    assert alone == {"janus", "kosmos-2"}  # their classes have the number in their code


def test_every_type_that_sees_or_hears_is_answered_or_refused() -> None:
    seen = {
        kind
        for family in families()
        if family.category == "multimodal"
        for kind in family.model_types
    }
    known = set(registry.RULES) | set(registry.REFUSED)
    assert seen - known == set()
    assert set(FILE["image_text_to_text"]) - known == set()  # the library's own table
    assert set(registry.RULES) & set(registry.REFUSED) == set()


def test_a_rule_answers_for_all_three_and_says_its_source() -> None:
    for rule in registry.RULES.values():
        assert isinstance(rule, TokenRule)
        assert not inspect.isabstract(type(rule))
        assert rule.source.startswith("models/")
        assert type(rule).__doc__


def test_a_model_that_is_not_known_is_refused_by_name() -> None:
    media_tokens = registry.count_tokens(ImageItem(1, 1), "llama", {}, {})
    assert media_tokens.unknown == "llama: it is not known to see or hear"
    media_tokens = registry.count_tokens(ImageItem(1, 1), "phi3_v", {}, {})
    assert "its own repo, which is never run" in media_tokens.unknown
