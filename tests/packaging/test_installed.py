"""The package from its wheel, as a stranger has it (``pytest -m install``)."""

from __future__ import annotations

import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ..cli.program import ROOT
from .built import call, distributions, environment, installed, scripts

__all__ = ["distributions", "installed"]
pytestmark = pytest.mark.install
MODEL = ROOT / "fixtures" / "models" / "gpt2"
USER = """
from collections.abc import Iterator

import hfinspect


def sizes(names: list[str]) -> Iterator[tuple[str, int | None]]:
    for result in hfinspect.scan(names):
        if isinstance(result, hfinspect.Failure):
            continue
        yield result.target, result.parameters


found: hfinspect.Inspection = hfinspect.inspect({"model_type": "gpt2"})
layers: int | None = found.facts.layers
needed: hfinspect.Memory = hfinspect.memory({"model_type": "gpt2"}, context="1k")
"""


def test_sizes(distributions: tuple[Path, Path]) -> None:
    wheel, sdist = distributions
    # 1 MB of it are families, 0.25 MB of these traces; verbs of 2026 brought it over two.
    assert wheel.stat().st_size < 2_300_000
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        # Recordings are 20 MB; families that are data are 2.6 MB of what is there.
        assert sum(member.size for member in archive) < 13_000_000
    assert not [name for name in names if name.startswith("fixtures/oracle/recorded")]
    assert {"README.md", "LICENSE", "action.yml", "skills/hfinspect/SKILL.md"} <= set(names)


def test_the_wheel_holds_the_package_alone(distributions: tuple[Path, Path]) -> None:
    names = zipfile.ZipFile(distributions[0]).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"hfinspect"}
    assert "hfinspect/py.typed" in names
    assert "hfinspect/architectures/traced.pack" in names
    assert not [name for name in names if "/traced/" in name]


def test_a_family_that_is_data(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"_class_name": "AutoencoderTiny"}')
    program = scripts(installed) / "hfinspect"
    document = json.loads(call(program, tmp_path, "--format", "json", cwd=tmp_path))
    assert document["parameters"] == 2_445_063
    assert "AutoencoderTiny" in call(program, "architectures", "AutoencoderTiny", cwd=tmp_path)


def test_both_programs(installed: Path, tmp_path: Path) -> None:
    for name in ("hfinspect", "hf-inspect"):
        program = scripts(installed) / name
        assert call(program, "--version", cwd=tmp_path).startswith("hfinspect ")
        document = json.loads(call(program, MODEL, "--format", "json", cwd=tmp_path))
        assert document["parameters"] == 124_439_808
        assert call(program, "--help", cwd=tmp_path).count(f"Usage: {name} ") == 1


def test_nothing_undeclared(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """Without what it depends on the package is there and says what is missing; with exactly what
    its metadata declares, all that is imported without an extra can be."""
    bare = environment(tmp_path / "bare", "--no-deps", distributions[0])
    python = scripts(bare) / "python"
    assert call(python, "-c", "import hfinspect; print(hfinspect.__version__)", cwd=tmp_path)
    listed = call(python, "-m", "pip", "list", "--format", "json", cwd=tmp_path)
    assert {row["name"] for row in json.loads(listed)} <= {"hfinspect", "pip", "setuptools"}
    missing = call(python, "-m", "pip", "check", cwd=tmp_path, code=1)
    for name in ("filelock", "huggingface-hub", "platformdirs", "safetensors", "tabulate", "typer"):
        assert f"requires {name}" in missing


@pytest.mark.posix
@pytest.mark.parametrize("name", ["hfinspect", "hf-inspect"])
def test_completion_installs(installed: Path, tmp_path: Path, name: str) -> None:
    """In bash: the file is written, sourced, and completes a command."""
    home = {
        "HOME": str(tmp_path),
        "SHELL": "/bin/bash",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    program = scripts(installed) / name
    call(program, "--install-completion", "bash", cwd=tmp_path, env=home)
    (file,) = tmp_path.rglob(f"*{name}*.sh")
    lines = (
        f'export PATH="{scripts(installed)}:$PATH"; source "{file}"; '
        f"COMP_WORDS=({name} mem); COMP_CWORD=1; "
        f'$(sed -n "s/() {{//p" "{file}") {name}; echo ${{COMPREPLY[@]}}'
    )
    assert call("bash", "-c", lines, cwd=tmp_path, env=home).split() == ["memory"]


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types_are_seen_from_outside(installed: Path, tmp_path: Path, checker: str) -> None:
    program = tmp_path / "user.py"
    program.write_text(USER, encoding="utf-8")
    python = scripts(installed) / "python"
    options: list[str | Path]
    if checker == "mypy":
        options = ["--strict", "--python-executable", python, "--cache-dir", tmp_path / "cache"]
    else:
        options = ["--pythonpath", python]
    call(sys.executable, "-m", checker, *options, program, cwd=tmp_path)
    program.write_text(f"{USER}\nwrong: str = found.parameters\n", encoding="utf-8")
    assert "error" in call(sys.executable, "-m", checker, *options, program, cwd=tmp_path, code=1)


def test_uvx(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """``uvx hfinspect MODEL``, with the wheel in place of the index's."""
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "uv",
        "tool",
        "run",
        "--from",
        distributions[0],
        "hfinspect",
    ]
    assert "124 M parameters" in call(*command, MODEL, cwd=tmp_path)


def test_the_source_distribution_passes_its_tests(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    """Those that need the recordings are skipped, and say where these are."""
    call(sys.executable, "-m", "tarfile", "-e", distributions[1], tmp_path, cwd=tmp_path)
    (tree,) = (path for path in tmp_path.iterdir() if path.is_dir())
    venv = environment(tmp_path / "venv", f"{tree}[test]")
    done = call(scripts(venv) / "python", "-m", "pytest", "-n", "2", "-rs", cwd=tree)
    assert "no recordings in a source distribution: a clone of the repository at v" in done
