"""The small files of a repo that say how its processor counts."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..checkpoints.one_file import gathered, read_json
from ..core.given_config import config_given
from ..media.processor_settings import FILES
from ..sources.opening import Access
from ..sources.source import Source


def processor_files(
    target: object, access: Access, revision: str | None = None
) -> tuple[Mapping[str, Mapping[str, Any]], tuple[str, ...]]:
    """The processor's small files of a repo or a directory, by name, and which of them are broken;
    none of a config alone. Raises AccessErrors."""
    if config_given(target) is not None:
        return {}, ()
    ref = access.resolve(target, revision)
    if ref.path is not None and Path(ref.path).expanduser().is_file():
        ref = replace(ref, path=str(Path(ref.path).expanduser().parent), file=None)
    with access.opened(ref) as source:
        return read_files(source)


def read_files(source: Source) -> tuple[Mapping[str, Mapping[str, Any]], tuple[str, ...]]:
    """Of a source that is open. A file that cannot be read does not end the rest of an answer."""
    names = [name for name in FILES if name in source.list_files()]
    read = gathered(source, [partial(read_json, source, name) for name in names])
    broken = []
    for one in read:
        if one.error is not None:
            broken.append(f"{one.path} could not be read: {one.error}")
        elif one.mapping is None:
            broken.append(f"{one.path} holds no settings: it is not a JSON object")
    return {one.path: one.mapping for one in read if one.mapping}, tuple(broken)
