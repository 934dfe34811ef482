"""tiktoken's lists of ranks: a line a token, its bytes in base64, a space, its id."""

import binascii
import re
from collections.abc import Mapping
from typing import Final

from ..errors import FormatError, LimitError

#: Tokens of one list; the largest known have 200,000.
MAX_RANKS: Final = 2_000_000
#: Ids are unsigned numbers of 32 bits in tiktoken.
MAX_RANK: Final = 2**32
_LINE: Final = re.compile(rb"([A-Za-z0-9+/]*={0,2})[ \t]+([0-9]{1,10})[ \t]*")
#: What a first line looks like; a SentencePiece model begins with the tag of a piece.
_FIRST: Final = re.compile(rb"[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]{1,10}[ \t]*\r?(?:\n|\Z)")


def is_ranks(data: bytes) -> bool:
    """Whether a file called tokenizer.model is one of these."""
    return _FIRST.match(data) is not None


def parse_ranks(path: str, data: bytes) -> Mapping[str, int]:
    """Token -> id; bytes of a token stand for the characters of the same numbers. Raises
    FormatError and LimitError."""
    if data.count(b"\n") + data.count(b"\r") > 2 * MAX_RANKS:
        raise LimitError(path, "has too many lines", expected=f"at most {MAX_RANKS:,}")
    ranks: dict[str, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        match = _LINE.fullmatch(line)
        try:
            token = binascii.a2b_base64(match[1]) if match else b""
        except binascii.Error:
            match = None
        rank = int(match[2]) if match else MAX_RANK
        if rank >= MAX_RANK:
            raise FormatError(
                path,
                f"holds {line[:40]!a}",
                rule="tiktoken",
                expected="base64, a space and a number below 2^32",
                where=f"line {number:,}",
            )
        ranks[token.decode("latin-1")] = rank
    return ranks
