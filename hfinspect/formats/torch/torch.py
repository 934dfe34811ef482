"""PyTorch checkpoints by their header: .bin, .pt, .pth, .ckpt. Interpreted, never executed."""

from collections.abc import Callable

from ...core.checkpoint import Shard
from ...errors import FormatError, LimitError, UnsupportedFormatError
from ..base import BytesReader, Reader
from ..other_format import raise_if_other_format
from ..pickles.globals import PickleScan, reads_as_pickle
from ..sniff import SNIFF_BYTES, magic_of, raise_if_not_weights
from ..window import WindowPart, Windows
from .archive import read_zip, scan_zip
from .legacy import old_pickle, read_legacy, scan_pickles
from .others import scan_array, scan_tar
from .unpacking import UNPACKED, UNREAD, scan_compressed
from .zip_directory import TAIL_BYTES, read_directories
from .zip_rows import archives_in_row

#: Read from the beginning at first: data.pkl is the archive's first member and takes about 150
#: bytes a tensor, a legacy file's pickles about 200; so this is room for more than 1,000 tensors.
HEAD_BYTES = 256 * 1024
#: A file up to this size is read with one range instead of two.
SMALL_FILE_BYTES = HEAD_BYTES + TAIL_BYTES

#: Archives in archives in archives: a TorchServe archive holds a zip file that holds pickles.
MAX_NESTING = 4

#: File name endings, lower case. A .bin may also be something else, which its first bytes show.
SUFFIXES = (".bin", ".pt", ".pth", ".ckpt", ".th", ".jit")

_REFUSED = {
    "tar": "a PyTorch file in the tar format of versions before 0.1.10",
    "hdf5": "an HDF5 file (Keras or TensorFlow weights)",
    "numpy": "a NumPy array",
    "ggml": "a GGML file",
    "gzip": "a gzip archive",
    "zlib": "data compressed with zlib",
    "lz4": "an LZ4 archive",
    "lzma": "an LZMA archive",
    "bzip2": "a bzip2 archive",
    "xz": "an xz archive",
    "zstd": "a zstd archive",
    "7z": "a 7z archive",
    "riff": "a RIFF container (media)",
}


class TorchFormat:
    """Reads the directory and the pickle of a file that torch.save or torch.jit.save wrote."""

    name = "torch"

    def matches(self, path: str) -> bool:
        return path.lower().endswith(SUFFIXES)

    def read_header(self, reader: Reader, *, first_guess: int | None = None) -> Shard:
        """The file's tensors, usually with one read of both ends, at most five in all.

        Raises FormatError, LimitError, or UnsupportedFormatError that names what else it is.
        """
        file, head = _head(reader, first_guess)
        kind = magic_of(head)
        if kind == "zip":
            return read_zip(file)
        if kind == "pickle":
            return read_legacy(file, head)
        if kind == "gguf":
            raise_if_other_format(reader.path, head, "a PyTorch file")
        if kind in _REFUSED:
            raise UnsupportedFormatError(reader.path, f"{_REFUSED[kind]}, which is not read here")
        if kind is None and (old := old_pickle(file, head)) is not None:
            raise old
        raise_if_other_format(reader.path, head, "a PyTorch file")
        raise FormatError(
            reader.path,
            f"begins with {head[:8]!r}",
            rule="torch-magic",
            expected="a zip archive or a pickle",
        )


FORMAT = TorchFormat()


def _head(reader: Reader, first_guess: int | None) -> tuple[Windows, bytes]:
    # Who gives windows has read with them: windows on windows keep each range twice.
    file = reader if isinstance(reader, Windows) else Windows(reader)
    size = reader.size
    if size is not None and size <= SMALL_FILE_BYTES:
        head = file.read(0, size)
    else:
        length = max(min(first_guess or HEAD_BYTES, HEAD_BYTES), SNIFF_BYTES)
        if size is not None:
            # Most are zip archives, whose directory is at the end. A legacy file has data there:
            # a tail in vain costs less than a request.
            file.prefetch([(0, length), (size - TAIL_BYTES, size)])
        head = file.read(0, length)
    raise_if_not_weights(reader.path, head, reader.size)
    return file, head


def _scan_row(file: Windows, depth: int) -> list[tuple[str, PickleScan]]:
    """Names in archives that lie one behind the other."""
    scans: list[tuple[str, PickleScan]] = []
    for number, (begin, length) in enumerate(archives_in_row(file), 1):
        part = Windows(WindowPart(file.fresh(), file.path, begin, length))
        inner_scans = scan_zip(part, lambda path, data: _scan_bytes(path, data, depth))
        scans += [(f"archive {number}, {name}", scan) for name, scan in inner_scans]
    return scans


def scan_file(reader: Reader, depth: int = 0) -> list[tuple[str, PickleScan]]:
    """Every name that the pickles of a file load, by member or number of the pickle.

    For any file that may be a pickle or an archive with pickles (training_args.bin, .pkl of
    scikit-learn): nothing is refused for not being a checkpoint. Empty where there is no pickle.
    A PickleScan's ``error`` says where a pickle could not be followed to its end. Raises
    FormatError and LimitError for a damaged zip directory or what stands in place of a file.
    """
    file, head = _head(reader, None)
    kind = magic_of(head)
    if kind == "zip" and reader.path.endswith(".distcp"):
        scans = _scan_row(file, depth)
    elif kind == "zip":
        scans = scan_zip(file, lambda path, data: _scan_bytes(path, data, depth))
    elif kind == "tar":
        scans = scan_tar(file, lambda member: _scan_inside(member, depth))
    elif kind == "numpy":
        scans = scan_array(file, head)
    elif kind == "zfile":
        scans = scan_compressed(_zfile(file), "zlib", _member_scanner(depth))
    elif kind is not None and (kind in UNPACKED or kind in UNREAD):
        scans = scan_compressed(file, kind, _member_scanner(depth))
    else:
        scans = scan_pickles(file, head)
        scans += scan_behind(file, depth, certain=bool(scans))
    return [inner for name, scan in scans for inner in _with_nested(name, scan, depth)]


def scan_behind(
    file: Windows, depth: int = 0, *, certain: bool = False
) -> list[tuple[str, PickleScan]]:
    """A file may be anything to one reader and, by its end, a zip archive to another.

    Where the end was not read yet and reading is a request, nothing is looked at. Unless something
    else in the file is a pickle (``certain``), an archive without pickles is none of our business.
    """
    size = file.known_size()
    start = max(0, size - TAIL_BYTES)
    if file.is_near and b"PK\x05\x06" not in file.read(start, size):
        return []
    if file.peek(start, size) is None:
        return []
    try:
        if not any(directory.entries for directory in read_directories(file)[0]):
            return []
        scans = scan_zip(file, lambda path, data: _scan_bytes(path, data, depth))
    except (FormatError, LimitError):
        return []
    return scans if certain or any(scan.globals for _, scan in scans) else []


def _zfile(file: Windows) -> Windows:
    """What joblib wrote before its version 0.10: a size in 19 characters, then data of zlib."""
    begin = 22 if file.read(21, 22) == b" " else 21
    return Windows(WindowPart(file, file.path, begin, max(file.known_size() - begin, 0)))


def _member_scanner(depth: int) -> Callable[[str, bytes], list[tuple[str, PickleScan]]]:
    return lambda path, data: _scan_unnamed(path, data, depth)


def _with_nested(name: str, scan: PickleScan, depth: int) -> list[tuple[str, PickleScan]]:
    scans = [(name, scan)]
    for number, data in enumerate(scan.nested, 1):
        where = f"{name}, tensor file {number}"
        try:
            inner = _scan_bytes(where, data, depth)
        except (FormatError, LimitError) as error:
            scans.append((where, PickleScan((), error, 0)))
            continue
        scans += [(f"{where}, {member}", each) for member, each in inner]
    return scans


def _scan_bytes(path: str, data: bytes, depth: int) -> list[tuple[str, PickleScan]]:
    return _scan_inside(BytesReader(path, data), depth)


def _scan_inside(reader: Reader, depth: int) -> list[tuple[str, PickleScan]]:
    if depth >= MAX_NESTING:
        problem = "archives lie in archives: the innermost are not checked"
        raise LimitError(reader.path, problem, expected=f"at most {MAX_NESTING} levels")
    return scan_file(reader, depth + 1)


def _scan_unnamed(path: str, data: bytes, depth: int) -> list[tuple[str, PickleScan]]:
    """As ``_scan_bytes``, of bytes that no name calls a pickle: text is none."""
    if magic_of(data[:SNIFF_BYTES]) is None and not reads_as_pickle(data):
        return []
    return _scan_bytes(path, data, depth)
