"""What other programs read of the repository: hooks and the extension of ``hf``."""

from __future__ import annotations

import json
import re
import shlex

from ..cli.program import ROOT, hfinspect
from .test_declared import tomllib

HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
EXTENSION = ROOT / ".github" / "hf-inspect"


def test_the_hook_is_a_command_that_runs() -> None:
    (entry,) = re.findall(r"entry: hfinspect (.+)", HOOKS)
    done = hfinspect(*shlex.split(entry), "fixtures/models/gpt2")
    assert done.code == 0, done.out


def test_the_hook_looks_when_files_of_models_change() -> None:
    (pattern,) = re.findall(r"files: (.+)", HOOKS)
    for path in (
        "model.safetensors",
        "a/b/pytorch_model.bin",
        "model.safetensors.index.json",
        "config.json",
        "unet/config.json",
        "x.gguf",
    ):
        assert re.search(pattern, path), path
    for path in ("README.md", "src/main.py", "tsconfig.json", "package.json"):
        assert not re.search(pattern, path), path


def test_the_extension_has_the_script_that_hf_calls() -> None:
    """huggingface_hub: a repository ``hf-NAME`` whose package has the console script ``hf-NAME``;
    the description is that of manifest.json, or of pyproject.toml."""
    project = tomllib.loads((EXTENSION / "pyproject.toml").read_text())["project"]
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "hf-inspect"
    assert project["scripts"] == {"hf-inspect": ours["scripts"]["hf-inspect"]}
    assert project["dependencies"] == ["hfinspect"]
    manifest = json.loads((EXTENSION / "manifest.json").read_text())
    assert manifest == {"description": project["description"]}


def test_actions_are_pinned_by_commit() -> None:
    """A tag can be moved by whoever holds the other repository; a commit cannot."""
    for path in [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "action.yml"]:
        used = re.findall(r"uses: *(\S+)(.*)", path.read_text(encoding="utf-8"))
        assert all(re.search(r"@[0-9a-f]{40}$", name) for name, _ in used), path.name
        assert all(re.search(r"# v\d+\.\d+\.\d+$", note) for _, note in used), path.name
