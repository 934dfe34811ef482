"""What PyTorch and GGUF headers cost over HTTP, by the meter of the loopback Hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

import hfinspect
from hfinspect.formats.gguf import gguf
from hfinspect.formats.torch import torch
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


CONFIG = json.dumps({"model_type": "unheard-of"}).encode()
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
QUANTIZED = json.dumps({"model_type": "unheard-of", "quantization_config": GPTQ}).encode()

#: What may lie next to a .bin; none of it may cost a fifth request.
BESIDE: list[dict[str, bytes]] = [
    {},
    {"config.json": CONFIG},
    {"config.json": CONFIG, "generation_config.json": b"{}", "tokenizer.json": b"{}"},
    {"config.json": QUANTIZED, "quantize_config.json": json.dumps(GPTQ).encode()},
    {"config.json": CONFIG, "tf_model.h5": b"\x89HDF", "training_args.bin": b"PK", "x.onnx": b""},
]


@pytest.mark.parametrize("revision", [None, "v1"])
@pytest.mark.parametrize("beside", BESIDE)
def test_a_sparse_10_gb_bin_costs_four_requests_and_less_than_a_megabyte(
    hub: HubServer, beside: dict[str, bytes], revision: str | None
) -> None:
    """The list, the config, where the file is, and both of its ends."""
    archive = stored(sparse_archive(300, 10**10))
    repo = hub.add("org/model", {"pytorch_model.bin": archive, **beside})
    repo.tags["v1"] = repo.sha
    inspection = hfinspect.inspect(
        "org/model", revision=revision, token=False, endpoint=hub.endpoint
    )
    assert len(inspection.tensors) == 300
    assert "torch-magic" not in {finding.rule for finding in inspection.findings}
    assert len(hub.meter.requests) <= 4
    assert hub.meter.count("cdn") == 1
    assert hub.meter.sent() < 1_000_000


@pytest.mark.parametrize("shards", [2, 7])
def test_sharded_bins_cost_two_requests_each(hub: HubServer, shards: int) -> None:
    """In addition to the list and the config: where each is, and both of its ends. No index is
    needed where the names count the shards."""
    names = [f"pytorch_model-{n:05d}-of-{shards:05d}.bin" for n in range(1, shards + 1)]
    files: dict[str, bytes | StoredFile] = {
        name: stored(sparse_archive(300, 10**10, f"shard{n}")) for n, name in enumerate(names)
    }
    index = {"weight_map": {f"shard{n}.0.weight": name for n, name in enumerate(names)}}
    files["pytorch_model.bin.index.json"] = json.dumps(index).encode()
    hub.add("org/model", {**files, "config.json": CONFIG})
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint)
    assert len(inspection.tensors) == 300 * shards
    assert len(hub.meter.requests) <= 2 + 2 * shards
    assert hub.meter.sent() < 1_000_000 * shards


def test_storage_that_sends_one_range_at_a_time(hub: HubServer) -> None:
    """It sends the whole file instead, which is hung up on; it is not asked so again."""
    hub.joins_ranges = False
    names = [f"pytorch_model-{n:05d}-of-00003.bin" for n in (1, 2, 3)]
    archives = {
        name: stored(sparse_archive(300, 10**10, f"shard{n}")) for n, name in enumerate(names)
    }
    hub.add("org/model", archives)
    model = source(hub, "org/model")
    for name in names:
        assert len(torch.FORMAT.read_header(model.reader(name)).tensors) == 300
    several = [r for r in hub.meter.requests if "," in r.headers.get("range", "")]
    assert sum(request.host == "cdn" for request in several) == 1
    assert hub.meter.count("cdn") == 2 + 2 + 2
    assert sum(r.sent for r in hub.meter.requests if r not in several) < 1_000_000


@pytest.mark.parametrize("status", [400, 403, 416, 500, 501])
def test_storage_that_refuses_several_ranges(hub: HubServer, status: int) -> None:
    """Whatever it says, the ranges are then requested one by one."""
    hub.refuses_several = status
    hub.add("org/model", {"pytorch_model.bin": stored(sparse_archive(300, 10**10))})
    model = source(hub, "org/model")
    for _ in range(2):
        reader = model.reader("pytorch_model.bin")
        assert len(torch.FORMAT.read_header(reader).tensors) == 300
    asked = [request.headers.get("range", "") for request in hub.meter.requests if request.sent]
    assert sum("," not in ranges for ranges in asked if ranges) == 4
    assert not model.client.joins_ranges


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
