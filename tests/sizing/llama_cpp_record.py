"""The record of what llama.cpp reserves: its compact form, and GGUF files made from it again.

fixtures/oracle/llama_cpp.json is written by record_llama_cpp.py. ``common`` are key-values that
most tiny files share (``{}`` stands for the architecture), ``files`` what each has in their place.
Layers with equal tensors share one line: ``blk.*.attn_q.weight 256x64 F32 0-3``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hfinspect.formats.gguf.ggml_types import GGML_TYPES
from tests.formats.gguf_files import ARRAY, BOOL, F32, STRING, U32, U64, GgufWriter

RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "llama_cpp.json"
FULL_SIZE = RECORD.with_name("llama_cpp_full_size.json")

Keys = dict[str, Any]
Tensor = tuple[str, tuple[int, ...], str]


class Reserved(NamedTuple):
    """Bytes that llama.cpp reserved."""

    model: int
    kv: int
    rs: int
    compute: int


class Setting(NamedTuple):
    """How a context was made, with llama.cpp's own names."""

    n_ctx: int
    n_seq_max: int
    n_ubatch: int
    kv_unified: bool
    swa_full: bool
    type_k: str
    type_v: str
    flash_attn: bool
    n_outputs: int = 0

    @classmethod
    def of(cls, text: str) -> Setting:
        n_ctx, n_seq, n_ubatch, unified, full, type_k, type_v, flash, *outputs = text.split(",")
        return cls(
            int(n_ctx),
            int(n_seq),
            int(n_ubatch),
            unified == "1",
            full == "1",
            type_k,
            type_v,
            flash == "1",
            int(outputs[0]) if outputs else 0,
        )


class Recorded(NamedTuple):
    """One file: its header and, for each setting, the bytes or the words of a refusal."""

    name: str
    keys: Keys
    tensors: list[Tensor]
    settings: dict[Setting, Reserved | str]

    @property
    def architecture(self) -> str:
        return str(self.keys["general.architecture"])

    def gguf(self) -> bytes:
        """The header as a file's first bytes, without any weights."""
        writer = GgufWriter()
        for key, value in self.keys.items():
            write_key(writer, key, value)
        offset = 0
        for name, shape, dtype in self.tensors:
            kind = _KINDS[dtype]
            writer.tensor(name, shape, kind, offset)
            offset += -(-GGML_TYPES[kind].stored_bytes(shape) // 32) * 32
        return writer.bytes(0)


_KINDS = {form.name: number for number, form in GGML_TYPES.items()}


def write_key(writer: GgufWriter, key: str, value: Any) -> None:
    if isinstance(value, list):
        kind = STRING if isinstance(value[0], str) else _kind(value[0])
        body = b"".join(_packed(writer, kind, item) for item in value)
        writer.raw_key(key, ARRAY, writer.pack("IQ", kind, len(value)) + body)
    else:
        kind = STRING if isinstance(value, str) else _kind(value)
        writer.raw_key(key, kind, _packed(writer, kind, value))


def _kind(value: bool | int | float) -> int:
    if isinstance(value, bool):
        return BOOL
    return F32 if isinstance(value, float) else U32 if 0 <= value < 2**32 else U64


def _packed(writer: GgufWriter, kind: int, value: Any) -> bytes:
    if kind == STRING:
        return writer.string(value)
    return writer.pack({BOOL: "?", F32: "f", U32: "I", U64: "Q"}[kind], value)


def pack(record: Mapping[str, Mapping[str, Any]], heading: Mapping[str, Any]) -> str:
    """``record``: name -> keys, tensors, settings as they were read; the text of the JSON file."""
    plain = {name: _without_name(entry["keys"]) for name, entry in record.items()}
    counts = Counter(
        (key, json.dumps(value)) for keys in plain.values() for key, value in keys.items()
    )
    common = {
        key: json.loads(text) for (key, text), n in sorted(counts.items()) if n * 2 > len(plain)
    }
    lines = []
    for name, entry in sorted(record.items()):
        keys = plain[name]
        own = {
            key: value for key, value in keys.items() if key not in common or common[key] != value
        }
        lines.append(
            f"{json.dumps(name)}: "
            + json.dumps(
                {
                    "keys": own,
                    "without": [key for key in common if key not in keys],
                    "tensors": _folded(entry["tensors"]),
                    "settings": entry["settings"],
                }
            )
        )
    head = json.dumps({**heading, "common": common})[:-1]
    return head + ', "files": {\n' + ",\n".join(lines) + "\n}}\n"


def _without_name(keys: Mapping[str, Any]) -> Keys:
    own = f"{keys['general.architecture']}."
    return {
        "{}." + key.removeprefix(own) if key.startswith(own) else key: value
        for key, value in keys.items()
    }


def _folded(tensors: Iterable[Any]) -> list[str]:
    layers: dict[tuple[str, str, str], list[int | None]] = {}
    for name, shape, dtype in tensors:
        match = re.fullmatch(r"((?:enc\.|dec\.)?blk\.)(\d+)(\..*)", name)
        key = (f"{match[1]}*{match[3]}" if match else name, "x".join(map(str, shape)), dtype)
        layers.setdefault(key, []).append(int(match[2]) if match else None)
    return [" ".join((*key, _ranges(numbers))).strip() for key, numbers in layers.items()]


def _ranges(numbers: list[int | None]) -> str:
    parts: list[list[int]] = []
    for number in sorted(n for n in numbers if n is not None):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}-{last}" if first < last else f"{first}" for first, last in parts)


def _unfolded(lines: Iterable[str]) -> Iterator[Tensor]:
    for line in lines:
        name, shape, dtype, *layers = line.split(" ")
        sizes = tuple(int(size) for size in shape.split("x"))
        for part in layers[0].split(",") if layers else ():
            first, _, last = part.partition("-")
            for layer in range(int(first), int(last or first) + 1):
                yield name.replace("*", str(layer), 1), sizes, dtype
        if not layers:
            yield name, sizes, dtype


def unpack(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What ``pack`` was given."""
    record = {}
    for name, entry in data["files"].items():
        keys = {key: value for key, value in data["common"].items() if key not in entry["without"]}
        keys |= entry["keys"]
        own = keys["general.architecture"]
        record[name] = {
            "keys": {key.replace("{}", own, 1): value for key, value in keys.items()},
            "tensors": list(_unfolded(entry["tensors"])),
            "settings": entry["settings"],
        }
    return record


@cache
def recorded(path: Path = RECORD) -> tuple[Recorded, ...]:
    """Every file of the record."""
    return tuple(
        Recorded(
            name,
            entry["keys"],
            entry["tensors"],
            {
                Setting.of(text): numbers if isinstance(numbers, str) else Reserved(*numbers)
                for text, numbers in entry["settings"].items()
            },
        )
        for name, entry in unpack(json.loads(path.read_text())).items()
    )
