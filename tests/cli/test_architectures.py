"""``hfinspect architectures``, and how commands are called."""

from __future__ import annotations

import json

import pytest

from hfinspect.cli.fast_path import COMMANDS

from .program import hfinspect


def test_a_text_that_nothing_contains() -> None:
    done = hfinspect("architectures", "zzz")
    assert (done.code, done.out) == (5, "")
    assert "'zzz': is in no model type and no class of the catalog" in done.err
    assert "nearest known: llama" in hfinspect("architectures", "llma").err
    error = json.loads(hfinspect("architectures", "llma", "-f", "json").out)["error"]
    assert error["kind"] == "unknown_architecture"


def test_a_part_of_a_name_in_any_case() -> None:
    done = hfinspect("architectures", "BLOOM", "-f", "csv")
    assert done.code == 0
    assert "BloomForCausalLM" in done.out


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("inspect", "MODEL..."),
        ("tensors", "MODEL"),
        ("tree", "MODEL"),
        ("explain", "MODEL"),
        ("compare", "A B..."),
        ("audit", "[TARGET...]"),
        ("scan", "[LIST]"),
        ("architectures", "[TEXT]"),
        ("cache", "info|clear"),
    ],
)
def test_usage_lines(command: str, usage: str) -> None:
    out = hfinspect(command, "--help").out
    first = out.strip().splitlines()[0]
    assert "list[" not in out
    assert first == f"Usage: hfinspect {command} [OPTIONS] {usage}"
    assert command in COMMANDS


def test_a_name_of_timm_is_found_among_its_familys() -> None:
    done = hfinspect("architectures", "wide_resnet50")
    assert done.code == 0
    assert "wide_resnet50_2" in done.out
    assert "ecaresnet" not in done.out.split("wide_resnet50_2")[0]
