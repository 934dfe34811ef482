"""What a weight file really is whose name promises another format, by its first bytes."""

from __future__ import annotations

from typing import Final

from ..errors import FormatError
from .sniff import magic_of

#: Kinds of ``sniff.magic_of`` -> what they are called.
_NAMES: Final = {
    "gguf": "a GGUF file",
    "ggml": "a GGML file",
    "hdf5": "an HDF5 file (Keras or TensorFlow weights)",
    "numpy": "a NumPy array",
    "tar": "a tar archive",
    "gzip": "a gzip archive",
    "bzip2": "a bzip2 archive",
    "xz": "an xz archive",
    "lzma": "an LZMA archive",
    "lz4": "an LZ4 archive",
    "zstd": "a zstd archive",
    "7z": "a 7z archive",
    "riff": "a RIFF container (media)",
    "zfile": "a file of joblib, compressed",
}
_SAFETENSORS: Final = "a safetensors file"
_TORCH: Final = "a PyTorch file"
_OLD_TORCH: Final = "a PyTorch file of versions before 1.6"
_PICKLE: Final = "a pickle"

#: What to do about each; for all others: what is needed is another file.
_HINTS: Final = {
    _SAFETENSORS: "rename it to .safetensors",
    "a GGUF file": "rename it to .gguf",
    _TORCH: "rename it to .bin, or convert it to safetensors",
    _OLD_TORCH: "rename it to .bin, or convert it to safetensors",
    "a gzip archive": "unpack it",
    "a zstd archive": "unpack it",
}

#: The longest header that the safetensors library takes, and its two first bytes of JSON.
_MAX_HEADER: Final = 100_000_000
#: What torch.save wrote first before its zip files: its magic number as a pickle of protocol 2.
_OLD_TORCH_MAGIC: Final = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
#: A local header of a zip has the length of the member's name at this byte, and the name behind it.
_ZIP_NAME_LENGTH: Final = slice(26, 28)
_ZIP_NAME_AT: Final = 30


def format_of(head: bytes) -> str | None:
    """What a file is by its first 512 bytes: ``a PyTorch file``; None where they do not say it."""
    length = int.from_bytes(head[:8], "little")
    if 2 <= length <= _MAX_HEADER and head[8:9] == b"{":
        return _SAFETENSORS
    kind = magic_of(head)
    if kind == "zip":
        return _of_zip(head)
    if kind == "pickle":
        return _OLD_TORCH if _OLD_TORCH_MAGIC in head[:32] else _PICKLE
    return _NAMES.get(kind or "")


def _of_zip(head: bytes) -> str:
    """By the name of its first member: torch.save begins with ``archive/data.pkl``."""
    length = int.from_bytes(head[_ZIP_NAME_LENGTH], "little")
    name = head[_ZIP_NAME_AT : _ZIP_NAME_AT + length]
    if name.endswith((b"/data.pkl", b"/version", b"/byteorder", b"/.format_version")):
        return _TORCH
    return "a NumPy archive (.npz)" if name.endswith(b".npy") else "a zip archive"


def raise_if_other_format(path: str, head: bytes, promised: str) -> None:
    """Raise FormatError with the rule ``other-format`` where the first bytes are those of another
    format than ``promised`` (as ``format_of`` calls it); return quietly where they say nothing."""
    really = format_of(head)
    if really is not None and really != promised:
        raise FormatError(
            path,
            f"is {really} by its first bytes",
            rule="other-format",
            expected=promised,
            hint=_HINTS.get(really, "fetch the right file, or convert this one"),
        )
