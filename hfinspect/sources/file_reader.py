"""One file of a source on the Hub, as the header formats read it."""

from collections.abc import Sequence

from ..core.records import dataclass
from .source import Source


@dataclass(frozen=True)
class FileReader:
    """One file of a source (see ``formats.base.Reader``)."""

    source: Source
    path: str

    @property
    def size(self) -> int | None:
        return self.source.known_size(self.path)

    def read(self, start: int, stop: int) -> bytes:
        return self.source.read(self.path, start, stop)

    def read_spans(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        return self.source.read_spans(self.path, spans)
