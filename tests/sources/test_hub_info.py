"""What the Hub's answer says in addition to the files: taken as it comes, no more requests."""

from __future__ import annotations

import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.hub_info import HubInfo
from hfinspect.sources.hub.model_info import parse_listing

from ..builders import Tensors
from ..hub_repos import weights
from ..hub_server import HubServer
from ..schemas import conforms

SMALL: Tensors = {"w": ("F32", (2, 2))}


def test_licence_and_kin_are_in_the_result(hub: HubServer) -> None:
    repo = hub.add("org/model", {"config.json": b"{}", "model.safetensors": weights(SMALL)})
    repo.info.update(
        cardData={"license": "other", "license_name": "llama3"},
        library_name="transformers",
        pipeline_tag="text-generation",
        tags=["en", "license:other"],
    )
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint)
    assert inspection.origin.hub == HubInfo(
        "llama3",
        False,
        "2026-01-02T03:04:05.000Z",
        "transformers",
        "text-generation",
        ("en", "license:other"),
    )
    conforms(inspection.to_dict())
    assert inspection.to_dict()["hub"]["license"] == "llama3"


def info(**answer: Any) -> HubInfo | None:
    return parse_listing({"siblings": [], **answer}, "org/model").info


def test_a_licence_may_be_a_tag_or_a_list() -> None:
    for said in ({"tags": ["license:mit"]}, {"cardData": {"license": ["mit"]}}):
        hub_info = info(**said)
        assert hub_info is not None
        assert hub_info.license == "mit"


ANY = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text() | st.integers())
NAMES = ("cardData", "tags", "gated", "lastModified", "library_name", "pipeline_tag")


@given(st.dictionaries(st.sampled_from(NAMES), ANY | st.fixed_dictionaries({"license": ANY})))
def test_any_answer_is_taken_without_control_characters(answer: dict[str, Any]) -> None:
    hub_info = info(**answer)
    assert hub_info is not None
    texts = [
        hub_info.license,
        hub_info.last_modified,
        hub_info.library,
        hub_info.task,
        *hub_info.tags,
    ]
    shown = {unicodedata.category(char) for text in texts if text for char in text}
    assert not shown & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # a space of any width is none
