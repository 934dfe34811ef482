"""Hashes that the Hub lists, and samples by range from it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.weight_changes import SAMPLE_BYTES, FileIdentity, ReadingCost
from hfinspect.errors import UsageError
from hfinspect.scanning.rows import COLUMNS
from hfinspect.sources.header_cache import HeaderCache

from ..hub_server import HubServer
from .models import CONFIG, file_bytes, tuned, weights


def add(hub: HubServer, name: str, data: bytes, weights_name: str = "model.safetensors") -> None:
    hub.add(
        name,
        {
            "config.json": json.dumps(CONFIG).encode(),
            weights_name: data,
            "README.md": name.encode(),
        },
    )


def identity(hub: HubServer, *names: str) -> FileIdentity:
    comparison = hfinspect.compare(*names, token=False, endpoint=hub.endpoint)
    files = comparison.differences[0].files
    assert files is not None
    return files


def test_the_same_weights_under_another_name(hub: HubServer) -> None:
    data = file_bytes(weights())
    add(hub, "org/base", data)
    add(hub, "org/copy", data, "pytorch_copy.safetensors")
    files = identity(hub, "org/base", "org/copy")
    assert files.weights is True
    assert (len(files.equal), files.compared, files.files) == (2, 3, 3)
    assert [(one.first, one.path) for one in files.renamed] == [
        ("model.safetensors", "pytorch_copy.safetensors")
    ]


def test_hashes_cost_no_request(hub: HubServer) -> None:
    add(hub, "org/base", file_bytes(weights()))
    add(hub, "org/tuned", file_bytes(tuned(lambda name: True)))
    for name in ("org/base", "org/tuned"):
        hfinspect.inspect(name, token=False, endpoint=hub.endpoint)
    before = len(hub.meter.requests)
    files = identity(hub, "org/base", "org/tuned")
    assert len(hub.meter.requests) == 2 * before
    assert files.weights is False
    assert [one.path for one in files.equal] == ["config.json"]


def test_samples_come_by_range_and_stay_out_of_the_cache(hub: HubServer, tmp_path: Path) -> None:
    """With the costs that were announced: no more bytes of tensors, no more requests."""
    add(hub, "org/base", file_bytes(weights()))
    add(hub, "org/tuned", file_bytes(tuned(lambda name: "v_proj" in name)))
    cache = HeaderCache(tmp_path / "cache")
    given = {"token": False, "endpoint": hub.endpoint, "cache": cache}
    hfinspect.compare("org/base", "org/tuned", **given)  # type: ignore[arg-type]
    kept = size_of(tmp_path)
    sent = hub.meter.sent()
    requests = len(hub.meter.requests)
    announced: list[ReadingCost] = []
    comparison = hfinspect.compare(
        "org/base",
        "org/tuned",
        weights="sample",
        announce=announced.append,
        **given,  # type: ignore[arg-type]
    )
    changes = comparison.differences[0].weights
    assert changes is not None
    assert (changes.verdict, changes.changed) == ("matrices", 4)
    [cost] = announced
    sizes = [2 * t.elements for t in hfinspect.predict(CONFIG).tensors]
    assert cost.nbytes == 2 * sum(min(size, SAMPLE_BYTES) for size in sizes)
    assert 0 < hub.meter.sent() - sent - cost.nbytes < 20_000  # heads of parts, where are the files
    assert len(hub.meter.requests) - requests <= cost.requests
    assert size_of(tmp_path) == kept


def test_samples_without_joined_ranges(hub: HubServer) -> None:
    hub.joins_ranges = False
    add(hub, "org/base", file_bytes(weights()))
    add(hub, "org/tuned", file_bytes(tuned(lambda name: "v_proj" in name)))
    comparison = hfinspect.compare(
        "org/base", "org/tuned", weights="sample", token=False, endpoint=hub.endpoint
    )
    changes = comparison.differences[0].weights
    assert changes is not None
    assert changes.verdict == "matrices"


def test_all_bytes_are_read_on_disk_alone(hub: HubServer) -> None:
    add(hub, "org/base", file_bytes(weights()))
    with pytest.raises(UsageError, match="is on the Hub") as caught:
        hfinspect.compare(
            "org/base", "org/base", weights="values", token=False, endpoint=hub.endpoint
        )
    assert caught.value.hint is not None and "sample" in caught.value.hint
    headers = hub.meter.sent("cdn")
    hfinspect.compare("org/base", "org/base", token=False, endpoint=hub.endpoint)
    assert hub.meter.sent("cdn") == 2 * headers


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_scan_has_one_hash_for_the_same_weights(hub: HubServer) -> None:
    data = file_bytes(weights())
    add(hub, "org/base", data)
    add(hub, "org/copy", data, "pytorch_copy.safetensors")
    add(hub, "org/tuned", file_bytes(tuned(lambda name: True)))
    names = ["org/base", "org/copy", "org/tuned"]
    inspections = [hfinspect.inspect(name, token=False, endpoint=hub.endpoint) for name in names]
    base, copy, other = (COLUMNS["weights_sha256"].value(one) for one in inspections)
    assert base == copy == hashlib.sha256(data).hexdigest()
    assert other not in (None, base)
