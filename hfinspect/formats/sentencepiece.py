"""The pieces of a SentencePiece model, by walking the protocol buffer; nothing else is kept.

Format: sentencepiece_model.proto. A ModelProto has a SentencePiece for each id, in order (field 1:
its text, a score, its type) and how it was trained (field 2). Numbers as a library reads them: the
last of equal fields counts, an unknown value of an enum is passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ..errors import FormatError, LimitError

#: Pieces of one model; the largest known have 262,144.
MAX_PIECES: Final = 2_000_000
#: Fields of the file and of the message on its training; a list of inputs may be long.
MAX_MODEL_FIELDS: Final = 3_000_000
#: Fields of one piece; there are three.
MAX_PIECE_FIELDS: Final = 64

_TYPES: Final = ("normal", "unknown", "control", "user_defined", "unused", "byte")
_MODELS: Final = ("unigram", "bpe", "word", "char")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
#: Fields of the message on training: the pieces of roles, and the numbers.
_ROLES: Final = {45: "unk", 46: "bos", 47: "eos", 48: "pad"}
_DEFAULT_ROLES: Final = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
_MODEL_TYPE = 3


class SentencePieces(NamedTuple):
    """``pieces`` by id, each with its type; ``roles`` are those whose piece has the type that the
    library expects of it: ``unknown`` for unk, ``control`` for the others."""

    algorithm: str
    pieces: Mapping[str, int]
    types: Mapping[str, int]
    roles: Mapping[str, str]


def parse_sentencepiece(path: str, data: bytes) -> SentencePieces:
    """Raises FormatError for what is no model of SentencePiece, and LimitError."""
    ids: dict[str, int] = {}
    types: list[str] = []
    training: list[tuple[int, int | bytes]] = []
    for number, value in _fields(path, data, MAX_MODEL_FIELDS):
        if number == 1 and isinstance(value, bytes):
            text, kind = _piece(path, value, len(types))
            if text in ids:
                raise FormatError(path, f"has the piece {text!a:.80} twice", rule="sentencepiece")
            ids[text] = len(types)
            types.append(kind)
            if len(types) > MAX_PIECES:
                raise LimitError(path, "has too many pieces", expected=f"at most {MAX_PIECES:,}")
        elif number == 2 and isinstance(value, bytes):
            training += _fields(path, value, MAX_MODEL_FIELDS)
    if (unknown := types.count("unknown")) != 1:
        text = f"has {unknown:,} pieces for unknown text"
        raise FormatError(path, text, rule="sentencepiece", expected="one")
    algorithm, names = "unigram", dict(_DEFAULT_ROLES)
    for number, value in training:
        if number == _MODEL_TYPE and type(value) is int and 1 <= value <= len(_MODELS):
            algorithm = _MODELS[value - 1]
        elif number in _ROLES and isinstance(value, bytes):
            names[_ROLES[number]] = value.decode("utf-8", "backslashreplace")
    wanted = {role: "unknown" if role == "unk" else "control" for role in names}
    roles = {
        role: name
        for role, name in names.items()
        if name in ids and types[ids[name]] == wanted[role]
    }
    return SentencePieces(algorithm, ids, dict(Counter(types)), roles)


def _piece(path: str, data: bytes, at: int) -> tuple[str, str]:
    text, kind = b"", _TYPES[0]
    for number, value in _fields(path, data, MAX_PIECE_FIELDS):
        if number == 1 and isinstance(value, bytes):
            text = value
        elif number == 3 and type(value) is int and 1 <= value <= len(_TYPES):
            kind = _TYPES[value - 1]
    if not text:
        raise FormatError(path, f"piece {at:,} has no text", rule="sentencepiece")
    return text.decode("utf-8", "backslashreplace"), kind


def _fields(path: str, data: bytes, most: int) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each number and each run of bytes in a message."""
    at, stop = 0, len(data)
    while at < stop:
        most -= 1
        if most < 0:
            raise LimitError(path, "has too many fields in one message")
        tag, at = _varint(path, data, at)
        number, kind = divmod(tag, 8)
        if number == 0:
            raise _broken(path, "a field has the number 0", at)
        if kind == _VARINT:
            value, at = _varint(path, data, at)
            yield number, value
        elif kind == _BYTES:
            length, at = _varint(path, data, at)
            if length > stop - at:
                raise _broken(path, "a field runs past its message", at)
            yield number, data[at : at + length]
            at += length
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise _broken(path, f"a field has the wire type {kind}", at)
    if at != stop:
        raise _broken(path, "a field runs past its message", at)


def _varint(path: str, data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for byte in data[at : at + 10]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & (2**64 - 1), at + shift // 7
    raise _broken(path, "a number does not end", at)


def _broken(path: str, problem: str, at: int) -> FormatError:
    return FormatError(path, problem, rule="sentencepiece", where=f"byte {at:,}")
