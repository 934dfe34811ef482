"""What a person types first, and what the answer names: help, extensions, values, both sides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hfinspect
from hfinspect.cli.fast_path import COMMANDS
from hfinspect.errors import ConfigError

from ..auditing import sound
from .program import hfinspect as program

GPT2 = "fixtures/models/gpt2"


@pytest.mark.parametrize("columns", ["40", "80", "120"])
def test_help_lines_are_whole(columns: str) -> None:
    shown = program("--help", env={"COLUMNS": columns}).out
    assert "..." not in shown.partition("Commands:")[2]


def test_help_is_a_command() -> None:
    assert program("help").out == program("--help").out
    assert program("help", "memory").out == program("memory", "--help").out


def test_an_extension_without_a_format_is_an_error(tmp_path: Path) -> None:
    done = program(GPT2, "-o", tmp_path / "z.png")
    assert done.code == 2
    assert "hfinspect does not write .png files, expected a name that ends with .json" in done.err
    assert "hint: did you mean" in done.err
    assert "z.svg?" in done.err
    assert "hint: hfinspect audit --help" in program("audit", GPT2, "-o", tmp_path / "z.png").err
    assert not (tmp_path / "z.png").exists()
    assert program(GPT2, "-f", "json", "-o", tmp_path / "z.log").code == 0


def test_hints_name_the_command_and_the_nearest_value() -> None:
    assert "hint: did you mean layer?" in program(GPT2, "--by", "layers").err
    done = program("explain", GPT2, "--depth", "none")
    assert "hint: hfinspect explain --help lists its options" in done.err


def test_a_comparison_names_both_sides() -> None:
    shown = program("compare", GPT2, "fixtures/models/openai-gpt", env={"COLUMNS": "120"}).out
    for line in re.findall(r"^(?:config key|  +tensors) .*$", shown, re.MULTILINE):
        assert GPT2 in line
        assert "fixtures/models/openai-gpt" in line


def test_findings_of_equal_tensors_are_one_row(tmp_path: Path) -> None:
    """And a tensor that is in no file names none."""
    kept = {name: one for name, one in sound.half().items() if ".self_attn.q_proj" not in name}
    for name, content in {**sound.single(), "model.safetensors": sound.safetensors(kept)}.items():
        (tmp_path / name).write_bytes(content)
    done = program("audit", tmp_path, env={"COLUMNS": ""})
    lines = done.out.splitlines()
    (at,) = [at for at, line in enumerate(lines) if "HI301" in line]
    assert "4 tensors are missing" in lines[at]
    assert lines[at + 1].strip() == "model.layers.[0-3].self_attn.q_proj.weight"
    assert "found        1 error" in done.out
    assert program("audit", tmp_path, "-f", "csv").out.count("HI301") == 1


def test_a_misspelt_key_of_a_mapping() -> None:
    with pytest.raises(ConfigError, match="config key hidden_sizes: is unknown") as caught:
        hfinspect.predict({"model_type": "bert", "hidden_sizes": 128})
    assert caught.value.hint == "did you mean hidden_size?"
    hfinspect.predict({"model_type": "bert", "hidden_size": 768, "made_by": "me"})


def test_memory_suggests_its_own_word_for_gpu() -> None:
    with pytest.raises(TypeError, match="did you mean 'on'"):
        hfinspect.memory({"model_type": "gpt2"}, gpu="24GB")  # type: ignore[call-arg]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_can_be_quiet(command: str) -> None:
    assert re.search(r"^  -q, --quiet ", program(command, "--help").out, re.MULTILINE)


def test_quiet_reads_without_a_line() -> None:
    assert program("inspect", GPT2, "-q").out == program("inspect", GPT2).out
