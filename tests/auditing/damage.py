"""Ways to damage a checkpoint, as steps that a recipe names: ``[step, argument, ...]``.

Steps work on files in memory, except those of ``ON_DISK``, which are done after writing.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hfinspect.core.tensor import DTYPE_BITS

from ..builders import header_text, raw_safetensors
from ..formats.torch_files import pickled, state_zip, tensor, torch_zip
from .sound import Files, numbers, safetensors, shapes

Header = dict[str, Any]


def opened(data: bytes) -> tuple[Header, bytes]:
    """(header, data) of a safetensors file."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def closed(header: Header, data: bytes) -> bytes:
    return raw_safetensors(header_text(header), data)


def _pieces(data: bytes) -> tuple[dict[str, str], dict[str, tuple[str, list[int], bytes]]]:
    header, body = opened(data)
    metadata = header.pop("__metadata__", {})
    return metadata, {
        name: (info["dtype"], info["shape"], body[slice(*info["data_offsets"])])
        for name, info in header.items()
    }


def _joined(metadata: dict[str, str], pieces: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header: Header = {"__metadata__": metadata} if metadata else {}
    body = b""
    for name, (dtype, shape, content) in pieces.items():
        offsets = [len(body), len(body) + len(content)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        body += content
    return closed(header, body)


# ---- files


def write(files: Files, path: str, text: str, times: int = 1) -> None:
    files[path] = text.encode("utf-8", "surrogatepass") * times


def write_hex(files: Files, path: str, text: str) -> None:
    files[path] = bytes.fromhex(text)


def append(files: Files, path: str, text: str) -> None:
    files[path] += text.encode()


def cut(files: Files, path: str, size: int) -> None:
    files[path] = files[path][:size]


def remove(files: Files, path: str) -> None:
    del files[path]


def rename(files: Files, path: str, new: str) -> None:
    files[new] = files.pop(path)


def copy(files: Files, path: str, new: str) -> None:
    files[new] = files[path]


def zeros(files: Files, path: str) -> None:
    files[path] = bytes(len(files[path]))


def patch(files: Files, path: str, old: str, new: str) -> None:
    """Bytes given in hexadecimal replaced by others of the same length."""
    before = bytes.fromhex(old)
    after = bytes.fromhex(new)
    assert len(before) == len(after)
    assert files[path].count(before) >= 1
    files[path] = files[path].replace(before, after, 1)


def swap(files: Files, path: str, old: str, new: str) -> None:
    """A text replaced wherever it stands."""
    assert old.encode() in files[path]
    files[path] = files[path].replace(old.encode(), new.encode())


def swap_one(files: Files, path: str, old: str, new: str) -> None:
    assert old.encode() in files[path]
    files[path] = files[path].replace(old.encode(), new.encode(), 1)


def set_json(files: Files, path: str, key: str, value: object) -> None:
    """A dotted key; tensor names as keys are given after a slash: ``weight_map/a.b``."""
    content = json.loads(files.get(path, b"{}"))
    *outer, last = key.split("/") if "/" in key else key.split(".")
    place = content
    for name in outer:
        place = place.setdefault(name, {})
    place[last] = value
    files[path] = json.dumps(content).encode()


def unset_json(files: Files, path: str, key: str) -> None:
    content = json.loads(files[path])
    *outer, last = key.split("/") if "/" in key else key.split(".")
    place = content
    for name in outer:
        place = place[name]
    del place[last]
    files[path] = json.dumps(content).encode()


def big_text(files: Files, path: str, key: str, size: int) -> None:
    set_json(files, path, key, "x" * size)


# ---- safetensors


def entry(files: Files, path: str, name: str, key: str, value: object) -> None:
    """One field of one tensor, as it stands; the data stays."""
    header, data = opened(files[path])
    header[name][key] = value
    files[path] = closed(header, data)


def metadata(files: Files, path: str, value: object) -> None:
    header, data = opened(files[path])
    header["__metadata__"] = value
    files[path] = closed(header, data)


def no_metadata(files: Files, path: str) -> None:
    header, data = opened(files[path])
    del header["__metadata__"]
    files[path] = closed(header, data)


def header(files: Files, path: str, old: str, new: str) -> None:
    """The header's text with a part replaced, its length written anew."""
    length = int.from_bytes(files[path][:8], "little")
    text = files[path][8 : 8 + length].decode()
    data = files[path][8 + length :]
    assert old in text
    files[path] = raw_safetensors(text.replace(old, new, 1).encode(), data)


def misalign(files: Files, path: str) -> None:
    length = int.from_bytes(files[path][:8], "little")
    text = files[path][8 : 8 + length]
    data = files[path][8 + length :]
    files[path] = raw_safetensors(text + b" ", data)


def length(files: Files, path: str, value: int) -> None:
    files[path] = struct.pack("<Q", value) + files[path][8:]


def shift(files: Files, path: str, name: str, begin: int, end: int) -> None:
    """Moves a tensor's offsets; the data stays."""
    header, data = opened(files[path])
    start, stop = header[name]["data_offsets"]
    header[name]["data_offsets"] = [start + begin, stop + end]
    files[path] = closed(header, data)


def gap(files: Files, path: str, name: str) -> None:
    """Eight bytes that belong to nobody before a tensor, all later ones moved."""
    header, data = opened(files[path])
    at = header[name]["data_offsets"][0]
    for key, info in header.items():
        if key != "__metadata__" and info["data_offsets"][0] >= at:
            info["data_offsets"] = [offset + 8 for offset in info["data_offsets"]]
    files[path] = closed(header, data[:at] + bytes(8) + data[at:])


def drop(files: Files, path: str, name: str) -> None:
    meta, pieces = _pieces(files[path])
    del pieces[name]
    files[path] = _joined(meta, pieces)


def add(files: Files, path: str, name: str, dtype: str, shape: list[int]) -> None:
    meta, pieces = _pieces(files[path])
    count = 1
    for size in shape:
        count *= size
    pieces[name] = (dtype, shape, numbers(dtype, count, name))
    files[path] = _joined(meta, pieces)


def retype(files: Files, path: str, name: str, dtype: str, shape: list[int] | None = None) -> None:
    """A tensor (or all, ``*``) with new values of another dtype or shape."""
    meta, pieces = _pieces(files[path])
    for key in list(pieces) if name == "*" else [name]:
        size = pieces[key][1] if shape is None else shape
        count = 1
        for part in size:
            count *= part
        pieces[key] = (dtype, size, numbers(dtype, count, key))
    files[path] = _joined(meta, pieces)


def rename_tensor(files: Files, path: str, name: str, new: str) -> None:
    meta, pieces = _pieces(files[path])
    files[path] = _joined(meta, {new if k == name else k: v for k, v in pieces.items()})


def move(files: Files, path: str, name: str, other: str) -> None:
    """A tensor taken out of one shard and put into another."""
    meta, pieces = _pieces(files[path])
    other_meta, others = _pieces(files[other])
    others[name] = pieces.pop(name)
    files[path] = _joined(meta, pieces)
    files[other] = _joined(other_meta, others)


def copy_tensor(files: Files, path: str, name: str, other: str) -> None:
    _, pieces = _pieces(files[path])
    other_meta, others = _pieces(files[other])
    others[name] = pieces[name]
    files[other] = _joined(other_meta, others)


def value(files: Files, path: str, name: str, element: int, hexadecimal: str) -> None:
    """One element's bytes."""
    head, data = opened(files[path])
    item = bytes.fromhex(hexadecimal)
    assert len(item) * 8 == DTYPE_BITS[head[name]["dtype"]]
    at = head[name]["data_offsets"][0] + element * len(item)
    files[path] = closed(head, data[:at] + item + data[at + len(item) :])


def zero_tensor(files: Files, path: str, name: str) -> None:
    head, data = opened(files[path])
    start, stop = head[name]["data_offsets"]
    files[path] = closed(head, data[:start] + bytes(stop - start) + data[stop:])


def secret(files: Files, path: str) -> None:
    """What looks like a token; put together here, so that no scanner takes this file for a leak."""
    metadata(files, path, {"format": "pt", "note": "hf" + "_" + "Ab1" * 12})


def bad_names(files: Files, path: str, count: int) -> None:
    """More findings than are listed of one file."""
    files[path] = safetensors({f"t{number}\x07": ("F16", (1,)) for number in range(count)})


def empty_weights(files: Files, path: str) -> None:
    files[path] = safetensors({})


def large_weights(files: Files, path: str) -> None:
    """Large enough that a file system can leave parts of it out."""
    big = {"a.weight": ("F32", (300, 256)), "b.weight": ("F32", (300, 256))}
    files[path] = safetensors(big)


# ---- pickles


def pickle_of(files: Files, path: str, module: str, name: str) -> None:
    """A plain pickle that calls a global; written by hand, so nothing is imported."""
    call = f"c{module}\n{name}\n".encode() + b"(X\x01\x00\x00\x00atR."
    files[path] = b"\x80\x02" + call


def instance_of(files: Files, path: str, module: str, name: str) -> None:
    """A plain pickle of a bare instance, as an object of settings is pickled."""
    files[path] = b"\x80\x02c" + f"{module}\n{name}\n".encode() + b")\x81}b."


def plain_pickle(files: Files, path: str) -> None:
    files[path] = pickle.dumps({"step": 1, "loss": [0.5]}, 2)


def bin_with(files: Files, path: str, module: str, name: str) -> None:
    """A PyTorch file whose state dict also calls a global."""
    call = f"c{module}\n{name}\n".encode() + b"(X\x01\x00\x00\x00atR"
    files[path] = torch_zip(pickled({"a.weight": tensor("0", (2, 2)), "extra": call}), {"0": 16})


def bin_of(files: Files, path: str, tensors: Mapping[str, list[int]]) -> None:
    files[path] = state_zip({name: tuple(shape) for name, shape in tensors.items()})


def bin_without(files: Files, path: str, name: str) -> None:
    files[path] = state_zip({n: s for n, s in shapes().items() if n != name})


def bin_storage(files: Files, path: str, size: int) -> None:
    """One tensor of 16 bytes whose storage has another size; -1 for none."""
    storages = {} if size < 0 else {"0": size}
    files[path] = torch_zip(pickled({"a.weight": tensor("0", (2, 2))}), storages)


def bin_short_pickle(files: Files, path: str) -> None:
    files[path] = torch_zip(pickled({"a.weight": tensor("0", (2, 2))})[:-20], {"0": 16})


def torchscript(files: Files, path: str) -> None:
    members = {"constants.pkl": pickle.dumps((), 2), "code/__torch__.py": b"def forward(): pass"}
    content = pickled({"a.weight": tensor("0", (2, 2))})
    files[path] = torch_zip(content, {"0": 16}, members=members)


def keras(files: Files, path: str, layer: str) -> None:
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        config = {"class_name": "Functional", "config": {"layers": [{"class_name": layer}]}}
        archive.writestr("config.json", json.dumps(config))
    files[path] = out.getvalue()


# ---- on disk


def record(files: Files, path: str) -> None:
    """Notes a file's checksum as ``hf download --local-dir`` does."""
    digest = hashlib.sha256(files[path]).hexdigest()
    note = f"{'0' * 40}\n{digest}\n1700000000.0\n"
    files[f".cache/huggingface/download/{path}.metadata"] = note.encode()


def _of_posix() -> None:
    """Skips the test on a system that has no such links, modes and holes."""
    if sys.platform == "win32":
        pytest.skip("links, modes and holes of POSIX systems")


def symlink(root: Path, path: str, target: str) -> None:
    _of_posix()
    full = root / path
    if full.exists():
        full.unlink()
    full.symlink_to(target)


def chmod(root: Path, path: str, mode: int) -> None:
    _of_posix()
    (root / path).chmod(mode)


def hole(root: Path, path: str, begin: int, end: int) -> None:
    """Bytes of a file turned into a hole; None for the rest of it."""
    _of_posix()
    full = root / path
    data = full.read_bytes()
    stop = len(data) if end < 0 else end
    with full.open("wb") as file:
        file.write(data[:begin])
        if stop < len(data):
            os.lseek(file.fileno(), 0, os.SEEK_CUR)
            file.seek(stop)
            file.write(data[stop:])
        file.truncate(len(data))


#: Steps on files in memory, by name.
IN_MEMORY: Mapping[str, Callable[..., None]] = {
    step.__name__: step
    for step in (
        write,
        write_hex,
        append,
        cut,
        remove,
        rename,
        copy,
        zeros,
        patch,
        swap,
        swap_one,
        set_json,
        unset_json,
        big_text,
        entry,
        metadata,
        no_metadata,
        header,
        misalign,
        length,
        shift,
        gap,
        drop,
        add,
        retype,
        rename_tensor,
        move,
        copy_tensor,
        value,
        zero_tensor,
        secret,
        bad_names,
        empty_weights,
        large_weights,
        pickle_of,
        instance_of,
        plain_pickle,
        bin_with,
        bin_of,
        bin_without,
        bin_storage,
        bin_short_pickle,
        torchscript,
        keras,
        record,
    )
}
#: Steps on what was written.
ON_DISK: Mapping[str, Callable[..., None]] = {
    step.__name__: step for step in (symlink, chmod, hole)
}
