"""A directory that holds models and is none: training runs, collections of checkpoints."""

from collections.abc import Iterable

from ..core.refs import Origin
from ..errors import NothingToInspectError
from .filenames import FileKind, weight_name
from .repo_layout import MODULES_FILE, PIPELINE_FILE

#: Sub-directories that an error names.
_SHOWN = 8
_CONFIGS = ("config.json", "adapter_config.json", PIPELINE_FILE, MODULES_FILE)
_WEIGHTS = (FileKind.MODEL, FileKind.WEIGHTS, FileKind.ORIGINAL, FileKind.ADAPTER)


def models_below(files: Iterable[str]) -> list[str]:
    """Folders that hold a model each, where the top holds none; empty where it does.

    A single folder of weights without a config is the model itself, put aside; so are folders of
    nothing but GGUF files, which are variants of one model.
    """
    with_config: set[str] = set()
    with_weights: set[str] = set()
    only_gguf = True
    for path in files:
        folder, _, name = path.rpartition("/")
        weights = weight_name(path)
        if name in _CONFIGS:
            with_config.add(folder)
        elif weights is not None and weights.kind in _WEIGHTS:
            with_weights.add(folder)
            only_gguf = only_gguf and weights.format == "gguf"
    if "" in with_config | with_weights or (only_gguf and not with_config):
        return []
    parts = tuple(f"{folder}/" for folder in with_config)
    alone = {folder for folder in with_weights if not folder.startswith(parts)}
    folders = {folder for folder in with_config if not folder.startswith(parts)} | alone
    return sorted(folders) if with_config or len(folders) > 1 else []


def refuse_models_below(origin: Origin, files: Iterable[str]) -> None:
    """Raises NothingToInspectError where the top holds no model and folders below it do."""
    folders = models_below(files)
    if not folders:
        return
    shown = ", ".join(folders[:_SHOWN]) + (", ..." if len(folders) > _SHOWN else "")
    if origin.repo_id is None:
        one = f"{origin.path or origin.name}/{folders[0]}"
    else:
        at = f"@{origin.revision}" if origin.revision else ""
        one = f"hf://{origin.repo_id}{at}/{folders[0]}"
    error = NothingToInspectError(
        origin.name,
        f"holds no model at its top, but {len(folders)} below it: {shown}",
        expected="one of them",
        hint=f"inspect one of them, such as {one}",
    )
    if origin.repo_id is None:
        error.argument = ("recursive", origin.path or origin.name)
    raise error
