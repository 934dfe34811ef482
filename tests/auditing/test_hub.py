"""Audits of repos: headers by range, sizes and checksums from the Hub's list."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import pytest

import hfinspect
from hfinspect.errors import GatedRepoError

from ..hub_repos import StoredFile, sparse, weights
from ..hub_server import Fault, HubServer
from ..sources.hub_support import client
from .damage import cut, opened, value
from .sound import Files, made

SHARDS = [f"model-{number:05d}-of-00004.safetensors" for number in range(1, 5)]


class Checked(StoredFile):
    """A file whose list entry has the checksum that was true when it was uploaded."""

    uploaded = b""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.uploaded or self.head).hexdigest()


def checked(content: bytes, uploaded: bytes = b"") -> Checked:
    file = Checked(content, len(content), lfs=True)
    object.__setattr__(file, "uploaded", uploaded)
    return file


def audit(hub: HubServer, **options: object) -> hfinspect.AuditResult:
    return hfinspect.audit("org/m", client=client(hub), **options)  # type: ignore[arg-type]


def codes(result: hfinspect.AuditResult) -> list[str]:
    return [finding.code for finding in result.findings]


def add(hub: HubServer, files: Files, **others: StoredFile) -> None:
    hub.add("org/m", {**files, **others})


def test_a_sound_repo_is_clean_and_cheap(hub: HubServer) -> None:
    big = weights({f"layers.{n}.weight": ("BF16", (4096, 4096)) for n in range(8)})
    files: Mapping[str, bytes | StoredFile] = {
        "README.md": b"---\nlicense: mit\n---\n",
        "config.json": b'{"model_type": "unheard_of"}',
        "model.safetensors": big,
    }
    hub.add("org/m", files)
    result = audit(hub)
    assert codes(result) == []
    assert (result.origin.kind, result.origin.commit is not None) == ("hub", True)
    assert hub.meter.sent() < 200_000
    assert hub.meter.count("hub") + hub.meter.count("cdn") <= 8


def test_damage_on_the_hub_is_found(hub: HubServer) -> None:
    files = made("sharded")
    cut(files, SHARDS[0], -100)
    files[SHARDS[1]] = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    files[SHARDS[2]] = b""
    del files[SHARDS[3]]
    add(hub, files)
    findings = {(finding.code, finding.file) for finding in audit(hub).findings}
    assert findings == {
        ("HI110", SHARDS[0]),
        ("HI103", SHARDS[1]),
        ("HI102", SHARDS[2]),
        ("HI201", SHARDS[3]),
    }


def test_the_header_is_read_raw_although_the_hub_has_it_decoded(hub: HubServer) -> None:
    """The Hub's own answer has lost what a key said first."""
    files = made("sharded")
    header, data = opened(files[SHARDS[1]])
    names = list(header)
    text = json.dumps(header).replace(f'"{names[1]}"', f'"{names[2]}"', 1).encode()
    text += b" " * (-len(text) % 8)
    files[SHARDS[1]] = len(text).to_bytes(8, "little") + text + data
    add(hub, files)
    assert "HI116" in codes(audit(hub))


def test_deep_compares_with_the_recorded_checksums(hub: HubServer) -> None:
    files = made("single")
    sound = files.pop("model.safetensors")
    hub.add("org/m", {**files, "model.safetensors": checked(sound)})
    assert codes(audit(hub, deep=True)) == []
    damaged = {"model.safetensors": sound}
    value(damaged, "model.safetensors", "lm_head.weight", 0, "007e")
    changed = checked(damaged["model.safetensors"], uploaded=sound)
    hub.add("org/m", {**files, "model.safetensors": changed})
    assert codes(audit(hub, deep=True)) == ["HI141", "HI142"]


def test_a_gated_repo_is_an_error_not_a_finding(hub: HubServer) -> None:
    repo = hub.add("org/m", {**made("single"), "model.safetensors": sparse(b"", 10)})
    repo.gated = "manual"
    with pytest.raises(GatedRepoError):
        audit(hub)


def test_what_the_network_refused_is_not_checked(hub: HubServer) -> None:
    add(hub, made("sharded"))
    hub.faults.append(Fault("status", match=SHARDS[2], status=500))
    result = audit(hub)
    assert codes(result) == ["HI422"]
    assert any(item.what == SHARDS[2] for item in result.unchecked)
    assert [f.file for f in result.failing("warning")] == [SHARDS[2]]
    hub.faults.clear()
    hub.faults.append(Fault("status", match="config.json", status=500))
    hub.faults.append(Fault("status", match="index.json", status=500))
    result = audit(hub)
    assert set(codes(result)) == {"HI422"}
    assert result.counts["warning"] == len({f.file for f in result.findings})
    assert {"config.json", "model.safetensors.index.json"} <= {u.what for u in result.unchecked}


def test_a_pickle_is_asked_for_once(hub: HubServer) -> None:
    """Its tensors and its names are read out of the same bytes."""
    hub.add("org/m", made("torch"))
    assert codes(audit(hub)) == ["HI501"]
    assert hub.meter.count("cdn", "") == 1


def test_one_file_of_a_repo(hub: HubServer) -> None:
    files = made("sharded")
    cut(files, SHARDS[0], -1)
    add(hub, files)
    assert codes(audit(hub, file=SHARDS[1])) == []
    assert codes(audit(hub, file=SHARDS[0])) == ["HI110"]
