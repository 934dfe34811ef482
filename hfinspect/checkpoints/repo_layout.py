"""Models that consist of several: diffusers pipelines and sentence-transformers.

Which folders hold a part's weights shows in the file list, so their headers are asked for in the
same round as the file that names the parts; what it does not name is sorted out afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ..core.checkpoint import Checkpoint
from ..errors import ConfigError
from ..sources.source import FileEntry
from .choose import Choice, choose

PIPELINE_FILE = "model_index.json"
MODULES_FILE = "modules.json"

#: Pipelines have some ten components; folders beyond this many are not read.
MAX_PARTS = 64

#: Folders of sentence-transformers modules: 0_Transformer, 2_Dense.
_MODULE_FOLDER = re.compile(r"\d+_[A-Za-z]\w*", re.ASCII)


class Layout(str, Enum):
    """How a model's directory is organised."""

    SINGLE = "model"
    PIPELINE = "diffusers pipeline"
    MODULES = "sentence-transformers"
    ADAPTER = "adapter"


@dataclass(frozen=True)
class Part:
    """One component of a pipeline or one module after the transformer.

    ``declared`` is the class that the naming file gives it (``diffusers.UNet2DConditionModel``),
    None for a folder that is not named there. ``config`` is None if there is none or it is broken.
    """

    name: str
    checkpoint: Checkpoint | None
    declared: str | None = None
    config: Mapping[str, object] | None = None


def layout_of(files: Mapping[str, FileEntry]) -> Layout:
    """What the file list shows; whether something is an adapter shows in the choice of files."""
    if PIPELINE_FILE in files and part_folders(files, Layout.PIPELINE):
        return Layout.PIPELINE
    return Layout.MODULES if MODULES_FILE in files else Layout.SINGLE


def part_folders(files: Mapping[str, FileEntry], layout: Layout) -> dict[str, Choice]:
    """Folders directly below the root that may be parts, and the weights of each."""
    folders: dict[str, dict[str, FileEntry]] = {}
    for path, entry in files.items():
        folder, slash, name = path.partition("/")
        if slash and "/" not in name:
            folders.setdefault(folder, {})[path] = entry
    found: dict[str, Choice] = {}
    for folder, inside in sorted(folders.items())[: 16 * MAX_PARTS]:
        if layout is Layout.MODULES and not _MODULE_FOLDER.fullmatch(folder):
            continue
        choice = choose(inside)
        if choice is not None and len(found) < MAX_PARTS:
            found[folder] = choice
    return found


def config_folders(files: Iterable[str]) -> list[str]:
    """Folders directly below the root that have a config."""
    folders = (path.removesuffix("/config.json") for path in files if path.endswith("/config.json"))
    return sorted(folder for folder in folders if "/" not in folder)


def declared_components(content: object) -> dict[str, str]:
    """Components of a model_index.json, each with its library and class.

    ``"unet": ["diffusers", "UNet2DConditionModel"]``; a component that is left out has nulls.
    Raises ConfigError.
    """
    if not isinstance(content, Mapping):
        raise ConfigError(PIPELINE_FILE, "is no JSON object")
    return {
        str(name): f"{value[0]}.{value[1]}"
        for name, value in content.items()
        if isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value)
    }


def declared_modules(content: object) -> dict[str, str]:
    """Folders of a modules.json, each with its class; the root's is the empty name.

    Raises ConfigError.
    """
    modules = content if isinstance(content, Sequence) and not isinstance(content, str) else None
    if modules is None or not all(isinstance(module, Mapping) for module in modules):
        raise ConfigError(MODULES_FILE, "is no list of modules")
    return {
        module["path"].strip("/"): str(module.get("type", ""))
        for module in modules
        if isinstance(module.get("path"), str)
    }
