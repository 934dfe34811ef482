"""What is made of a model's files, kept in memory for the next question about it."""

from collections.abc import Sequence
from typing import Final

#: Bytes that are kept of a model: parsed headers of a million tensors take about 20 MB.
MAX_BYTES_PARSED: Final = 32 << 20


class ParsedInMemory:
    """A ``ParsedCache`` of one model at one commit, up to ``MAX_BYTES_PARSED`` bytes."""

    def __init__(self) -> None:
        self._parsed_bytes: dict[tuple[str, str], bytes] = {}
        self._left = MAX_BYTES_PARSED

    def load_parsed(self, path: str, what: str, *, of_commit: bool = False) -> bytes | None:  # noqa: ARG002
        return self._parsed_bytes.get((path, what))

    def store_parsed(
        self,
        path: str,
        what: str,
        parsed: bytes,
        *,
        of_commit: bool = False,  # noqa: ARG002
        instead_of: Sequence[str] = (),  # noqa: ARG002 - the bytes that were read stay, too
    ) -> None:
        if len(parsed) <= self._left:
            self._left -= len(parsed)
            self._parsed_bytes[path, what] = parsed
