"""The quantisations that a repo offers side by side, known by their file names and sizes."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..sources.source import FileEntry
from .choose import candidates
from .filenames import FileKind

#: llama.cpp's names of file types (``llama-quantize --help``), as they stand in file names.
_LABEL = re.compile(
    r"(?<![A-Za-z0-9])((?:I?Q|TQ)\d(?:_[A-Z0-9]+)*|MXFP4(?:_MOE)?|NVFP4|BF16|FP?16|FP?32)(?![A-Za-z0-9])",
    re.ASCII | re.IGNORECASE,
)


class Variant(NamedTuple):
    """One copy of the weights: its files, their size in bytes (None if not known) and the
    quantisation in the name (``Q4_K_M``), empty if there is none."""

    label: str
    files: tuple[str, ...]
    size: int | None


def gguf_variants(files: Mapping[str, FileEntry]) -> tuple[Variant, ...]:
    """All GGUF models among ``files``, split ones joined, the smallest first.

    Vision projectors and adapters are left out. What is in them is not known from this: bits per
    weight take the number of parameters, which all variants of a model share.
    """
    models = [
        item
        for item in candidates(files)
        if item.first.format == "gguf" and item.first.kind is FileKind.WEIGHTS and not item.missing
    ]
    variants = []
    for item in models:
        paths = tuple(name.path for name in item.files)
        sizes = [files[path].size for path in paths]
        total = sum(size for size in sizes if size is not None)
        variants.append(Variant(label_of(paths[0]), paths, None if None in sizes else total))
    return tuple(sorted(variants, key=lambda variant: (variant.size or 0, variant.files)))


def label_of(path: str) -> str:
    """The quantisation that a file name says, or else its folder; the last one counts."""
    for part in reversed(path.split("/")):
        labels = _LABEL.findall(part)
        if labels:
            return str(labels[-1]).upper()
    return ""
