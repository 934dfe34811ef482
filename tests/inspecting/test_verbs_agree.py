"""Whatever is done to a sound checkpoint, no verb says fits or yes where the audit has an error of
loading."""

from __future__ import annotations

import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.errors import HfinspectError

from ..auditing.recipes import Recipe, build, recipes
from ..auditing.sound import BASES, made, write
from ..cli.program import hfinspect as program
from ..examples import examples

#: Errors in the first three groups that no loader meets: values that only a deep audit reads, holes
#: of sparse files, ids of tokens, and the comparison with a reference.
NOT_OF_LOADING = frozenset(
    {"HI106", "HI107", "HI141", "HI142", "HI143", "HI314", "HI329", "HI331", "HI332", "HI333"}
)
BROKEN = [recipe for recipe in recipes("broken") if not recipe.deep and not recipe.reference]
PAIRS = [(a, b) for a, b in combinations(BROKEN, 2) if a.goes_with(b)]


def stops_loading(result: hfinspect.AuditResult) -> bool:
    """Whether the audit has an error of loading, in the copy that loaders take."""
    return any(
        finding.code[:3] in ("HI1", "HI2", "HI3")
        and finding.code not in NOT_OF_LOADING
        and not _of_another_copy(finding)
        for finding in result.failing()
    )


def _of_another_copy(finding: hfinspect.AuditFinding) -> bool:
    """A copy next to safetensors, which no loader of the folder takes."""
    return finding.code == "HI127" and not (finding.file or "").endswith(".safetensors")


def answers(folder: Path) -> dict[str, object]:
    """What the verbs say: an error counts as no."""
    said: dict[str, object] = {}
    try:
        said["fits"] = hfinspect.memory(folder, on="80GB").fits
    except HfinspectError:
        said["fits"] = None
    try:
        said["loads"] = hfinspect.runs(folder).answer
    except HfinspectError:
        said["loads"] = "no"
    try:
        said["whole"] = hfinspect.inspect(folder).whole
    except HfinspectError:
        said["whole"] = False
    return said


def check(folder: Path) -> None:
    result = hfinspect.audit(folder)
    if not stops_loading(result):
        return
    said = answers(folder)
    assert said["fits"] is not True, result.findings
    assert said["loads"] != "yes", result.findings
    assert said["whole"] is False, result.findings
    assert result.whole is False, result.findings


@pytest.mark.parametrize("recipe", BROKEN, ids=str)
def test_of_each_kind_of_damage(recipe: Recipe, tmp_path: Path) -> None:
    check(build(tmp_path / "model", recipe))


@settings(max_examples=examples(20))
@given(pair=st.sampled_from(PAIRS))
def test_of_two_kinds_at_once(pair: tuple[Recipe, Recipe]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(build(Path(folder) / "model", *pair))


@pytest.mark.parametrize("base", BASES)
def test_a_sound_checkpoint_is_whole(base: str, tmp_path: Path) -> None:
    folder = write(made(base), tmp_path)
    assert answers(folder)["whole"] is not False
    assert hfinspect.audit(folder).whole is not False


def test_exit_codes_of_a_missing_shard(tmp_path: Path) -> None:
    files = made("sharded")
    del files["model-00002-of-00004.safetensors"]
    folder = write(files, tmp_path)
    shown = program("memory", folder, "--on", "80GB")
    assert shown.code == 6
    assert shown.out.splitlines()[2] == "not whole: 1 of 4 shards is missing (5.18 kB)"
    assert program("memory", folder).code == 6
    assert program("memory", folder, "--on", "1MB").code == 1
    engines = program("runs", folder)
    assert engines.code == 1
    assert "no: not as it is: 1 of 4 shards is missing" in engines.out
    assert "hf download ORG/NAME --include model-00002-of-00004.safetensors" in engines.out
    for verb in ("inspect", "audit", "explain", "runs"):
        lines = program(verb, folder).out.splitlines()
        assert any(line.startswith("not whole: ") for line in lines[:4]), verb


def test_the_whole_is_sized_by_config_or_index(tmp_path: Path) -> None:
    sound = hfinspect.memory(write(made("sharded"), tmp_path / "a"), on="80GB")
    files = made("sharded")
    del files["model-00002-of-00004.safetensors"]
    damaged = hfinspect.memory(write(files, tmp_path / "b"), on="80GB")
    assert damaged.sized_by == "config"
    assert damaged.weights.nbytes == sound.weights.nbytes
    assert (damaged.fits, damaged.whole) == (None, False)
    assert [at.fits for at in damaged.at] == [None] * len(damaged.at)
    del files["config.json"]
    without = hfinspect.memory(write(files, tmp_path / "c"), on="80GB")
    assert without.sized_by == "index"
    assert without.weights.nbytes == sound.weights.nbytes
