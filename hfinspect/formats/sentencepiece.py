"""The pieces of a SentencePiece model, by walking the protocol buffer; nothing else is kept.

Format: sentencepiece_model.proto. A ModelProto has a SentencePiece for each id, in order (field 1:
its text, a score, its type) and how it was trained (field 2). Numbers as a library reads them: the
last of equal fields counts, an unknown value of an enum is passed over.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ..errors import FormatError, LimitError

#: Pieces of one model; the largest known have 262,144.
MAX_PIECES: Final = 2_000_000
#: Fields of one model that are walked over; the largest known have 262,144 pieces, one field each.
MAX_MODEL_FIELDS: Final = 3_000_000

_TYPES: Final = ("normal", "unknown", "control", "user_defined", "unused", "byte")
_MODELS: Final = ("unigram", "bpe", "word", "char")
#: A text of less than 128 bytes, a score and a type, in that order, as all libraries write them.
_USUAL: Final = re.compile(rb"\x0a([\x01-\x7f])(.{1,127})\x15.{4}(?:\x18(.))?", re.DOTALL)
_VARINT = 0
_FIXED64 = 1
_BYTES = 2
_FIXED32 = 5
#: Fields of the message on training: the pieces of roles, and the numbers.
_ROLES: Final = {45: "unk", 46: "bos", 47: "eos", 48: "pad"}
_DEFAULT_PIECES: Final = {"unk": b"<unk>", "bos": b"<s>", "eos": b"</s>", "pad": b"<pad>"}
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
    walk = _PieceWalk(path)
    ids: dict[str, int] = {}
    types: list[str] = []
    training: dict[int, int | bytes] = {}
    for number, value in walk.fields(data):
        if number == 1 and isinstance(value, bytes):
            text, kind = walk.piece(value, len(types))
            if text in ids:
                raise FormatError(path, f"has the piece {text!a:.80} twice", rule="sentencepiece")
            ids[text] = len(types)
            types.append(kind)
            if len(types) > MAX_PIECES:
                raise LimitError(path, "has too many pieces", expected=f"at most {MAX_PIECES:,}")
        elif number == 2 and isinstance(value, bytes):
            training.update(_valid(walk.fields(value)))
    if (unknown := types.count("unknown")) != 1:
        text = f"has {unknown:,} pieces for unknown text"
        raise FormatError(path, text, rule="sentencepiece", expected="one")
    names = {
        role: piece.decode("utf-8", "backslashreplace")
        for number, role in _ROLES.items()
        if isinstance(piece := training.get(number, _DEFAULT_PIECES[role]), bytes)
    }
    type_of = {role: "unknown" if role == "unk" else "control" for role in names}
    roles = {
        role: name
        for role, name in names.items()
        if name in ids and types[ids[name]] == type_of[role]
    }
    algorithm = training.get(_MODEL_TYPE, 1)
    kind = _MODELS[algorithm - 1] if isinstance(algorithm, int) else _MODELS[0]
    return SentencePieces(kind, ids, dict(Counter(types)), roles)


def _valid(fields: Iterable[tuple[int, int | bytes]]) -> Iterator[tuple[int, int | bytes]]:
    """The fields that are wanted of the message on training, of the type that they should have."""
    for number, value in fields:
        is_piece = number in _ROLES and isinstance(value, bytes)
        is_type = number == _MODEL_TYPE and isinstance(value, int)
        if is_piece or (is_type and value in range(1, len(_MODELS) + 1)):
            yield number, value


class _PieceWalk:
    """Goes over the fields of one file's messages, as many as a real one has at most."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._left = MAX_MODEL_FIELDS

    def piece(self, data: bytes, at: int) -> tuple[str, str]:
        """Text and type of one piece; nearly all are a short text, a score, and perhaps a type."""
        if match := _USUAL.fullmatch(data):
            length, text, kind_of = match.groups(b"\1")
            if length[0] == len(text) and kind_of[0] in range(1, len(_TYPES) + 1):
                return text.decode("utf-8", "backslashreplace"), _TYPES[kind_of[0] - 1]
        text = b""
        kind = _TYPES[0]
        for number, value in self.fields(data):
            if number == 1 and isinstance(value, bytes):
                text = value
            elif number == 3 and isinstance(value, int) and 1 <= value <= len(_TYPES):
                kind = _TYPES[value - 1]
        if not text:
            raise FormatError(self._path, f"piece {at:,} has no text", rule="sentencepiece")
        return text.decode("utf-8", "backslashreplace"), kind

    def fields(self, data: bytes) -> Iterator[tuple[int, int | bytes]]:
        """(number, value) of each number and each run of bytes in a message."""
        path = self._path
        at = 0
        stop = len(data)
        while at < stop:
            self._left -= 1
            if self._left < 0:
                limit = f"at most {MAX_MODEL_FIELDS:,}"
                raise LimitError(path, "has too many fields", expected=limit)
            tag, at = _varint(path, data, at)
            number = tag >> 3
            kind = tag & 7
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
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    value = shift = 0
    for byte in data[at : at + 10]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & (2**64 - 1), at + shift // 7
    raise _broken(path, "a number does not end", at)


def _broken(path: str, problem: str, at: int) -> FormatError:
    return FormatError(path, problem, rule="sentencepiece", where=f"byte {at:,}")
