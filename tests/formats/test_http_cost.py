"""What PyTorch and GGUF headers cost over HTTP, by the meter of the loopback Hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hfinspect.formats import gguf, torch
from hfinspect.formats.window import NEXT_STEP

from ..hub_repos import StoredFile
from ..hub_server import HubServer
from ..sources.hub_support import source
from .readers import SparseReader
from .test_gguf import tokenizer
from .test_torch import sparse_archive


@dataclass(frozen=True)
class PieceFile(StoredFile):
    """A stored file that is zero but for some pieces anywhere in it."""

    pieces: Mapping[int, bytes] = field(default_factory=dict)

    def read(self, start: int, stop: int) -> bytes:
        if min(stop, self.size) <= start:
            return b""
        return SparseReader("", self.size, self.pieces).read(start, stop)


def stored(file: SparseReader) -> PieceFile:
    return PieceFile(b"", file.size, True, file.pieces)


def test_a_sparse_10_gb_bin_costs_four_requests_and_less_than_a_megabyte(hub: HubServer) -> None:
    hub.add("org/model", {"pytorch_model.bin": stored(sparse_archive(300, 10**10))})
    model = source(hub, "org/model")
    assert list(model.list_files()) == ["pytorch_model.bin"]
    shard = torch.FORMAT.read_header(model.reader("pytorch_model.bin"))
    assert len(shard.tensors) == 300
    assert shard.findings == ()
    assert len(hub.meter.requests) <= 4
    assert hub.meter.sent() < 1_000_000


def test_a_5_gb_gguf_costs_its_header_and_one_step_further(hub: HubServer) -> None:
    head = tokenizer(150_000).header()
    file = SparseReader("m.gguf", 5 * 10**9, {0: head})
    hub.add("org/model", {"m.gguf": stored(file)})
    model = source(hub, "org/model")
    model.list_files()
    hub.meter.clear()
    shard = gguf.FORMAT.read_header(model.reader("m.gguf"))
    assert shard.header_bytes == len(head)
    assert hub.meter.sent("cdn") <= len(head) + NEXT_STEP
