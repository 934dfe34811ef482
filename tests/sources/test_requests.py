"""Nothing that was read once is requested again, whatever is asked about a model."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.verdicts import AuditResult
from hfinspect.pictures import portrait
from hfinspect.sources.header_cache import HeaderCache
from hfinspect.web.answering import Reach, answer
from hfinspect.web.open_models import MAX_AGE, OpenModels

from ..hub_server import HubServer
from .requests_table import BESIDE, Asked, during, questions, repeated, sharded, tabs


def add(hub: HubServer, shards: int) -> None:
    hub.add("org/model", sharded(shards))
    hub.repos["org/model"].branches["dev"] = hub.repos["org/model"].sha


def names(asked: list[Asked]) -> list[str]:
    """The files that are requested."""
    return sorted(one.path.rpartition("/")[2] for one in asked if one.kind == "file")


@pytest.mark.parametrize("shards", [2, 15, 30])
def test_a_page_costs_what_inspect_does_and_the_files_that_only_an_audit_reads(
    hub: HubServer, shards: int
) -> None:
    """However many shards there are: their headers come in one answer, and once."""
    add(hub, shards)
    ask: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    inspected = during(hub, lambda: hfinspect.inspect("org/model", **ask))
    page = during(hub, lambda: portrait("org/model", **ask))
    assert len(inspected) == 4
    assert repeated(page) == []
    assert set(inspected) < set(page)
    assert names(page) == sorted([*BESIDE, "model.safetensors.index.json"])
    assert len(page) == len(inspected) + len(BESIDE)  # less config.json, and the index


@pytest.mark.parametrize("target", ["org/model", "org/model@dev"])
def test_no_question_requests_anything_twice(hub: HubServer, tmp_path: Path, target: str) -> None:
    add(hub, 6)
    for number, ask in enumerate(questions(hub).values()):
        assert repeated(during(hub, partial(ask, target))) == []
        kept = HeaderCache(tmp_path / str(number))
        first = during(hub, partial(ask, target, cache=kept))
        again = during(hub, partial(ask, target, cache=kept))
        assert repeated(first) == []
        assert len(again) == 1 and again[0].path.startswith("/api/models/org/model")


def test_a_page_of_a_branch_reads_each_header_once(hub: HubServer) -> None:
    """There the server has none ready: two requests a shard, by inspect and audit together."""
    add(hub, 6)
    ask: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    inspected = during(hub, lambda: hfinspect.inspect("org/model@dev", **ask))
    page = during(hub, lambda: portrait("org/model@dev", **ask))
    assert repeated(page) == []
    assert len(page) == len(inspected) + len(BESIDE) - 1
    assert sum(one.path.endswith(".safetensors") for one in page) == 6


def test_the_audit_of_a_page_finds_what_the_command_finds(hub: HubServer) -> None:
    """And says of which headers it has not seen the bytes."""
    files = sharded(4)
    del files["model-00003-of-00004.safetensors"]
    hub.add("org/model", {**files, "other.bin": b"\x80\x02cos\nsystem\n."})
    hub.repos["org/model"].branches["dev"] = hub.repos["org/model"].sha
    ask: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    for target in ("org/model", "org/model@dev"):
        alone = hfinspect.audit(target, **ask)
        on_page = portrait(target, **ask).audit
        assert isinstance(on_page, AuditResult)
        assert on_page.findings == alone.findings != ()
        more = set(on_page.unchecked) - set(alone.unchecked)
        assert {one.what for one in more} == (
            {"the bytes of 3 headers"} if target == "org/model" else set()
        )


def test_a_commit_whose_list_is_kept_is_judged_as_at_first(hub: HubServer, tmp_path: Path) -> None:
    """That its list costs no request does not make its files near."""
    add(hub, 3)
    files = {**sharded(3), "extra.json": b"{}", "notes.txt": b"text"}
    hub.add("org/model", files)
    target = f"org/model@{hub.repos['org/model'].sha}"
    ask: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    kept = HeaderCache(tmp_path)
    first = hfinspect.audit(target, **ask)
    hfinspect.inspect(target, **ask, cache=kept)
    hub.meter.clear()
    again = hfinspect.audit(target, **ask, cache=kept)
    assert again.unchecked == first.unchecked and again.findings == first.findings
    assert not [r for r in hub.meter.requests if r.path.endswith(("extra.json", "notes.txt"))]


def test_tabs_of_the_app_share_what_was_read(hub: HubServer) -> None:
    add(hub, 6)
    for target in ("org/model", "org/model@dev"):
        requests = tabs(hub, target)
        assert requests["memory"] == requests["explain"] == []
        assert repeated([one for asked in requests.values() for one in asked]) == []
        # The command audit judges each byte of a header: those that came parsed are read now.
        shards = 6 if target == "org/model" else 0
        assert len(requests["audit"]) == 2 * shards


def test_the_app_looks_a_branch_up_anew_after_a_while(hub: HubServer) -> None:
    add(hub, 2)
    now = [0.0]
    reach = Reach(opened=OpenModels(hub.endpoint, lambda: now[0]))
    question = {"kind": "memory", "target": "org/model"}

    def asked(**more: str) -> int:
        text = json.dumps({**question, **more})
        return len(during(hub, lambda: answer(text, reach)))

    assert [asked(), asked(), asked(target=" org/model ")] == [4, 0, 0]
    assert asked(token="hf_reader") == 4, "another reader"
    assert asked() == 0
    now[0] = MAX_AGE
    assert asked() == 4
    assert asked(target="org/model@dev") > 0 and asked(target="org/model@dev", token="x") > 0
    assert asked() == 4, "only the last models are kept"
