"""``hfinspect serve``: who may ask, what is read, and what a hostile neighbour gets."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hfinspect
from hfinspect.web.answering import Reach
from hfinspect.web.serving import gate, loopback
from hfinspect.web.serving.dropped import Dropped

from ..builders import SMALL_BERT, safetensors_bytes
from ..cli.program import process
from ..hub_server import HubServer
from .served import Server

pytestmark = pytest.mark.posix
SMALL = hfinspect.predict(SMALL_BERT)


class Place(NamedTuple):
    """A server, the folder that it may read, one that it may not, and its Hub."""

    server: Server
    models: Path
    outside: Path
    hub: HubServer


def model_files() -> dict[str, bytes]:
    tensors = {t.name: ("F32", tuple(map(int, t.shape))) for t in SMALL.tensors}
    return {
        "config.json": json.dumps(SMALL_BERT).encode(),
        "model.safetensors": safetensors_bytes(tensors),
    }


def write_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in model_files().items():
        (folder / name).write_bytes(content)
    return folder


def write_cached(cache: Path, repo_id: str, commit: str) -> None:
    """As huggingface_hub leaves it: links to blobs."""
    folder = cache / f"models--{repo_id.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (folder / "blobs").mkdir()
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    for number, (name, content) in enumerate(model_files().items()):
        blob = folder / "blobs" / f"{number:040x}"
        blob.write_bytes(content)
        (snapshot / name).symlink_to(Path("..") / ".." / "blobs" / blob.name)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("serve")
    models = root / "models"
    outside = root / "outside"
    write_model(models / "org" / "mine")
    write_model(outside / "secret")
    (models / "link").symlink_to(outside / "secret")
    linked = write_model(models / "linked")
    (linked / "config.json").unlink()
    (linked / "config.json").symlink_to(outside / "secret" / "config.json")
    adapter = {"peft_type": "LORA", "r": 8, "base_model_name_or_path": str(outside / "secret")}
    (models / "adapter").mkdir()
    (models / "adapter" / "adapter_config.json").write_text(json.dumps(adapter))
    lora = {
        "base_model.model.encoder.layer.0.attention.self.query.lora_A.weight": ("F32", (8, 16)),
        "base_model.model.encoder.layer.0.attention.self.query.lora_B.weight": ("F32", (16, 8)),
    }
    (models / "adapter" / "adapter_model.safetensors").write_bytes(safetensors_bytes(lora))
    write_cached(root / "hub", "org/cached", "c" * 40)
    hub = HubServer()
    hub.add("org/private", model_files(), gated=True, readers=frozenset({"reader"}))
    env = {
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": "hf_reader",
        "HF_HUB_CACHE": str(root / "hub"),
        "HFINSPECT_CACHE": str(root / "headers"),
    }
    server = Server(models, "--no-browser", env=env)
    yield Place(server, models, outside, hub)
    assert server.close()[0] == 130
    hub.close()


def test_a_model_of_a_named_folder(place: Place) -> None:
    path = str(place.models / "org" / "mine")
    answer = place.server.ask(path)
    assert json.loads(answer["json"])["parameters"] == SMALL.parameters
    for kind in ("memory", "explain", "audit"):
        assert "error" not in place.server.ask(path, kind)
    compared = place.server.ask(path, "compare", other=path)
    assert json.loads(compared["json"])["same_structure"] is True


def test_the_numbers_are_those_of_the_command_line(place: Place) -> None:
    path = str(place.models / "org" / "mine")
    native = process("inspect", path, "--format", "json").out
    assert json.loads(place.server.ask(path)["json"]) == json.loads(native)


def test_a_private_model_by_the_own_login(place: Place) -> None:
    answer = place.server.ask("org/private", token="hf_stranger", endpoint="http://127.0.0.1:9")
    assert json.loads(answer["json"])["parameters"] == SMALL.parameters
    assert place.hub.meter.tokens_leaked == 0
    whole = place.server.request("/").body + json.dumps(answer).encode()
    assert b"hf_reader" not in whole


def test_what_is_there_with_sizes(place: Place) -> None:
    items = {item["name"]: item for item in place.server.request("/shelf", b"").json}
    size = sum(map(len, model_files().values()))
    assert items[str(place.models / "org" / "mine")]["nbytes"] == size
    assert items["org/cached"] == {
        "name": "org/cached",
        "target": f"org/cached@{'c' * 40}",
        "place": "cache",
        "nbytes": size,
    }
    assert str(place.models / "link") not in items


@pytest.mark.parametrize(
    "target",
    [
        "{outside}/secret",
        "{outside}/secret/config.json",
        "{models}/../outside/secret",
        "{models}/link",
        "{models}/link/config.json",
        "{models}/linked/config.json",
        "{models}/none/../../outside/secret",
        "/etc/passwd",
        "~/.ssh/id_rsa.bin",
        "../outside",
        "file:///etc/passwd",
        "\ud800/x.json",
        "/proc/self/environ",
    ],
)
def test_paths_outside_are_refused(place: Place, target: str) -> None:
    text = target.format(models=place.models, outside=place.outside)
    for kind in ("report", "memory", "explain", "audit"):
        answer = place.server.ask(text, kind)
        assert "error" in answer or _only_says_unreadable(answer), (kind, answer["json"])
        assert "does not exist" not in answer.get("error", "") or "none" in text
    answer = place.server.ask(str(place.models / "org" / "mine"), "compare", other=text)
    assert "error" in answer


def _only_says_unreadable(answer: Any) -> bool:
    """An audit finds that a link cannot be read, and knows nothing of what it leads to."""
    return "lies outside" in answer["json"] and "vocab_size" not in answer["json"]


def test_a_link_to_a_file_outside_is_not_followed(place: Place) -> None:
    answer = place.server.ask(str(place.models / "linked"))
    assert "is outside" in json.dumps(answer)
    assert "vocab_size" not in json.dumps(answer)


def test_an_adapter_does_not_lead_outside(place: Place) -> None:
    for kind in ("report", "memory", "audit"):
        answer = json.dumps(place.server.ask(str(place.models / "adapter"), kind))
        assert f"{SMALL.parameters:,}" not in answer
        assert str(SMALL.parameters) not in answer


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/%2e%2e/x", "/app.js/..", "//etc/passwd"])
def test_pages_are_no_paths(place: Place, path: str) -> None:
    assert place.server.request(path).status == 404


def test_the_page_itself_is_no_secret_and_frames_nowhere(place: Place) -> None:
    reply = place.server.request("/")
    assert reply.status == 200
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
    assert "connect-src 'self';" in reply.body.decode()
    assert "access-control-allow-origin" not in reply.headers
    assert place.server.token not in reply.body.decode()
    assert "Python" not in reply.headers["server"]
    assert place.server.request("/", method="HEAD").body == b""


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),  # a name that was made to lead here
        ({"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Host": None}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:{port}"}, 403),  # not the name that was asked
        ({"Origin": "http://127.0.0.1:1"}, 403),  # another server of this machine
        ({"Origin": "null"}, 403),  # the sandbox that answers are shown in
        ({"Origin": None}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer é"}, 401),
        ({"Authorization": "Bearer " + "x" * 43}, 401),
        ({"Authorization": "Basic {token}"}, 401),
    ],
)
@pytest.mark.parametrize("path", ["/shelf", "/answer?x", "/part?x", "/drop", "/cancel?x"])
def test_strangers_are_refused(
    place: Place, path: str, headers: dict[str, str | None], status: int
) -> None:
    server = place.server
    changed: dict[str, Any] = {
        name: value and value.format(port=server.port, token=server.token)
        for name, value in headers.items()
    }
    reply = server.request(path, b'{"target": "org/private"}', **changed)
    assert reply.status == status
    assert set(reply.json) == {"error", "hint"}
    assert "access-control-allow-origin" not in reply.headers


def test_localhost_is_this_server(place: Place) -> None:
    host = f"localhost:{place.server.port}"
    reply = place.server.request("/shelf", b"", Host=host, Origin=f"http://{host}")
    assert reply.status == 200


def test_no_question_by_get_and_no_preflight(place: Place) -> None:
    assert place.server.request("/shelf").status == 404
    reply = place.server.request("/shelf", b"", "OPTIONS")
    assert reply.status == 501
    assert "access-control-allow-origin" not in reply.headers
    assert place.server.request("/nothing", b"").status == 404


def test_bodies_have_bounds(place: Place) -> None:
    for length, status in [("16000001", 413), ("9" * 400, 413), ("-1", 411), ("x", 411)]:
        assert place.server.request("/answer?x", b"", Content_Length=length).status == status
    assert place.server.request("/answer?x", b"", Content_Length=None).status == 411
    chunked = place.server.request("/answer?x", b"", Transfer_Encoding="chunked")
    assert chunked.status == 411


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"kind": 1}', b"{}"])
def test_what_is_no_question_is_an_error_in_words(place: Place, body: bytes) -> None:
    assert place.server.request("/answer?x", body).json["error"]


def test_a_head_has_bounds(place: Place) -> None:
    assert place.server.request("/" + "x" * 70_000).status == 414
    assert place.server.request("/", X="y" * 70_000).status == 431


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says whose connection it is")
def test_connections_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the kernel's own table of a real connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            own = client.getsockname()[1]
            assert gate.owner_of(own, port) == os.getuid()
            assert gate.owner_of(own, port + 1 if port < 65535 else 1) is None
            assert not gate.Gate(port).is_stranger(own)


@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root on Linux, and setpriv",
)
def test_another_user_is_refused_with_the_token(tmp_path: Path) -> None:
    """The server runs as one user, who asks is another (root may always ask)."""
    folder = tmp_path / "m"
    write_model(folder)
    server = loopback.Served([folder], Reach(own_login=True))
    code = (
        "import http.client, sys;"
        "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]));"
        "c.request('POST', '/shelf', b'', {'Origin': sys.argv[2],"
        "'Authorization': 'Bearer ' + sys.argv[3]}); print(c.getresponse().status)"
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    origin = f"http://127.0.0.1:{server.server_port}"
    command = [sys.executable, "-I", "-c", code, str(server.server_port), origin]
    command.append(server.gate.token)
    for user, status in (("0", "200"), ("65534", "403")):
        done = subprocess.run(
            ["setpriv", f"--reuid={user}", "--clear-groups", *command],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout.strip() == status, done.stderr
    server.shutdown()
    server.server_close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[loopback.Served]:
    """A server in this process with little patience and room for two connections."""
    monkeypatch.setattr(loopback, "PATIENCE", 0.4)
    monkeypatch.setattr(loopback, "MAX_CONNECTIONS", 2)
    server = loopback.Served([], Reach(own_login=True))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_slow_requests_end(impatient: loopback.Served) -> None:
    """One whose head drips, and one whose body does: each is over after the same time."""
    port = impatient.server_port
    head = (
        f"POST /shelf HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {impatient.gate.token}\r\nContent-Length: 1000\r\n\r\n"
    )
    for start, answer in ((head[:40], b""), (head, b"HTTP/1.0 408")):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(start.encode())
            received = b""
            while time.monotonic() - began < 20:
                try:
                    client.sendall(b"x")
                    client.settimeout(0.1)
                    part = client.recv(4096)
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
                if not part:
                    break
                received += part
        assert time.monotonic() - began < 20
        assert received.startswith(answer)


def test_too_many_connections_are_closed(impatient: loopback.Served) -> None:
    address = ("127.0.0.1", impatient.server_port)
    idle = [socket.create_connection(address, timeout=30) for _ in range(2)]
    time.sleep(0.1)  # both are served by now
    with socket.create_connection(address, timeout=30) as third, suppress(ConnectionError):
        assert third.recv(100) == b""
    for client in idle:
        client.close()


def test_cancel_ends_a_question(place: Place) -> None:
    place.hub.add("org/slow", model_files())
    place.hub.latency = 30.0
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(place.server.ask("org/slow", name="a")))
    asking.start()
    waiting = threading.Thread(
        target=lambda: answers.append(place.server.ask("org/slow", name="b"))
    )
    waiting.start()
    began = time.monotonic()
    while asking.is_alive() or waiting.is_alive():
        for name in ("a", "b"):
            assert place.server.request(f"/cancel?{name}", b"").json == {}
        time.sleep(0.05)
        assert time.monotonic() - began < 20
    place.hub.latency = 0.0
    assert [answer["kind"] for answer in answers] == ["cancelled", "cancelled"]
    assert "error" not in place.server.ask(str(place.models / "org" / "mine"))


def test_a_dropped_file_is_sent_in_parts(place: Place) -> None:
    """The page's part of the exchange, played by this test."""
    server = place.server
    files = model_files()
    listed = [{"name": f"mine/{name}", "size": len(data)} for name, data in files.items()]
    dropped = server.request("/drop", json.dumps(listed).encode()).json["place"]
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(server.ask(f"{dropped}/mine")))
    asking.start()
    sent = 0
    brought = ""
    part = b""
    while asking.is_alive():
        wanted = server.request(f"/part?{dropped[1:]}.{brought}", part).json
        if "id" not in wanted:  # the question was answered
            break
        brought = wanted["id"]
        part = files[wanted["name"].removeprefix("mine/")][wanted["start"] : wanted["stop"]]
        sent += len(part)
    asking.join(60)
    document = json.loads(answers[0]["json"])
    assert 0 < sent <= sum(map(len, files.values()))
    assert (document["parameters"], document["source"]) == (SMALL.parameters, "checkpoint")


@pytest.mark.parametrize(
    "listed",
    [
        {},
        [1],
        [{"name": "../x", "size": 1}],
        [{"name": "/x", "size": 1}],
        [{"name": "x", "size": -1}],
        [{"name": "x", "size": True}],
        [{"name": "x", "size": 1}] * 20_001,
    ],
)
def test_impossible_drops(place: Place, listed: object) -> None:
    assert place.server.request("/drop", json.dumps(listed).encode()).json["kind"] == "usage"


def test_a_forgotten_drop(place: Place) -> None:
    assert "forgotten" in place.server.request("/part?dropped-x.", b"").json["error"]


def test_ctrl_c_ends_at_once_in_the_midst_of_an_answer(hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/slow", model_files())
    hub.latency = 30.0
    server = Server("--no-browser", env={"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path)})

    def ask() -> None:
        with suppress(OSError):  # the server has ended
            server.ask("org/slow")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while not hub.meter.requests:
        time.sleep(0.01)
    began = time.monotonic()
    code, err = server.close()
    assert time.monotonic() - began < 5
    assert code == 130
    assert "Traceback" not in err
    asking.join(60)


def test_a_taken_port_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = process("serve", "--no-browser", "--port", port)
    assert done.code == 3
    assert f"port {port}: cannot be used" in done.err
    assert "chooses a free one" in done.err


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    done = process("serve", "--no-browser", tmp_path / "none")
    assert (done.code, done.out) == (3, "")
    assert "does not exist" in done.err


def test_a_browser_is_opened_or_its_lack_is_said(tmp_path: Path) -> None:
    """BROWSER names a program that notes what it was given."""
    noted = tmp_path / "noted"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {noted}\n')
    browser.chmod(0o755)
    server = Server(env={"BROWSER": f"{browser} %s", "HF_HOME": str(tmp_path)})
    end = time.monotonic() + 30
    while not (noted.exists() and noted.read_text()):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert noted.read_text() == server.address
    assert "Open this address" in server.close()[1]
    none = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", "HF_HOME": str(tmp_path)}
    server = Server(env=none)
    assert server.process.stderr is not None
    lines = [server.process.stderr.readline() for _ in range(2)]
    assert any("No browser was found" in line for line in lines)
    server.close()


def test_quiet_shows_the_address_alone(tmp_path: Path) -> None:
    server = Server("-q", "--no-browser", env={"HF_HOME": str(tmp_path)})
    server.process.send_signal(signal.SIGTERM)
    out, err = server.process.communicate(timeout=60)
    assert (out, err) == ("", "")


def test_a_part_that_a_request_took_with_it_is_ordered_again() -> None:
    """A page that asks the next question gives up the request of the last one, which may have taken
    an order."""
    dropped = Dropped({"config.json": 2})
    parts: list[bytes] = []
    reading = threading.Thread(
        target=lambda: parts.append(dropped.part("config.json", 0, 2)), daemon=True
    )
    reading.start()
    lost = dropped.next_part("", b"")
    again = dropped.next_part("", b"")
    assert again == lost
    given_up = threading.Thread(target=dropped.next_part, args=("", b""), daemon=True)
    given_up.start()  # it takes the order as well
    while dropped._requests < 3:
        time.sleep(0.01)
    bringing = threading.Thread(target=dropped.next_part, args=(again["id"], b"{}"), daemon=True)
    bringing.start()
    for thread in (reading, given_up):
        thread.join(5)
        assert not thread.is_alive()
    dropped.answered()
    bringing.join(5)
    assert not bringing.is_alive()
    assert parts == [b"{}"]
