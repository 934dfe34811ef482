"""What a repo of several parts declares, next to what lies there: every command says the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.inspecting.judging.pipeline_seams import SEAMS

from .test_pipelines import write_pipeline


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def errors(root: Path) -> list[tuple[str, str]]:
    """(kind, text) as an inspection has them; an audit has as many under its codes."""
    problems = [
        problem
        for problem in hfinspect.inspect(root).problems
        if problem.severity == "error" and problem.kind in ("parts_differ", "missing_part")
    ]
    findings = hfinspect.audit(root, select=["HI344", "HI350"]).failing()
    assert len(findings) == len(problems)
    return [(p.kind, p.text) for p in problems]


def test_a_sound_pipeline_has_none(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    assert errors(root) == []
    assert hfinspect.inspect(root).whole is True


@pytest.mark.parametrize("part", ["text_encoder", "text_encoder_2", "unet", "vae"])
@pytest.mark.parametrize("config", [True, False])
def test_without_a_part_the_total_is_unknown(tmp_path: Path, part: str, config: bool) -> None:
    root = write_pipeline(tmp_path)
    if config:
        for path in (root / part).glob("*.safetensors"):
            path.unlink()
    else:
        shutil.rmtree(root / part)
    [(kind, text)] = errors(root)
    assert kind == "missing_part"
    assert text.startswith(part)
    inspection = hfinspect.inspect(root)
    assert (inspection.parameters, inspection.nbytes, inspection.whole) == (None, None, False)


@pytest.mark.parametrize("part", ["scheduler", "tokenizer"])
def test_settings_are_parts_as_well(tmp_path: Path, part: str) -> None:
    root = write_pipeline(tmp_path)
    shutil.rmtree(root / part)
    [(kind, text)] = errors(root)
    assert (kind, text) == ("missing_part", f"{part} is not there: its folder is missing")


@pytest.mark.parametrize(
    ("part", "values", "other"),
    [
        ("vae", {"latent_channels": 16}, "unet does not fit vae"),
        ("text_encoder", {"hidden_size": 28}, "unet does not fit text_encoder and text_encoder_2"),
    ],
)
def test_parts_that_do_not_fit(
    tmp_path: Path, part: str, values: dict[str, Any], other: str
) -> None:
    root = write_pipeline(tmp_path)
    change(root / part / "config.json", **values)
    texts = [text for kind, text in errors(root) if kind == "parts_differ"]
    assert any(text.startswith(other) for text in texts), texts


def test_a_class_that_the_config_does_not_name(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    change(root / "model_index.json", vae=["diffusers", "UNet2DConditionModel"])
    [(kind, text)] = errors(root)
    assert kind == "parts_differ"
    assert text.startswith("vae is a UNet2DConditionModel by model_index.json and a AutoencoderKL")


def test_a_pipeline_of_no_known_class_has_no_seams(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    change(root / "vae" / "config.json", latent_channels=16)
    change(root / "model_index.json", _class_name="PipelineOfTomorrow")
    assert not [text for kind, text in errors(root) if kind == "parts_differ"]


def test_every_seam_names_parts_and_ways() -> None:
    for seams in SEAMS.values():
        assert all(seam.part and seam.size and seam.ways for seam in seams)
