"""Our files by the schemas of those who read them (``pytest -m install``).

SARIF by the official one; the action, the workflows and the hooks by theirs. The schemas come in
packages; we ship no copy.
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
from pathlib import Path

import jsonschema
import pytest

from ..cli.program import ROOT, hfinspect
from .built import call

pytestmark = pytest.mark.install


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-actions", ["action.yml"]),
        ("vendor.github-workflows", [".github/workflows/ci.yml", ".github/workflows/release.yml"]),
    ],
)
def test_actions_and_workflows(schema: str, files: list[str]) -> None:
    paths = [ROOT / file for file in files]
    call(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *paths, cwd=ROOT)


def test_hooks(tmp_path: Path) -> None:
    manifest = ROOT / ".pre-commit-hooks.yaml"
    call(sys.executable, "-m", "pre_commit", "validate-manifest", manifest, cwd=tmp_path)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm brings the schema's package")
def test_sarif(tmp_path: Path) -> None:
    """The schema that OASIS publishes, as the package @microsoft/jest-sarif has it."""
    call("npm", "pack", "--silent", "@microsoft/jest-sarif@1.0.0-beta.0", cwd=tmp_path)
    (package,) = tmp_path.glob("*.tgz")
    with tarfile.open(package) as archive:
        file = archive.extractfile("package/lib/schemas/sarif-2.1.0-rtm.5.json")
        assert file is not None
        schema = json.load(file)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    for targets in (
        ["fixtures/models/gpt2"],
        ["fixtures/checkpoints/torch-sharded", tmp_path],
        [tmp_path, tmp_path / "nowhere"],
    ):
        done = hfinspect("audit", *targets, "--format", "sarif")
        jsonschema.Draft4Validator(schema).validate(json.loads(done.out))
