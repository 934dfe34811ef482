"""``hfinspect MODEL`` at the terminal: what is shown, where, and how it ends."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hfinspect import api
from hfinspect.cli.fast_path import COMMANDS
from hfinspect.cli.outcome import run
from hfinspect.errors import HfinspectError

from ..builders import write_config, write_safetensors, write_sharded
from ..hub_repos import weights
from ..hub_server import HubServer
from ..schemas import conforms
from .program import ROOT, hfinspect, process

BLOOM = "fixtures/models/bloom-1b4-zh"


def test_the_table_says_the_figures() -> None:
    done = hfinspect(BLOOM)
    assert done.code == 0
    for text in (
        "94,504,960",
        "402,849,792",
        "805,552,128",
        "204,800",
        "1,303,111,680",
        "1,397,616,640",
        "1.30 B",
        "lm_head.weight = transformer.word_embeddings.weight",
        "BloomForCausalLM",
        "local directory",
    ):
        assert text in done.out


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit_the_terminal(columns: int) -> None:
    for by in ("component", "dtype", "part"):
        done = hfinspect(BLOOM, "--by", by, env={"COLUMNS": str(columns)})
        # A path is copied, so it stays in one piece.
        lines = [line for line in done.out.splitlines() if not line.startswith("path ")]
        assert max(map(len, lines)) <= columns


def test_no_colour_in_a_pipe() -> None:
    assert "\033" not in hfinspect(BLOOM).out


@pytest.mark.posix
@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colour_on_a_terminal_unless_no_color(no_color: str, coloured: bool) -> None:
    parent, child = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": no_color, "TERM": "xterm"}
    command = [sys.executable, "-m", "hfinspect", BLOOM]
    subprocess.run(command, cwd=ROOT, env=env, stdout=child, timeout=60, check=True)
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert ("\033[" in shown) is coloured


def test_a_terminal_without_unicode_gets_ascii() -> None:
    done = hfinspect(BLOOM, encoding="ascii")
    assert done.code == 0
    assert done.out.isascii()
    assert "######" in done.out


def test_json_is_valid_by_its_schema() -> None:
    for command in ((BLOOM,), ("tensors", BLOOM)):
        document = json.loads(hfinspect(*command, "--format", "json").out)
        conforms(document)
        assert document["parameters"] == 1_303_111_680
    assert len(document["tensors"]) == 293


def test_csv_carries_plain_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(hfinspect(BLOOM, "-f", "csv").out)))
    by_name = {row["component"]: row for row in rows}
    assert by_name["norm"]["parameters"] == "204800"
    assert by_name["total"]["nbytes"] == "2606223360"


def test_markdown_is_a_table() -> None:
    out = hfinspect(BLOOM, "-f", "markdown").out
    assert "| embedding | 94,504,960 | 7.3% |" in out


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = hfinspect(BLOOM, "-f", "json", "--output", file)
    assert (done.code, done.out) == (0, "")
    assert json.loads(file.read_text())["parameters"] == 1_303_111_680
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert hfinspect(BLOOM, "--output", tmp_path / "no" / "where").code == 3


def test_by_layer_and_file(tmp_path: Path) -> None:
    write_sharded(
        tmp_path,
        [
            {"model.layers.0.mlp.up_proj.weight": ("BF16", (4, 2))},
            {"model.layers.1.mlp.up_proj.weight": ("BF16", (4, 2))},
        ],
    )
    layers = list(csv.reader(io.StringIO(hfinspect(tmp_path, "--by", "layer", "-f", "csv").out)))
    assert [row[0] for row in layers[1:]] == ["model.layers.0", "model.layers.1", "total"]
    files = list(csv.reader(io.StringIO(hfinspect(tmp_path, "--by", "file", "-f", "csv").out)))
    assert [row[1] for row in files[1:]] == ["8", "8", "16"]


def test_no_tensor_matches() -> None:
    assert "No tensor name matches" in hfinspect("tensors", BLOOM, "--match", "x").out
    assert len(hfinspect("tensors", BLOOM, "--match", "x", "-f", "csv").out.splitlines()) == 1


def test_tensors_matches_globs() -> None:
    done = hfinspect("tensors", BLOOM, "--match", "transformer.h.3.*.bias", "-f", "csv")
    names = [row["name"] for row in csv.DictReader(io.StringIO(done.out))]
    assert names and all(n.startswith("transformer.h.3.") and n.endswith(".bias") for n in names)


def test_tree_folds_layers() -> None:
    out = hfinspect("tree", BLOOM).out
    assert "(0-23): 24 x BloomBlock(" in out
    assert "(word_embeddings): Embedding(46145, 2048)" in out


def test_several_models_are_compared() -> None:
    done = hfinspect(BLOOM, "fixtures/models/gpt2")
    assert done.code == 0
    assert "1,303,111,680" in done.out and "124,439,808" in done.out


# ---- how it ends


@pytest.mark.parametrize(
    "arguments",
    [
        ("--no-such-option", BLOOM),
        ("inspect",),
        ("tensors",),
        (BLOOM, "--format", "xml"),
        (BLOOM, "--by", "moon"),
        (BLOOM, "--set", "nonsense"),
        (BLOOM, "--source", "moon"),
        ("org/na me",),
        ("https://example.com/a/b",),
    ],
)
def test_usage_errors_are_2(arguments: tuple[str, ...]) -> None:
    assert hfinspect(*arguments).code == 2


@pytest.mark.posix
def test_errors_are_a_sentence_and_a_hint(tmp_path: Path) -> None:
    write_config(tmp_path / "type", {"model_type": "lama"})
    write_config(tmp_path / "key", {"model_type": "llama", "hidden_size": "wide"})
    write_config(tmp_path / "neither", {"vocab_size": 3})
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "config.json").write_text("{")
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "config.json").write_text("[]")
    (tmp_path / "folder" / "config.json").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.safetensors")
    for name, code, told in (
        ("type", 5, "llama"),
        ("key", 4, "hidden_size"),
        ("text", 4, "config.json"),
        ("list", 4, "not a JSON object"),
        ("neither", 4, "neither model_type nor architectures"),
        ("empty", 3, "neither weights nor a config.json"),
        ("cut.safetensors", 4, "safetensors"),
        ("folder", 3, "neither weights"),
        ("nowhere", 3, "does not exist"),
        ("dangling", 3, "does not exist"),
        ("pipe.safetensors", 3, "no regular file"),
        ("C:\\models\\x", 3, "does not exist"),
    ):
        done = hfinspect(tmp_path / name)
        assert (done.code, done.out) == (code, ""), name
        assert done.err.startswith(f"error: {tmp_path / name}") and told in done.err, name
        assert [line.partition(":")[0] for line in done.err.splitlines()] == ["error", "hint"], name


@pytest.mark.posix
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_directory(tmp_path: Path) -> None:
    """The same for one whose names may be read and no more, and for a file that is in one: it is
    not taken for a repo."""
    (tmp_path / "names").mkdir(mode=0o744)
    (tmp_path / "names" / "config.json").write_text("{}")
    for folder, mode in (("locked", 0o000), ("names", 0o444)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder).chmod(mode)
    for target in ("locked", "names", "locked/config.json", "names/config.json"):
        done = hfinspect(target, cwd=tmp_path)
        assert (done.code, "may not be read" in done.err) == (3, True), target
    (tmp_path / "locked").chmod(0o755)
    (tmp_path / "names").chmod(0o755)


def test_json_mode_gives_errors_as_json(tmp_path: Path) -> None:
    done = hfinspect(tmp_path / "nowhere", "--format", "json")
    assert done.code == 3
    assert json.loads(done.out)["error"]["kind"] == "entry_not_found"


@pytest.mark.parametrize(
    "option", [("--format", "json"), ("-f", "json"), ("-fjson",), ("--format=json",)]
)
def test_the_parsers_errors_too(option: tuple[str, ...]) -> None:
    for arguments in ((BLOOM, "--no-such-option"), ("inspect",), ("tensors", BLOOM, "extra")):
        done = hfinspect(*arguments, *option)
        assert (done.code, json.loads(done.out)["error"]["kind"]) == (2, "usage"), arguments
        assert done.err.startswith("error: hfinspect ") and "hint: see hfinspect" in done.err


def test_json_is_not_seen_where_it_was_not_asked() -> None:
    """A model's name that ends in -f is no option."""
    assert hfinspect("./x-fjson").out == ""
    assert hfinspect("./x-f", "./json").out == ""


def test_a_config_by_its_name(tmp_path: Path) -> None:
    write_config(tmp_path, {"model_type": "gpt2", "n_layer": 1})
    assert "only config.json" in hfinspect(tmp_path / "config.json").out
    done = hfinspect(tmp_path / "config.json", "--source", "checkpoint")
    assert (done.code, "is a config" in done.err) == (2, True)


# ---- where output goes


@pytest.mark.posix
def test_standard_output_that_takes_nothing() -> None:
    """A full disk and a closed descriptor are errors like others; nothing is said twice."""
    for command, redirect, told in (
        (f"{BLOOM} -f json", ">/dev/full", "No space left"),
        (BLOOM, ">&-", "is closed"),
        ("--version", ">/dev/full", "No space left"),
        ("--help", ">/dev/full", "No space left"),
    ):
        done = subprocess.run(
            f"{sys.executable} -m hfinspect {command} {redirect}",
            shell=True,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3
        assert done.stderr.startswith("error: standard output: ") and told in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.posix
def test_standard_error_that_takes_nothing() -> None:
    """The exit code still says so."""
    with Path("/dev/full").open("w") as full, contextlib.redirect_stderr(full):
        assert run(["./nowhere"]) == 3
    with contextlib.redirect_stderr(None):
        assert run(["./nowhere"]) == 3


@pytest.mark.posix
def test_output_onto_what_is_no_file(tmp_path: Path) -> None:
    """A device is written to, not replaced; a link's target is replaced, not the link."""
    device = Path("/dev/null")
    assert hfinspect(BLOOM, "--output", device).code == 0
    assert device.is_char_device()
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    assert hfinspect(BLOOM, "--output", tmp_path / "link.txt").code == 0
    assert (tmp_path / "link.txt").is_symlink()
    assert "BloomForCausalLM" in (tmp_path / "real.txt").read_text()
    done = hfinspect(BLOOM, "--output", tmp_path)
    assert (done.code, "is a directory" in done.err) == (3, True)
    assert {path.name for path in tmp_path.iterdir()} == {"real.txt", "link.txt"}


@pytest.mark.posix
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 250)
    file.write_text("old")
    file.chmod(0o600)
    assert hfinspect(BLOOM, "--output", file).code == 0
    assert "BloomForCausalLM" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.posix
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_in_a_folder_that_takes_no_new_ones(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("old")
    tmp_path.chmod(0o555)
    assert hfinspect(BLOOM, "--output", file).code == 0
    tmp_path.chmod(0o755)
    assert "BloomForCausalLM" in file.read_text()


def test_foreign_text_reaches_no_terminal_raw(tmp_path: Path) -> None:
    """Escape sequences and bidirectional marks in names and configs."""
    evil = "evil\x1b[31m\u202e\x07"
    write_safetensors(tmp_path / "model.safetensors", {f"{evil}.weight": ("F32", (2,))})
    write_config(tmp_path, {"model_type": evil, "architectures": [evil]})
    for command in ((), ("tensors",)):
        for format_name in ("table", "csv", "markdown", "json"):
            done = hfinspect(*command, tmp_path, "-f", format_name)
            assert done.code == 0
            assert not {"\x1b", "\u202e", "\x07"} & set(done.out + done.err), format_name


@pytest.mark.posix
def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m hfinspect tensors {BLOOM}; echo $? >&2"
    done = subprocess.run(
        f"({command}) | head -1", shell=True, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split()[0], done.stderr) == (BLOOM, "0\n")
    version = f"({sys.executable} -m hfinspect --version; echo $? >&2) | exec sleep 0"
    done = subprocess.run(
        version, shell=True, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == "0\n"


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for verb in (api.inspect, api.audit):
        with pytest.raises(HfinspectError, match=r"^\.: does not exist"):
            verb(".")


def test_help_has_an_example_for_each_command() -> None:
    assert "Example: hfinspect" in hfinspect("--help").out
    for command in COMMANDS:
        assert "Example: hfinspect" in hfinspect(command, "--help").out, command


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("hfinspect te", ["tensors"]),
        ("hfinspect org/x --by la", ["layer"]),
        ("hfinspect tree --rev", ["--revision"]),
        ("hfinspect --fo", ["--format"]),
    ],
)
def test_completion(words: str, offered: list[str]) -> None:
    """Commands, the values of the command that is meant, options."""
    count = str(len(words.split()) - 1)
    env = {"_HFINSPECT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    assert hfinspect(env=env).out.split() == offered


def test_both_names_of_the_program() -> None:
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        [scripts / "hf-inspect", "--no-such-option"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr[:20]) == (2, "error: hf-inspect in")
    env = {"_HFINSPECT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "hfinspect te"}
    done = subprocess.run(
        [scripts / "hfinspect"],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert '"tensors"' in done.stdout


@pytest.mark.posix
def test_ctrl_c(hub: HubServer, tmp_path: Path) -> None:
    """A server that keeps silent is not waited for."""
    hub.fail("stall", "org/slow", seconds=60)
    hub.add("org/slow", {"config.json": b"{}"})
    done = subprocess.Popen(
        [sys.executable, "-m", "hfinspect", "org/slow"],
        cwd=ROOT,
        env=hub.env(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not hub.meter.requests:
        time.sleep(0.01)
    done.send_signal(signal.SIGINT)
    out, err = done.communicate(timeout=10)
    assert (done.returncode, out, err) == (130, "", "interrupted\n")


# ---- the Hub


def test_a_hub_repo(hub: HubServer, tmp_path: Path) -> None:
    tensors = {"model.embed_tokens.weight": ("BF16", (8, 4)), "lm_head.weight": ("BF16", (8, 4))}
    config = json.dumps({"model_type": "gpt2"}).encode()
    repo = hub.add("org/tiny", {"config.json": config, "model.safetensors": weights(tensors)})
    done = process(f"{hub.endpoint}/org/tiny", "-f", "json", env=hub.env(tmp_path))
    assert done.code == 0, done.err
    document = json.loads(done.out)
    conforms(document)
    assert (document["parameters"], document["origin"]["commit"]) == (64, repo.sha)
    for target in ("org/tiny", "org/tiny@main", "hf://org/tiny", f"hf://org/tiny@{repo.sha}"):
        same = api.inspect(target, endpoint=hub.endpoint, token=False)
        assert (same.parameters, same.commit) == (64, repo.sha)
    alone = api.inspect("hf://org/tiny/config.json", endpoint=hub.endpoint, token=False)
    assert (alone.source, alone.parameters) == ("config", 124_439_808)


def test_a_name_without_a_slash_is_a_repo(hub: HubServer) -> None:
    hub.add("gpt2", {"config.json": b'{"model_type": "gpt2"}'})
    inspection = api.inspect("gpt2", endpoint=hub.endpoint, token=False)
    assert (inspection.origin.kind, inspection.parameters) == ("hub", 124_439_808)


def test_a_local_path_wins_over_a_repo(hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/tiny", {"config.json": b'{"model_type": "gpt2"}'})
    write_config(tmp_path / "org" / "tiny", {"model_type": "bert"})
    done = hfinspect("org/tiny", cwd=tmp_path)
    assert "local directory" in done.out and "BertForMaskedLM" in done.out
    assert hub.meter.count("hub") == 0


def test_hub_errors(hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/gated", {"config.json": b"{}"}, gated=True)
    hub.add("org/open", {"config.json": b'{"model_type": "gpt2"}'})
    env = hub.env(tmp_path)
    hub.add("org/broken", {"config.json": b"{"})
    with pytest.raises(HfinspectError, match=r"^org/broken: config\.json: is not JSON"):
        api.inspect("org/broken", endpoint=hub.endpoint, token=False)
    with pytest.raises(HfinspectError) as error:
        api.inspect("org/missing@v1", endpoint=hub.endpoint, token=False)
    assert str(error.value.hint).startswith("there is no local path org/missing@v1 either")
    for target, kind in (
        ("org/missing", "repo_not_found"),
        ("org/gated", "gated"),
        ("org/open@nope", "revision_not_found"),
    ):
        with pytest.raises(HfinspectError) as error:
            api.inspect(target, endpoint=hub.endpoint, token=False)
        assert (error.value.kind, error.value.exit_code) == (kind, 3), target
        assert error.value.hint
    offline = process("org/open", "-f", "json", env={**env, "HF_HUB_OFFLINE": "1"})
    assert json.loads(offline.out)["error"]["kind"] == "offline"
