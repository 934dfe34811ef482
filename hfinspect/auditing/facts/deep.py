"""Reading whole files: their checksums, the values of their tensors, and their headers by a second
parser. In bounded memory."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...checkpoints.file_bytes import SourceReader
from ...core.checkpoint import Shard
from ...core.tensor import StoredTensor
from ...core.verdicts import Unchecked
from ...errors import HfinspectError
from ...formats.torch.zip_directory import data_offset, read_directory
from ...formats.window import Windows
from ...sources.disk import recorded_hashes
from ...sources.source import Source
from .second_reading import NoSecondReadingError, disagreement
from .target import DeepFact, WeightFact
from .values import FLOATS, ValueScan

#: Read at once; slices and marks of it take about twice as much again.
CHUNK_BYTES = 4 * 1024 * 1024

BytesProgress = Callable[[int, int], None]


class Segment(NamedTuple):
    """The bytes of one tensor in its file."""

    start: int
    stop: int
    tensor: str
    dtype: str


class DeepScan:
    """Reads every weight file, and every other file whose checksum is recorded, once."""

    def __init__(
        self, source: Source, weights: Mapping[str, WeightFact], progress: BytesProgress | None
    ) -> None:
        self.source = source
        self.weights = weights
        self.progress = progress
        self.unchecked: list[Unchecked] = []
        self._alone = False
        files = source.list_files()
        disk = source.on_disk
        noted = {} if disk is None else recorded_hashes(disk)
        self.recorded = {
            path: entry.sha256 or noted[path]
            for path, entry in files.items()
            if entry.sha256 or path in noted
        }
        self.paths = sorted({*weights, *self.recorded})
        self.total = sum(files[path].size or 0 for path in self.paths)
        self.nbytes_read = 0

    def run(self) -> dict[str, DeepFact]:
        if not self.recorded:
            why = "neither the Hub nor its cache recorded any for these files"
            self.unchecked.append(Unchecked("checksums", why))
        return {path: self._file(path) for path in self.paths}

    def _file(self, path: str) -> DeepFact:
        weight = self.weights.get(path)
        recorded = self.recorded.get(path)
        try:
            segments = self._segments(weight) if weight is not None else []
            digest, scans = self._read(path, segments)
            differs = self._second_reading(weight) if weight is not None else ""
        except HfinspectError as error:
            return DeepFact(path, "", recorded, error=error)
        bad = [(s.tensor, v.count, v.first, v.nan) for s, v in scans if v.count]
        zero = [s.tensor for s, v in scans if v.zero and s.stop > s.start]
        return DeepFact(path, digest, recorded, tuple(bad), tuple(zero), differs)

    def _read(
        self, path: str, segments: Sequence[Segment]
    ) -> tuple[str, list[tuple[Segment, ValueScan]]]:
        digest = hashlib.sha256()
        scans = [(segment, ValueScan(FLOATS.get(segment.dtype))) for segment in segments]
        at = position = 0
        while data := self.source.read(path, position, position + CHUNK_BYTES):
            digest.update(data)
            end = position + len(data)
            # Segments are in order and apart, so each chunk meets a run of them.
            while at < len(scans) and scans[at][0].start < end:
                segment, scan = scans[at]
                scan.feed(data[max(segment.start - position, 0) : segment.stop - position])
                if segment.stop > end:
                    break
                at += 1
            position = end
            self.nbytes_read += len(data)
            if self.progress is not None:
                self.progress(self.nbytes_read, self.total)
        return digest.hexdigest(), scans

    def _second_reading(self, weight: WeightFact) -> str:
        """What the library of the format reads otherwise; said once where it cannot be asked."""
        if self._alone:
            return ""
        try:
            return disagreement(self.source, weight)
        except NoSecondReadingError as error:
            self._alone = True
            self.unchecked.append(Unchecked("headers by a second parser", str(error)))
            return ""

    # ---- where the tensors are

    def _segments(self, weight: WeightFact) -> list[Segment]:
        shard = weight.shard
        if shard is None:
            self._skip(weight.path, "its header could not be read")
            return []
        if self._is_big_endian(shard):
            self._skip(weight.path, "it is big-endian")
            return []
        segments = [
            Segment(t.offset, t.offset + t.nbytes, t.name, t.dtype)
            for t in shard.tensors
            if t.offset is not None and shard.format not in ("torch", "torchscript")
        ]
        if shard.format in ("torch", "torchscript"):
            segments = self._storages(weight.path, shard)
        segments.sort()
        apart: list[Segment] = []
        for segment in segments:
            if apart and segment.start < apart[-1].stop:
                continue  # overlaps are a finding of their own, and hostile ones cost squares
            apart.append(segment)
        packed = {s.dtype for s in apart if s.dtype not in FLOATS and not _is_integer(s.dtype)}
        if packed:
            self._skip(weight.path, f"{', '.join(sorted(packed))} hold no plain floats", "NaN")
        return apart

    def _storages(self, path: str, shard: Shard) -> list[Segment]:
        """Storages of a PyTorch file, each under the name of a tensor in it."""
        first: dict[str, StoredTensor] = {}
        for tensor in shard.tensors:
            if tensor.storage is not None:
                first.setdefault(tensor.storage.key, tensor)
        if shard.metadata.get("legacy"):
            return [
                Segment(t.offset, t.offset + t.nbytes, t.name, t.dtype)
                for t in first.values()
                if t.offset is not None
            ]
        file = Windows(SourceReader(self.source, path))
        segments = []
        for entry in read_directory(file).entries:
            _, mark, key = entry.name.rpartition("/data/")
            stored = first.get(key) if mark else None
            if stored is None or entry.method:
                continue
            # The reader keeps what it read, so each local header gets one of its own.
            begin = data_offset(Windows(SourceReader(self.source, path)), entry)
            segments.append(Segment(begin, begin + entry.size, stored.name, stored.dtype))
        return segments

    def _is_big_endian(self, shard: Shard) -> bool:
        return "big" in (shard.metadata.get("byteorder"), shard.metadata.get("GGUF.byte_order"))

    def _skip(self, path: str, why: str, what: str = "values") -> None:
        self.unchecked.append(Unchecked(f"{what} of {path}", why))


def _is_integer(dtype: str) -> bool:
    return dtype == "BOOL" or dtype.lstrip("UI").isdigit()
