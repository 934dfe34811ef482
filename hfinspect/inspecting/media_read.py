"""The files of a repo that say how its processor counts, and what follows for a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..checkpoints.one_file import gathered, read_json
from ..core.config import config_given
from ..core.media_tokens import AudioItem, MediaTokens
from ..errors import MalformedError
from ..media.processor_settings import FILES
from ..media.registry import count_tokens
from ..sizing.memory_request import AdapterBytes, MemoryRequest
from ..sources.opening import Access
from ..sources.source import Source
from .build import Inspected
from .inspect_run import inspect_opened
from .mmproj import holds_projector

#: Of a GGUF model: the file has no settings of a processor.
_OF_LLAMA_CPP: Final = "llama.cpp counts them by rules of its own, of which none is here yet"


def with_media(
    whole: Inspected,
    request: MemoryRequest,
    target: object,
    access: Access,
    revision: str | None = None,
) -> MemoryRequest:
    """The request with the tokens of the images, videos and sounds that were named: they are added
    to a context that was named, and what cross-attention keeps of them are its positions."""
    if not request.items:
        return request
    found = whole.inspection
    if found.format == "gguf":
        unknown = tuple(
            MediaTokens(item.kind, item.label, count, None, unknown=_OF_LLAMA_CPP)
            for item, count in request.items
        )
        return replace(request, media=unknown)
    given, broken = processor_files(target, access, revision)
    media = tuple(
        count_tokens(item, found.model_type, found.config or {}, given, count)
        for item, count in request.items
    )
    context, cross = request.context, sum(one.cross_tokens * one.count for one in media)
    if context is not None:
        context += sum(one.all_tokens for one in media)
    positions = request.encoder_tokens
    if positions is None and cross and not any(_is_sound(one) for one in media):
        positions = cross
    return replace(request, media=media, context=context, encoder_tokens=positions, remarks=broken)


def _is_sound(one: MediaTokens) -> bool:
    """An encoder that hears has fixed positions, whatever the sound's length."""
    return one.kind == AudioItem.kind


def with_mmproj(
    whole: Inspected,
    request: MemoryRequest,
    target: object,
    access: Access,
    revision: str | None = None,
) -> MemoryRequest:
    """The request with the bytes of the mmproj file that lies next to a GGUF model. Of several,
    which differ in dtype, llama.cpp loads the one that is named, so none is added."""
    found = whole.inspection
    if found.format != "gguf" or request.train is not None or holds_projector(found.metadata):
        return request
    ref = access.resolve(target, revision)
    folder = ref.file.rpartition("/")[0] if ref.file else ""
    if ref.path is not None and Path(ref.path).expanduser().is_file():
        ref = replace(ref, path=str(Path(ref.path).expanduser().parent))
    ref = replace(ref, file=None)
    with access.opened(ref) as source:
        files = [name for name in source.list_files() if _is_beside(name, folder)]
        if len(files) != 1:
            return request
        try:
            read = inspect_opened(files[0], ref, source, access, file=files[0]).inspection
        except MalformedError as error:
            remark = f"{files[0]} could not be read: {error}"
            return replace(request, remarks=(*request.remarks, remark))
    if read.nbytes is None or not holds_projector(read.metadata):
        return request
    size = AdapterBytes(files[0], read.nbytes, read.parameters or 0, "the mmproj file")
    return replace(request, adapter=size)


def _is_beside(name: str, folder: str) -> bool:
    directory, _, base = name.rpartition("/")
    return directory == folder and base.lower().startswith("mmproj") and base.endswith(".gguf")


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
    """Of a source that is open."""
    held = [name for name in FILES if name in source.list_files()]
    read = gathered(source, [partial(read_json, source, name) for name in held])
    broken = []
    for one in read:
        if isinstance(one.error, MalformedError):
            broken.append(f"{one.path} could not be read: {one.error}")
        elif one.error is not None:
            raise one.error
    return {one.path: one.mapping for one in read if one.mapping}, tuple(broken)
