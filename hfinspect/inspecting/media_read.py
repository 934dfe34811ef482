"""What images, videos and sounds of a prompt take, by the files next to a model."""

from dataclasses import replace
from pathlib import Path

from ..core.media_tokens import AudioItem, MediaTokens
from ..errors import MalformedError
from ..media.llama_cpp.counting import count_by_llama_cpp
from ..media.registry import count_tokens
from ..sizing.memory_request import AdapterBytes, MemoryRequest
from ..sources.opening import Access
from .build import Inspected
from .inspect_run import inspect_opened
from .mmproj import holds_projector, is_beside, tensor_names
from .processor_files import processor_files


def with_media(
    inspected: Inspected,
    request: MemoryRequest,
    target: object,
    access: Access,
    revision: str | None = None,
) -> MemoryRequest:
    """The request with the tokens of the images, videos and sounds that were named: they are added
    to a context that was named, and what cross-attention keeps of them are its positions. With a
    GGUF model the bytes of its mmproj file too."""
    inspection = inspected.inspection
    if inspection.format == "gguf":
        return with_mmproj(inspected, request, target, access, revision)
    if not request.items:
        return request
    files, broken = processor_files(target, access, revision)
    media = tuple(
        count_tokens(item, inspection.model_type, inspection.config or {}, files, count)
        for item, count in request.items
    )
    return replace(_counted(request, media), remarks=broken)


def _counted(request: MemoryRequest, media: tuple[MediaTokens, ...]) -> MemoryRequest:
    context = request.context
    cross = sum(one.cross_tokens * one.count for one in media)
    if context is not None:
        context += sum(one.all_tokens for one in media)
    positions = request.encoder_tokens
    if positions is None and cross and not any(_is_sound(one) for one in media):
        positions = cross
    return replace(request, media=media, context=context, encoder_tokens=positions)


def _is_sound(one: MediaTokens) -> bool:
    """An encoder that hears has fixed positions, whatever the sound's length."""
    return one.kind == AudioItem.kind


def with_mmproj(
    inspected: Inspected,
    request: MemoryRequest,
    target: object,
    access: Access,
    revision: str | None = None,
) -> MemoryRequest:
    """The request with the bytes of the mmproj file that lies next to a GGUF model, and with the
    tokens of the items by its keys. Of several, which differ in dtype, llama.cpp loads the one that
    is named: no bytes are added, and the keys are those of the first."""
    if request.train is not None or holds_projector(inspected.inspection.metadata):
        return _without_mmproj(request, "this file is not a model that writes text")
    ref = access.resolve(target, revision)
    folder = ref.file.rpartition("/")[0] if ref.file else ""
    if ref.path is not None and Path(ref.path).expanduser().is_file():
        ref = replace(ref, path=str(Path(ref.path).expanduser().parent))
    ref = replace(ref, file=None)
    with access.opened(ref) as source:
        files = sorted(name for name in source.list_files() if is_beside(name, folder))
        if not files or (len(files) > 1 and not request.items):
            return _without_mmproj(request, "there is no mmproj file next to the model")
        try:
            read = inspect_opened(files[0], ref, source, access, file=files[0])
        except MalformedError as error:
            remark = f"{files[0]} could not be read: {error}"
            request = _without_mmproj(request, remark)
            return replace(request, remarks=(*request.remarks, remark))
    projector = read.inspection
    if projector.nbytes is None or not holds_projector(projector.metadata):
        return _without_mmproj(request, f"{files[0]} is not an mmproj file")
    if request.items:
        tensors = tensor_names(read.checkpoint)
        media = tuple(
            count_by_llama_cpp(item, files[0], projector.metadata, tensors, count)
            for item, count in request.items
        )
        request = _counted(request, media)
    if len(files) > 1:
        return request
    size = AdapterBytes(files[0], projector.nbytes, projector.parameters or 0, "the mmproj file")
    return replace(request, adapter=size)


def _without_mmproj(request: MemoryRequest, reason: str) -> MemoryRequest:
    media = tuple(
        MediaTokens(item.kind, item.label, count, None, unknown=reason)
        for item, count in request.items
    )
    return replace(request, media=media)
