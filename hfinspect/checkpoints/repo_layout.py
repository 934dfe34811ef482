"""Models that consist of several: diffusers pipelines and sentence-transformers.

Which folders hold a part's weights shows in the file list, so their headers are read in the
same round as the files that name the parts; what these do not name is sorted out afterwards.
Everybody who has to know what a folder is (inspecting, auditing) learns it here.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum

from ..core.checkpoint import Checkpoint
from ..core.records import dataclass
from ..errors import ConfigError
from ..layers.sentence_modules import CONFIG_FILES, ROUTERS, own_class
from ..sources.source import FileEntry
from .choose import WeightChoice, choose
from .json_files import PIPELINE_FILE as PIPELINE_FILE

MODULES_FILE = "modules.json"
ROUTER_FILE = CONFIG_FILES["Router"]

#: Where sentence-transformers writes the length of a transformer, by the names of its releases.
#: Source: ``Transformer.load`` of sentence_transformers.
SENTENCE_SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)

#: Pipelines have some ten components; folders beyond this many are not read.
MAX_PARTS = 64

#: Folders of sentence-transformers modules: 0_Transformer, 2_Dense, a router's query_0_Dense.
_MODULE_FOLDER = re.compile(r"(?:[^/]*_)?\d+_[A-Za-z]\w*", re.ASCII)
#: Routers inside routers: none is known.
_MAX_DEPTH = 4


class Layout(str, Enum):
    """How a model's directory is organised."""

    SINGLE = "model"
    PIPELINE = "diffusers pipeline"
    MODULES = "sentence-transformers"
    ADAPTER = "adapter"


@dataclass(frozen=True)
class LayoutPart:
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


def part_folders(files: Mapping[str, FileEntry], layout: Layout) -> dict[str, WeightChoice]:
    """Folders that may be parts, and the weights of each: of a pipeline those directly below the
    root, of sentence-transformers those whose names are like modules' names."""
    folders: dict[str, dict[str, FileEntry]] = {}
    for path, entry in files.items():
        folder, slash, _ = path.rpartition("/")
        if slash and _may_be_part(folder, layout):
            folders.setdefault(folder, {})[path] = entry
    choices: dict[str, WeightChoice] = {}
    for folder, inside in sorted(folders.items())[: 16 * MAX_PARTS]:
        choice = choose(inside)
        if choice is not None and len(choices) < MAX_PARTS:
            choices[folder] = choice
    return choices


def _may_be_part(folder: str, layout: Layout) -> bool:
    names = folder.split("/")
    if layout is not Layout.MODULES:
        return len(names) == 1
    return len(names) <= _MAX_DEPTH and all(_MODULE_FOLDER.fullmatch(name) for name in names)


def module_files(files: Iterable[str]) -> list[str]:
    """Paths of files in the root and in folders whose names are like modules' names, so many that
    they are those of ``MAX_PARTS`` folders."""
    folders: dict[str, list[str]] = {}
    for path in files:
        folder = path.rpartition("/")[0]
        if not folder or _may_be_part(folder, Layout.MODULES):
            folders.setdefault(folder, []).append(path)
    return [path for folder in sorted(folders)[:MAX_PARTS] for path in folders[folder]]


def settings_path(files: Collection[str], folder: str) -> str | None:
    """The file of a transformer's folder in which sentence-transformers writes its length."""
    start = f"{folder}/" if folder else ""
    return next((start + name for name in SENTENCE_SETTINGS if start + name in files), None)


def config_folders(files: Iterable[str]) -> list[str]:
    """Folders directly below the root that have a config."""
    folders = (path.removesuffix("/config.json") for path in files if path.endswith("/config.json"))
    return sorted(folder for folder in folders if "/" not in folder)


def naming_files(files: Collection[str]) -> list[str]:
    """Paths of the files that say which folder is what; an older router says it in config.json."""
    paths: list[str] = []
    has_modules = MODULES_FILE in files
    for path in files:
        folder, _, name = path.rpartition("/")
        if path in (PIPELINE_FILE, MODULES_FILE) or (
            has_modules
            and len(paths) < MAX_PARTS
            and (not folder or _may_be_part(folder, Layout.MODULES))
            and (name == ROUTER_FILE or (name == "config.json" and folder.endswith("_Asym")))
        ):
            paths.append(path)
    return paths


def declared_folders(contents: Mapping[str, object]) -> dict[str, str]:
    """Folder -> its class, the root's folder is empty, as the naming files say.

    ``contents`` are the JSON values of ``naming_files`` by path. Raises ConfigError.
    """
    if PIPELINE_FILE in contents:
        return declared_components(contents[PIPELINE_FILE])
    if MODULES_FILE not in contents:
        return {}
    modules = declared_modules(contents[MODULES_FILE])
    waiting = [folder for folder in modules if own_class(modules[folder]) in ROUTERS]
    while waiting and len(modules) < 2 * MAX_PARTS:
        folder = waiting.pop(0)
        start = f"{folder}/" if folder else ""
        name = next(
            (start + n for n in (ROUTER_FILE, "config.json") if start + n in contents), None
        )
        for key, kind in declared_routes(name or "", contents.get(name or "")).items():
            if start + key not in modules:
                modules[start + key] = kind
                if own_class(kind) in ROUTERS:
                    waiting.append(start + key)
    return modules


def config_name(declared: str | None) -> str:
    """What the config of a folder of this class is called."""
    return CONFIG_FILES.get(own_class(declared) or "", "config.json")


def declared_components(content: object) -> dict[str, str]:
    """Components of a model_index.json, each with its library and class.

    ``"unet": ["diffusers", "UNet2DConditionModel"]``; a component that is left out has nulls.
    Raises ConfigError.
    """
    if not isinstance(content, Mapping):
        raise ConfigError(PIPELINE_FILE, "is not a JSON object")
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
        raise ConfigError(MODULES_FILE, "is not a list of modules")
    return {
        module["path"].strip("/"): str(module.get("type", ""))
        for module in modules
        if isinstance(module.get("path"), str)
    }


def declared_routes(path: str, content: object) -> dict[str, str]:
    """Folders of a router_config.json (the file ``path``), each with its class; none where there is
    no such file. Raises ConfigError."""
    if content is None:
        return {}
    types = content.get("types") if isinstance(content, Mapping) else None
    if not isinstance(types, Mapping) or not all(isinstance(kind, str) for kind in types.values()):
        raise ConfigError(path, "names no modules", expected='an object under "types"')
    return {str(key).strip("/"): kind for key, kind in types.items()}
