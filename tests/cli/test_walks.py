"""Five people walk through their commands at 40, 80 and 120 columns and in a pipe.

Nothing is wider than the terminal, the first lines have the answer, exit codes are those of the
documents, and no screen shows where the fixtures lie.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from ..auditing import sound
from .program import ROOT, Result
from .program import hfinspect as program

MODELS = "fixtures/models"
LLAMA, GPT2, GPT = (f"{MODELS}/{name}" for name in ("llama-3-8b", "gpt2", "openai-gpt"))
BERT = f"{MODELS}/bert-base-uncased"
WIDTHS = (40, 80, 120)
#: Lines of a wide screen within which the answer stands; a narrow one breaks each into several.
FIRST = 3


class Step(NamedTuple):
    """A command, its exit code, and words of the answer."""

    arguments: str
    code: int
    answer: str


#: A person with a card.
CARD = (
    Step(f"memory {LLAMA} --on 4090", 0, "fits: 17.8 GB at 8,192 tokens"),
    Step(f"memory {LLAMA} --on 12GB", 1, "does not fit: 17.8 GB at 8,192 tokens"),
    Step(f"memory {MODELS}/mixtral-8x7b", 0, "smallest card that fits: H200"),
    Step(f"memory {MODELS}/deepseek-v3 --on 8xH100", 1, "does not fit: 182 GB"),
    Step(f"memory {LLAMA} --train lora --on 24GB", 1, "does not fit"),
    Step(f"memory {LLAMA} --quantize q8_0,awq", 0, "8.03 B parameters"),
    Step(f"memory {LLAMA} --details", 0, "17.8 GB at 8,192 tokens"),
    Step("memory --on list", 0, "device names for --on"),
)
#: An engineer who audits before an upload; ``whole`` and ``broken`` are made by the test.
ENGINEER = (
    Step("audit whole", 0, "whole"),
    Step("audit broken", 1, "HI301"),
    Step("audit broken --select HI3", 1, "HI301"),
    Step("audit whole broken", 1, "whole"),
    Step("inspect broken", 0, "parameters"),
    Step("compare whole broken", 1, "different in structure"),
    Step("audit --list", 0, "HI101"),
)
#: A researcher who scans many.
RESEARCHER = (
    Step("scan list.txt --format table", 0, "parameters"),
    Step("scan list.txt --format table --on 24GB", 0, "fits"),
    Step("scan missing.txt", 3, "missing.txt: does not exist"),
)
#: A student who counts by hand.
STUDENT = (
    Step(BERT, 0, "110 M parameters"),
    Step(f"explain {BERT}", 0, "109,514,298 (110 M) parameters"),
    Step(f"explain {GPT2} --against 117M", 0, "best reading"),
    Step(f"explain {GPT2} --cache", 0, "36.9 kB per token"),
    Step(f"tree {BERT}", 0, "110 M parameters"),
    Step(f"tensors {BERT}", 0, "110 M parameters"),
    Step(f"compare {GPT2} {GPT}", 1, "different in structure"),
    Step(f"{BERT} --set num_hidden_layers=1", 0, "parameters"),
)
#: A newcomer.
NEWCOMER = (
    Step("help", 0, "Usage: hfinspect"),
    Step("help memory", 0, "Usage: hfinspect memory"),
    Step("serve --help", 0, "Usage: hfinspect serve"),
    Step("architectures", 0, "model_type"),
    Step("memry x", 2, "did you mean hfinspect memory?"),
    Step("not/a/model", 3, "not/a/model: does not exist"),
)
PEOPLE = {
    "card": CARD,
    "engineer": ENGINEER,
    "researcher": RESEARCHER,
    "student": STUDENT,
    "newcomer": NEWCOMER,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where they stand: a checkpoint, the same without a tensor, a list, the fixtures."""
    place = tmp_path_factory.mktemp("walk")
    sound.write(sound.single(), place / "whole")
    kept = {name: one for name, one in sound.half().items() if ".self_attn.q_proj" not in name}
    sound.write({**sound.single(), "model.safetensors": sound.safetensors(kept)}, place / "broken")
    (place / "fixtures").symlink_to(ROOT / "fixtures")
    (place / "list.txt").write_text(f"{GPT2}\n{LLAMA}\n{BERT}\n")
    return place


def _walk(step: Step, folder: Path, columns: int | None) -> Result:
    env = {"COLUMNS": ""} if columns is None else {}
    return program(*step.arguments.split(), cwd=folder, columns=columns, env=env)


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("person", PEOPLE)
def test_on_a_terminal(person: str, columns: int, folder: Path) -> None:
    for step in PEOPLE[person]:
        done = _walk(step, folder, columns)
        where = (step.arguments, columns)
        assert done.code == step.code, (where, done.err)
        assert [line for line in done.out.splitlines() if len(line) > columns] == [], where
        shown = done.out or done.err
        lines = [line for line in shown.splitlines() if line.strip()]
        # As many characters as there are in the first lines of a wide terminal.
        first = " ".join(" ".join(lines[: FIRST * max(WIDTHS) // columns]).split())
        assert step.answer in first, (where, first)


@pytest.mark.parametrize("person", PEOPLE)
def test_in_a_pipe(person: str, folder: Path) -> None:
    """Without colours, without a line that redraws, and the answer is the same."""
    for step in PEOPLE[person]:
        done = _walk(step, folder, None)
        assert done.code == step.code, (step.arguments, done.err)
        assert step.answer in " ".join((done.out or done.err).split()), step.arguments
        assert "\033" not in done.out + done.err, step.arguments
        assert "\r" not in done.out + done.err, step.arguments


@pytest.mark.parametrize("person", PEOPLE)
def test_no_screen_says_where_the_fixtures_lie(person: str, folder: Path) -> None:
    """But for the line of a local directory's path."""
    for step in PEOPLE[person]:
        done = _walk(step, folder, 80)
        lines = (done.out + done.err).splitlines()
        shown = [line for line in lines if not line.startswith("path ")]
        assert not [line for line in shown if str(ROOT) in line], step.arguments


def test_a_pipe_of_a_scan_is_one_row_of_json_per_model(folder: Path) -> None:
    done = program("scan", "list.txt", cwd=folder, env={"COLUMNS": ""})
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["target"] for row in rows] == [GPT2, LLAMA, BERT]
    assert [row["parameters"] for row in rows] == [124_439_808, 8_030_261_248, 109_514_298]


def test_a_verdict_stays_within_its_lines() -> None:
    """Every verdict of a device is the third line of a screen at the latest."""
    for device, answer in (("80GB", "fits"), ("8GB", "does not fit")):
        lines = program("memory", LLAMA, "--on", device, columns=120).out.splitlines()
        assert any(line.startswith(f"{answer}: ") for line in lines[:FIRST]), lines[:FIRST]
