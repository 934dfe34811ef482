"""What page and server ask: any JSON gets an answer, and an answer costs so many calls at most."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.web.answering import MAX_QUESTION, answer

from ..builders import SMALL_BERT
from ..cli.program import ROOT
from ..examples import examples
from ..media.test_media_in_memory import QWEN

MODELS = ROOT / "fixtures" / "models"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(
    "kind target other set on context engine batch width image images video audio name "
    "token".split()
) | st.text(max_size=9)
KINDS = ("report", "memory", "explain", "audit", "compare")


@settings(max_examples=examples(150))
@given(st.dictionaries(KEYS, VALUES), st.sampled_from(KINDS), st.booleans())
def test_any_question_gets_an_answer(question: dict[str, Any], kind: str, known: bool) -> None:
    """With a model that is answered in milliseconds, or with whatever stands there."""
    if known:
        question = {**question, "kind": kind, "target": {"config": json.dumps(SMALL_BERT)}}
    elif isinstance(question.get("target"), str):
        question["target"] = "./" + question["target"]  # and not the name of a repo
    if isinstance(question.get("other"), str):
        question["other"] = "./" + question["other"]
    document = json.loads(answer(json.dumps(question)))
    assert ("error" in document) != ("html" in document)


@settings(max_examples=examples(100))
@given(st.text() | VALUES.map(json.dumps))
def test_any_text_gets_an_answer(text: str) -> None:
    assert isinstance(json.loads(answer(text)), dict)


def test_memory_of_images_and_sounds() -> None:
    target = {"config": json.dumps(QWEN)}
    question = {"kind": "memory", "target": target, "image": "640x480", "images": 2, "audio": "3s"}
    known = json.loads(answer(json.dumps(question)))
    media = json.loads(known["json"])["media"]
    assert media == hfinspect.memory(QWEN, image="640x480", images=2, audio="3s").to_dict()["media"]
    assert "takes no audio" in known["html"]
    wrong = json.loads(answer(json.dumps({**question, "image": "large"})))
    assert "is not a size" in wrong["error"]


def test_a_question_has_a_bound() -> None:
    assert "too long" in json.loads(answer(" " * (MAX_QUESTION + 1)))["error"]


def test_a_config_is_the_limit_of_no_other_error() -> None:
    for config in ("", "[]", "{", "null", '{"model_type": 1}', '{"model_type": "none"}'):
        document = json.loads(answer(json.dumps({"target": {"config": config}})))
        assert document["error"]
        assert document["hint"]


@pytest.mark.parametrize(
    ("name", "kind", "thousands"),
    [
        ("gpt2", "report", 350),
        ("gpt2", "memory", 350),
        ("mixtral-8x7b", "report", 500),
        ("mixtral-8x7b", "memory", 700),
        ("deepseek-v3", "report", 1300),
        ("deepseek-v3", "memory", 1500),
        ("deepseek-v3", "explain", 600),
    ],
)
def test_a_next_answer_costs_so_many_calls(name: str, kind: str, thousands: int) -> None:
    """An answer of a config in 0.3 s in a browser is some million calls of Python: one for each of
    DeepSeek-V3's 45,000 tensors is too many."""
    config = (MODELS / name / "config.json").read_text()
    question = json.dumps({"kind": kind, "target": {"config": config}})
    answer(question)
    count = 0

    def called(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call" or event == "c_call"

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        text = answer(question)
    finally:
        sys.setprofile(before)
    assert "error" not in json.loads(text)
    assert count < thousands * 1000
