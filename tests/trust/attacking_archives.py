"""Archives that run code in their real loader: torch's, zip files that readers differ on, tar."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

from ..formats.torch_files import ZipWriter, torch_zip
from .evil import BENIGN, EVIL, EVIL_PICKLE, TOUCH, Sample
from .opcodes import Raw, build, call, name, pickled, value

STORAGES = {"0": 16}


def archives() -> Iterator[Sample]:
    """All of them, proved as those of ``attacks.py`` are."""
    for part in (_torch, _legacy, _zips, _nested):
        yield from part()


def _torch() -> Iterator[Sample]:
    storage = b"(" + value("storage") + b"ctorch\nFloatStorage\n" + value("0") + value("cpu")
    forms = {
        "in the state dict": pickled(Raw(b"}(" + value("a") + EVIL.code + b"u")),
        "in a persistent id": pickled(Raw(storage + EVIL.code + b"0J\x04\0\0\0tQ"), 2),
        "in a persistent id's type": pickled(
            Raw(
                b"("
                + value("storage")
                + EVIL.code
                + b"0"
                + storage[1 + len(value("storage")) :]
                + b"J\x04\0\0\0tQ"
            ),
            2,
        ),
        "as hooks of a parameter": pickled(
            call("torch._utils._rebuild_parameter", None, False, EVIL)
        ),
        "rebuilt from a type": pickled(
            call(
                "torch._tensor._rebuild_from_type_v2",
                name("os.system"),
                name("torch.Tensor"),
                (TOUCH,),
                {},
            )
        ),
        "as a wrapper subclass": pickled(call("torch._utils._rebuild_wrapper_subclass", EVIL)),
        "a module's hook": pickled(
            build(Raw(name("torch.nn.modules.linear.Linear").code + b")\x81"), {"x": EVIL})
        ),
        "as an OrderedDict's items": pickled(
            call(
                "collections.OrderedDict",
                call("builtins.zip", call("builtins.map", name("os.system"), [TOUCH]), [1]),
            )
        ),
        "through _load_from_bytes": pickled(
            call("torch.storage._load_from_bytes", torch_zip(EVIL_PICKLE, {}))
        ),
    }
    for title, code in forms.items():
        for file in ("pytorch_model.bin", "model.ckpt"):
            data = torch_zip(code, STORAGES)
            yield Sample("torch archives", f"{title}, {file}", file, "torch", data)
    for deflate in (False, True):
        data = torch_zip(EVIL_PICKLE, {}, deflate=deflate)
        title = f"data.pkl, {'deflated' if deflate else 'stored'}"
        yield Sample("torch archives", title, "model.pth", "torch", data)


def _legacy() -> Iterator[Sample]:
    parts = [
        pickle.dumps(item, 2)
        for item in (
            0x1950A86A20F9469CFC6C,
            1001,
            {"little_endian": True, "protocol_version": 1001, "type_sizes": {}},
        )
    ]
    whole = [*parts, pickle.dumps({"a": 1}, 2), pickle.dumps([], 2)]
    for number in range(5):
        changed = list(whole)
        changed[number] = pickled(Raw(EVIL.code + b"0" + whole[number][2:-1]), 2)
        data = b"".join(changed) + struct.pack("<q", 4) + bytes(16)
        title = f"pickle {number + 1} of 5"
        yield Sample("legacy torch files", title, "pytorch_model.bin", "torch", data)
    for shape in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=shape) as archive:
            info = tarfile.TarInfo("storages")
            info.size = len(EVIL_PICKLE)
            archive.addfile(info, io.BytesIO(EVIL_PICKLE))
        yield Sample("legacy torch files", f"tar {shape}", "model.pt", "torch", out.getvalue())
    module = value("module") + EVIL.code + value("x.py") + value("")
    code = pickled(Raw(b"(" + module + b"tQ"), 2)
    data = b"".join([*parts, code, pickle.dumps([], 2)])
    yield Sample("legacy torch files", "a container's class", "model.pt", "torch", data)


_LOCAL = "<4s5H3L2H"
_CENTRAL = "<4s6H3L5H2L"
_END = "<4s4H2LH"


def _plain_zip(members: dict[str, bytes], base: int = 0) -> tuple[bytes, bytes, int]:
    """Local part, directory, and number of members; offsets count from ``base``."""
    local = central = b""
    for member, data in members.items():
        raw = member.encode()
        crc = zlib.crc32(data)
        at = base + len(local)
        local += (
            struct.pack(_LOCAL, b"PK\3\4", 20, 0, 0, 0, 0, crc, len(data), len(data), len(raw), 0)
            + raw
            + data
        )
        central += (
            struct.pack(
                _CENTRAL,
                b"PK\1\2",
                20,
                20,
                0,
                0,
                0,
                0,
                crc,
                len(data),
                len(data),
                len(raw),
                0,
                0,
                0,
                0,
                0,
                at,
            )
            + raw
        )
    return local, central, len(members)


def _end(count: int, length: int, start: int, comment: int = 0) -> bytes:
    return struct.pack(_END, b"PK\5\6", 0, 0, count, count, length, start, comment)


def _members(content: bytes) -> dict[str, bytes]:
    return {
        "archive/data.pkl": content,
        "archive/byteorder": b"little",
        "archive/data/0": bytes(16),
        "archive/version": b"3\n",
    }


def two_archives(first: bytes, last: bytes, *, comment: bool) -> bytes:
    """Two end records: that of ``first`` holds the other archive's as its comment, or before it."""
    a, a_dir, n = _plain_zip(_members(first))
    b, b_dir, m = _plain_zip(_members(last), len(a))
    at = len(a) + len(b)
    b_end = _end(m, len(b_dir), at)
    b_at = at + len(b_dir)
    if comment:  # first's end record comes first, and its comment ends the file
        start_b = b_at + len(a_dir) + 22
        b_end = _end(m, len(b_dir), start_b)
        return (
            a
            + b
            + bytes(len(b_dir))
            + a_dir
            + _end(n, len(a_dir), b_at, len(b_dir) + 22)
            + b_dir
            + b_end
        )
    return a + b + b_dir + b_end + a_dir + _end(n, len(a_dir), b_at + 22)


def _zips() -> Iterator[Sample]:
    evil = EVIL_PICKLE
    shift = "archives that readers differ on"

    def sample(title: str, data: bytes, file: str = "pytorch_model.bin") -> Sample:
        return Sample(shift, title, file, "torch", data)

    yield sample("last end record in a comment", two_archives(BENIGN, evil, comment=True))
    yield sample("decoy before the end record", two_archives(evil, BENIGN, comment=False))
    both = two_archives(BENIGN, evil, comment=True)
    yield sample("last end record, then bytes", both + b"x" * 9)
    a, a_dir, n = _plain_zip(_members(evil))
    b, b_dir, m = _plain_zip(_members(BENIGN), len(a))
    start = len(a) + len(b)
    # One end record: its offset points to the evil directory, the benign one lies in front of it.
    gap = a + b + a_dir + b_dir + _end(n, len(b_dir), start)
    if len(a_dir) == len(b_dir):
        yield sample("the directory by offset, another in front", gap)
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, n, n, len(a_dir), start)
    at = start + len(a_dir) + len(b_dir)
    tail = wide + struct.pack("<4sLQL", b"PK\6\7", 0, at, 1)
    yield sample(
        "zip64 says another directory",
        a + b + a_dir + b_dir + tail + _end(m, len(b_dir), start + len(a_dir)),
    )
    far = a + a_dir + wide.replace(struct.pack("<Q", start), struct.pack("<Q", len(a)))
    yield sample(
        "zip64 record far from its locator",
        far
        + bytes(40)
        + struct.pack("<4sLQL", b"PK\6\7", 0, len(a) + len(a_dir), 1)
        + _end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
    )
    for title, names in {
        "two of one name": {"archive/version": b"3\n", "archive/data.pkl": evil},
        "capitals": {"archive/version": b"3\n", "archive/DATA.PKL": evil},
    }.items():
        writer = ZipWriter()
        for member, data in names.items():
            writer.add(member, data)
        if title == "two of one name":
            writer.add("archive/data.pkl", evil)
        if title == "capitals":
            writer.add("archive/byteorder", b"little")
        yield sample(title, writer.bytes())
    whole = torch_zip(evil, {})
    other = whole.replace(b"archive/data.pkl", b"archive/dota.pkl", 1)
    yield sample("local header with another name", other)
    method = bytearray(whole)
    method[8] = 8
    yield sample("local header with another method", bytes(method))
    sizes = bytearray(whole)
    sizes[18:26] = struct.pack("<2L", 3, 3)
    yield sample("local header with other sizes", bytes(sizes))
    yield sample("bytes after the archive", whole + b"x" * 100)
    yield sample("a long comment", _with_comment(evil, b"c" * 65_000))
    yield sample("a wrong checksum", _wrong_crc(evil))
    yield sample("a first member that hides", _hidden_first(evil))


def _with_comment(content: bytes, comment: bytes) -> bytes:
    writer = ZipWriter()
    for member, data in _members(content).items():
        writer.add(member, data)
    return writer.bytes(comment)


def _wrong_crc(content: bytes) -> bytes:
    writer = ZipWriter()
    writer.add("archive/data.pkl", content, crc=1)
    writer.add("archive/version", b"3\n")
    return writer.bytes()


def _hidden_first(content: bytes) -> bytes:
    """A member in front that the directory does not list."""
    hidden, _, _ = _plain_zip({"x/data.pkl": BENIGN})
    local, central, count = _plain_zip(_members(content), len(hidden))
    start = len(hidden) + len(local)
    return hidden + local + central + _end(count, len(central), start)


def _nested() -> Iterator[Sample]:
    """Archives in archives, as TorchServe and exported programs have them."""
    inner = torch_zip(EVIL_PICKLE, {})
    for member in ("model.pt", "weights.bin", "sub/model.pth", "handler.pkl", "extra.ckpt"):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as archive:
                archive.writestr("MAR-INF/MANIFEST.json", "{}")
                archive.writestr(member, EVIL_PICKLE if member.endswith(".pkl") else inner)
            title = f"{member}, method {method}"
            yield Sample("nested archives", title, "model.mar", "archive", out.getvalue())
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("model.pt", out.getvalue())
    yield Sample("nested archives", "two levels", "model.mar", "archive", twice.getvalue())
