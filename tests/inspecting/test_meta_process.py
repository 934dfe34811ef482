"""The process that builds a class: what it is given, what it may not do, and how it ends.

Programs of a few lines stand in for the one that imports torch; what they call to give things up is
what that one calls.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hfinspect.errors import ConfigError, HfinspectError, LimitError
from hfinspect.inspecting import meta_process
from hfinspect.inspecting.meta_child import ANSWER_LIMIT
from hfinspect.inspecting.meta_process import KEPT_VARIABLES, answer_to, environment

from ..cli.program import ROOT
from ..hub_server import HubServer

#: Where modules are found, as the real program does it, and a way to answer.
START = """
import json, os, sys
folder = sys.argv[1]
sys.path[:] = json.load(open(folder + "/paths.json"))
def answer(said):
    with open(folder + "/answer.json", "w") as file:
        json.dump(said, file)
def tried(call):
    try:
        return repr(call())
    except BaseException as error:
        return type(error).__name__
"""
CONFINED = START + "from hfinspect.inspecting import meta_child\nmeta_child.confine()\n"


def said_by(program: str, config: dict[str, object] | None = None) -> object:
    return json.loads(answer_to(config or {}, program=program, seconds=120))


def test_the_config_reaches_it_and_its_answer_comes_back() -> None:
    program = START + "answer(json.load(open(folder + '/request.json')))"
    assert said_by(program, {"model_type": "größe"}) == {"model_type": "größe"}


def test_its_environment_is_a_list_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """No token, no home, no settings of the Hub's client or of Python reach it."""
    secrets = {
        "HF_TOKEN": "hf_secret",
        "HUGGING_FACE_HUB_TOKEN": "hf_secret",
        "HF_TOKEN_PATH": "/home/me/hf_secret",
        "AWS_SECRET_ACCESS_KEY": "hf_secret",
        "HTTPS_PROXY": "http://hf_secret",
        "SOMETHING_NEW": "hf_secret",
        "PYTHONSTARTUP": "hf_secret",
        "HF_HOME": "/home/me/hf_secret",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    variables = said_by(START + "answer(dict(os.environ, folder=folder))")
    assert isinstance(variables, dict)
    folder = variables.pop("folder")
    assert "hf_secret" not in json.dumps(variables)
    mine = environment(folder, {})
    assert {name: variables[name] for name in mine} == mine
    # Python itself sets LC_CTYPE where there is no locale; macOS adds a name of its own.
    others = variables.keys() - mine.keys() - set(KEPT_VARIABLES)
    assert others <= {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    for name in ("HOME", "USERPROFILE", "HF_HOME", "TMPDIR", "XDG_CACHE_HOME"):
        assert variables[name] == folder
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        assert variables[name] == "1"


def test_its_folder_is_empty_but_for_the_question_and_goes() -> None:
    program = START + "answer([folder, os.getcwd(), sorted(os.listdir(folder))])"
    said = said_by(program)
    assert isinstance(said, list)
    folder, cwd, names = said
    assert os.path.realpath(folder) == os.path.realpath(cwd)
    assert names == ["paths.json", "request.json"]
    assert not Path(folder).exists()


def test_sockets_and_processes_are_refused(hub: HubServer) -> None:
    host, _, port = hub.endpoint.removeprefix("http://").partition(":")
    program = f"""{CONFINED}
import socket, subprocess, urllib.request
answer([
    tried(lambda: socket.create_connection(({host!r}, {port}), 5)),
    tried(lambda: socket.socket()),
    tried(lambda: socket.getaddrinfo({host!r}, {port})),
    tried(lambda: urllib.request.urlopen({hub.endpoint!r}, timeout=5)),
    tried(lambda: subprocess.run(["true"])),
    tried(lambda: os.system("true")),
])"""
    said = said_by(program)
    assert isinstance(said, list)
    assert set(said) <= {"PermissionError", "URLError"}
    assert hub.meter.requests == []


@pytest.mark.posix
def test_where_the_system_allows_it_there_is_no_network_at_all(hub: HubServer) -> None:
    """Without the hook: a namespace of its own has not even a loopback that is up."""
    host, _, port = hub.endpoint.removeprefix("http://").partition(":")
    program = f"""{START}
import socket
from hfinspect.inspecting.meta_child import leave_network
answer([leave_network(), tried(lambda: socket.create_connection(({host!r}, {port}), 5))])"""
    said = said_by(program)
    assert isinstance(said, list)
    if not said[0]:
        pytest.skip("this system lets this user have no namespace")
    assert said[1] == "OSError"


@pytest.mark.posix
def test_no_file_is_read_but_those_of_the_libraries(tmp_path: Path) -> None:
    """Not by a link or by dots either."""
    secret = tmp_path / "config.json"
    secret.write_text("{}")
    program = f"""{START}
from hfinspect.inspecting.meta_child import only_files_of
own = os.path.dirname(json.__file__)
os.symlink({str(secret)!r}, folder + "/link")
sys.addaudithook(only_files_of([own, folder]))
answer([
    tried(lambda: open({str(secret)!r})),
    tried(lambda: open(own + "/.." * 40 + {str(secret)!r})),
    tried(lambda: open(folder + "/link")),
    tried(lambda: open(os.fsencode({str(secret)!r}))),
    tried(lambda: open(own + "/__init__.py").close()),
])"""
    assert said_by(program) == ["PermissionError"] * 4 + ["None"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")
def test_memory_has_an_end() -> None:
    program = f"""{START}
from hfinspect.inspecting.meta_child import limit
limit(256 * 2**20, 60)
answer([tried(lambda: len(bytearray(2**30))), tried(lambda: len(bytearray(2**20)))])"""
    assert said_by(program) == ["MemoryError", str(2**20)]


@pytest.mark.posix
def test_processor_time_has_an_end() -> None:
    program = f"{START}from hfinspect.inspecting.meta_child import limit\nlimit(2**33, 1)\n"
    with pytest.raises(ConfigError, match="the process ended with signal"):
        answer_to({}, program=program + "while True: pass", seconds=120)


@pytest.mark.posix
def test_an_answer_without_end_is_not_written() -> None:
    program = f"""{CONFINED}
with open(folder + "/answer.json", "wb") as file:
    file.truncate({ANSWER_LIMIT})
    file.seek({ANSWER_LIMIT})
    file.write(b"more")"""
    with pytest.raises(ConfigError, match="exit code 1"):
        answer_to({}, program=program, seconds=120)


def test_an_answer_that_is_too_long_is_not_taken() -> None:
    program = f"{START}open(folder + '/answer.json', 'wb').truncate({ANSWER_LIMIT + 1})"
    with pytest.raises(LimitError, match="answer"):
        answer_to({}, program=program, seconds=120)


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("", "exit code 0"),
        ("raise SystemExit(3)", "exit code 3"),
        ("raise RuntimeError", "exit code 1"),
        ("answer({}); raise SystemExit(3)", "exit code 3"),
    ],
)
def test_an_end_without_an_answer_is_said(ending: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        answer_to({}, program=START + ending, seconds=120)


def test_too_long_is_said_and_ends_it() -> None:
    begun = time.monotonic()
    with pytest.raises(LimitError, match=r"more than 0\.5 seconds") as caught:
        answer_to({}, program="import time\ntime.sleep(600)", seconds=0.5)
    assert time.monotonic() - begun < 60
    assert isinstance(caught.value, HfinspectError)
    assert caught.value.hint


#: Starts the process that sleeps, says its number, and waits for it.
WAITING = """
import sys
from hfinspect.inspecting import meta_process
program = '''
import os, sys, time
sys.path[:] = __import__("json").load(open(sys.argv[1] + "/paths.json"))
from hfinspect.inspecting.meta_child import end_with_parent
end_with_parent(sys.argv[1])
with open({note!r} + ".new", "w") as file:
    file.write(str(os.getpid()) + " " + sys.argv[1])
os.rename({note!r} + ".new", {note!r})
time.sleep(600)
'''
meta_process.answer_to({{}}, program=program)
"""


def _started(note: Path) -> tuple[subprocess.Popen[bytes], int, Path]:
    parent = subprocess.Popen(
        [sys.executable, "-c", WAITING.format(note=str(note))],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while not note.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    number, _, folder = note.read_text().partition(" ")
    return parent, int(number), Path(folder)


def _is_there(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return "Z" not in _state(number)


def _state(number: int) -> str:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2][:3]
    except FileNotFoundError:
        return ""


@pytest.mark.posix
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_whoever_started_it(how: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C, and an end in which nothing can be cleared up any more."""
    parent, number, folder = _started(tmp_path / "note")
    parent.send_signal(how)
    parent.wait(60)
    end = time.monotonic() + 60
    while _is_there(number) or folder.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_real_program_answers_or_ends() -> None:
    """It imports what it needs by the paths that it is given; where there is no torch it ends."""
    try:
        said = json.loads(meta_process.answer_to({"model_type": "nobody-knows"}))
    except ConfigError as error:
        assert "exit code 1" in str(error)
    else:
        assert said == {"unknown": True}
