"""What a file is by its first bytes: above all, what lies in place of weights without being any.

Broken downloads leave the same few things under a weight file's name: nothing at all, the page of
a proxy or a login, a pointer of Git LFS or Xet that was never resolved, blocks of zeros. Each
has a stable rule name, the same for every format.
"""

from ..errors import FormatError

#: So many first bytes are enough for every answer below (a tar's magic is at 257).
SNIFF_BYTES = 512

#: A file that begins with so many zero bytes was allocated but never written: no weight format
#: starts that way (safetensors, zip, pickle and GGUF all have a non-zero byte among the first 8).
ZERO_RUN = 64

_POINTERS = (
    (b"version https://git-lfs.github.com/spec/", "lfs-pointer"),
    (b"version https://hawser.github.com/spec/", "lfs-pointer"),  # Git LFS before its 1.0
    (b"# xet version", "xet-pointer"),
)
_MARKUP = ((b"<!doctype html", "html-page"), (b"<html", "html-page"), (b"<?xml", "error-page"))
_ERROR_TEXTS = (
    b'{"error',
    b'{"message',
    b"entry not found",
    b"not found",
    b"invalid username",
    b"repository not found",
    b"access to model",
    b"unauthorized",
    b"forbidden",
)

#: rule -> (what was found, what to do about it)
NOT_WEIGHTS = {
    "empty-file": ("the file is empty", "download it again"),
    "lfs-pointer": (
        "a Git LFS pointer in place of the file",
        "fetch the content with `git lfs pull` or `hf download`",
    ),
    "xet-pointer": ("a Xet pointer in place of the file", "fetch the content with `hf download`"),
    "html-page": (
        "an HTML page in place of the file",
        "a login, proxy or error page was saved; download the file itself",
    ),
    "error-page": (
        "an error message in place of the file",
        "the server's refusal was saved; download the file again",
    ),
    "zero-filled": (
        "zero bytes in place of the file's beginning",
        "the download was allocated but not written; download it again",
    ),
}

#: First bytes -> what kind of file it is; for choosing a reader and for naming what is refused.
_MAGICS = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"GGUF", "gguf"),
    (b"ggml", "ggml"),
    (b"lmgg", "ggml"),
    (b"fmgg", "ggml"),
    (b"tjgg", "ggml"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"\x93NUMPY", "numpy"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x78\x01", "zlib"),
    (b"\x78\x5e", "zlib"),
    (b"\x78\x9c", "zlib"),
    (b"\x78\xda", "zlib"),
    (b"\x5d\x00\x00", "lzma"),
    (b"ZF0x", "zfile"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"RIFF", "riff"),
)


def sniff(first_bytes: bytes, size: int | None) -> str | None:
    """The rule name of what lies in place of weights, a key of ``NOT_WEIGHTS``, or None.

    ``first_bytes`` are the file's first bytes, at best ``SNIFF_BYTES`` of them; ``size`` the
    file's size in bytes where it is known.
    """
    if size == 0 or (size is None and not first_bytes):
        return "empty-file"
    head = first_bytes[:SNIFF_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").lower()
    for start, rule in _POINTERS + _MARKUP:
        if head.startswith(start):
            return rule
    if head.startswith(_ERROR_TEXTS):
        return "error-page"
    run = first_bytes[:SNIFF_BYTES]
    if len(run) >= ZERO_RUN and not run.strip(b"\x00"):
        return "zero-filled"
    return None


def raise_if_not_weights(path: str, head: bytes, size: int | None) -> None:
    """Raise FormatError with the rule that ``sniff`` names; return quietly for anything else."""
    rule = sniff(head, size)
    if rule is not None:
        problem, hint = NOT_WEIGHTS[rule]
        raise FormatError(path, problem, rule=rule, expected="a weight file", hint=hint)


def magic_of(first_bytes: bytes) -> str | None:
    """The kind of file by its magic number ("zip", "gguf", "tar", "pickle", "hdf5", ...), or None.

    "pickle" is said of protocols 2 to 5, which begin with their number; older ones have no magic.
    """
    for magic, kind in _MAGICS:
        if first_bytes.startswith(magic):
            return kind
    if first_bytes[257:262] == b"ustar" or _is_old_tar(first_bytes):
        return "tar"
    if len(first_bytes) >= 2 and first_bytes[0] == 0x80 and 2 <= first_bytes[1] <= 5:
        return "pickle"
    return None


def _is_old_tar(block: bytes) -> bool:
    """A tar archive from before POSIX has no magic, but the sum of its first block's bytes."""
    if len(block) < SNIFF_BYTES or not block[0] or not block[148:156].strip(b" \0").isdigit():
        return False
    try:
        checksum = int(block[148:156].strip(b" \0"), 8)
    except ValueError:
        return False
    return checksum == sum(block[:148]) + 8 * ord(" ") + sum(block[156:SNIFF_BYTES])
