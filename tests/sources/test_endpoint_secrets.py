"""A password in HF_ENDPOINT, and a token, are shown to nobody who need not know them."""

from __future__ import annotations

import json
import pickle
import socket
from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.refs import masked
from hfinspect.errors import HfinspectError, UsageError
from hfinspect.scanning.engine import ScanOptions, lost
from hfinspect.scanning.row_work import RowWork
from hfinspect.sources.header_cache import HeaderCache
from hfinspect.sources.hub.client import HubClient

from ..cli.program import process
from ..hub_server import HubServer
from ..scanning.scan_support import model_files

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://huggingface.co", "https://huggingface.co"),
        (f"https://me:{SECRET}@mirror.example:8443/hub", "https://***@mirror.example:8443/hub"),
        (f"https://{SECRET}@mirror.example", "https://***@mirror.example"),
        (f"https://mirror.example/?token={SECRET}", "https://mirror.example/?***"),
        (f"https://mirror.example/#{SECRET}", "https://mirror.example/"),
        (f"https://[{SECRET}", "an invalid address"),
    ],
)
def test_what_is_shown_of_an_address(address: str, shown: str) -> None:
    assert masked(address) == shown


def _with_password(hub: HubServer) -> str:
    return hub.endpoint.replace("//", f"//me:{SECRET}@")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500])
def test_no_error_shows_the_password(hub: HubServer, status: int) -> None:
    hub.fail("status", status=status, headers={"Retry-After": "1000"} if status > 428 else {})
    with pytest.raises(HfinspectError) as caught:
        hfinspect.inspect("org/model", token=False, endpoint=_with_password(hub), timeout=0.3)
    assert SECRET not in json.dumps(caught.value.to_dict())


def test_nor_does_one_of_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for target in ("org/model", "https://elsewhere.example/org/model"):
        with pytest.raises(HfinspectError) as caught:
            hfinspect.inspect(target, endpoint=f"http://me:{SECRET}@127.0.0.1:{port}", timeout=2)
        assert SECRET not in json.dumps(caught.value.to_dict())
        assert "***@127.0.0.1" in json.dumps(caught.value.to_dict())


def test_a_query_in_the_endpoint_is_refused_and_not_shown(tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:9/?token={SECRET}"
    with pytest.raises(UsageError) as caught:
        hfinspect.inspect("org/model", endpoint=endpoint)
    assert SECRET not in str(caught.value)
    done = process(
        "org/model", "-f", "json", env={"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path)}
    )
    assert done.code == 2
    assert SECRET not in done.out + done.err


def test_the_cache_keeps_no_password(hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/model", model_files())
    with pytest.raises(HfinspectError):  # the loopback Hub takes no password for a login
        hfinspect.inspect(
            "org/model", token=False, endpoint=_with_password(hub), cache=HeaderCache(tmp_path)
        )
    inspection = hfinspect.inspect(
        "org/model", token="hf_reader", endpoint=hub.endpoint, cache=HeaderCache(tmp_path)
    )
    assert inspection.parameters
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert kept
    assert SECRET.encode() not in kept
    assert b"hf_reader" not in kept


def test_what_a_lost_target_says_of_an_address() -> None:
    error = RuntimeError(f"cannot open http://me:{SECRET}@host/x")
    assert str(lost("org/a", error).error).endswith("RuntimeError: cannot open http://***@host/x)")


def test_a_token_does_not_travel_with_a_task() -> None:
    """Schedulers keep tasks and show them; what differs is whether one is wanted at all."""
    work = RowWork(ScanOptions(token="hf_" + SECRET), ("parameters",))
    packed = pickle.dumps(work)
    assert SECRET.encode() not in packed
    assert pickle.loads(packed).options.token is None
    assert work.options.token == "hf_" + SECRET
    assert pickle.loads(pickle.dumps(ScanOptions(token=False))).token is False
    assert SECRET not in repr(work)


def test_who_asks_is_the_password_too() -> None:
    """What one user of a mirror has read in private is not shown to another."""
    asked_as = [
        HubClient(endpoint=f"http://{user}127.0.0.1:1", token=False, offline=True).reader()
        for user in ("", "me:one@", "me:two@")
    ]
    assert asked_as[0] is None
    assert len(set(asked_as)) == 3
    assert not any("one" in digest or "two" in digest for digest in asked_as if digest)
