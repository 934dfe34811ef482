"""What lies next to the model: judged by headers where they are cheap, else by name, and said."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.checkpoints.alternatives import MAX_HUB_FILES

from ..builders import Tensors, write_safetensors, write_sharded
from ..formats.torch_files import state_zip
from ..hub_repos import StoredFile, weights
from ..hub_server import HubServer

MODEL: Tensors = {f"layers.{n}.weight": ("F32", (8, 8)) for n in range(4)}
HALF: Tensors = {name: ("F16", shape) for name, (_, shape) in MODEL.items()}
LORA: Tensors = {
    f"lora_unet_{n}.{part}": ("F16", shape)
    for n in range(2)
    for part, shape in [("lora_up.weight", (8, 2)), ("lora_down.weight", (2, 8)), ("alpha", ())]
}
PEFT: Tensors = {"base_model.model.q.lora_A.weight": ("F32", (2, 8))}
OTHER: Tensors = {"layers.0.weight": ("F32", (8, 8)), "layers.1.weight": ("F32", (4, 4))}

CASES = [
    ("copy.safetensors", MODEL, "the same tensors in the same precision, by its header"),
    ("half.safetensors", HALF, "the same tensors in F16, by its header"),
    (
        "mixed.safetensors",
        {**HALF, "layers.0.weight": ("F32", (8, 8))},
        "the same tensors in F16 and F32, by its header",
    ),
    (
        "pruned.safetensors",
        {"layers.0.weight": ("F32", (8, 8))},
        "a part of the same tensors, by its header: 1 of 4",
    ),
    (
        "ema.safetensors",
        {**MODEL, "ema.decay": ("F32", ())},
        "the same tensors and 1 more, by its header",
    ),
    (
        "detail.safetensors",
        LORA,
        "an adapter, by its header: all 6 tensors are low-rank factors",
    ),
    ("extra.safetensors", PEFT, "an adapter, by its header: all 1 tensors are low-rank factors"),
    (
        "stranger.safetensors",
        OTHER,
        "another checkpoint, by its header: 1 of 2 tensors have a name and shape of the one read",
    ),
    ("empty.safetensors", {}, "no tensors in it, by its header"),
]


@pytest.mark.parametrize(("name", "tensors", "reason"), CASES)
def test_what_lies_beside_is_told_by_its_header(
    tmp_path: Path, name: str, tensors: Tensors, reason: str
) -> None:
    write_safetensors(tmp_path / "model.safetensors", MODEL)
    write_safetensors(tmp_path / name, tensors)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.parameters == 256
    assert inspection.other_files == {name: reason}


@pytest.mark.parametrize(("name", "tensors", "reason"), CASES)
def test_the_same_on_the_hub(hub: HubServer, name: str, tensors: Tensors, reason: str) -> None:
    other = weights(tensors)
    if tensors == MODEL:  # of another hash: the data differs
        other = StoredFile(other.head + b"\1", other.size, lfs=True)
    hub.add("org/model", {"model.safetensors": weights(MODEL), name: other})
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint)
    assert inspection.other_files == {name: reason}
    assert (hub.meter.count("hub"), hub.meter.count("cdn")) == (3, 2)


def test_a_hash_tells_the_same_bytes_without_a_request(hub: HubServer) -> None:
    hub.add("org/model", {"model.safetensors": weights(MODEL), "copy.safetensors": weights(MODEL)})
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint)
    assert inspection.other_files == {"copy.safetensors": "the same bytes, by its hash"}
    assert (hub.meter.count("hub"), hub.meter.count("cdn")) == (2, 1)


def test_of_many_files_on_the_hub_few_are_read(hub: HubServer) -> None:
    names = [f"style-{n}.safetensors" for n in range(20)]
    files = {name: weights(HALF) for name in names}
    hub.add("org/model", {"model.safetensors": weights(MODEL), **files})
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint)
    assert hub.meter.count("cdn") == 1 + MAX_HUB_FILES
    reasons = list(inspection.other_files.values())
    assert reasons.count("the same tensors in F16, by its header") == MAX_HUB_FILES
    assert reasons.count("another checkpoint, by its name") == 20 - MAX_HUB_FILES


def test_conventional_names_are_believed_on_the_hub(hub: HubServer) -> None:
    """The usual copies cost no request; the reason says that only a name spoke."""
    beside = ["model.fp16.safetensors", "pytorch_model.bin", "adapter_model.safetensors"]
    files = {name: weights({**MODEL, name: ("F32", (n,))}) for n, name in enumerate(beside)}
    hub.add("org/model", {"model.safetensors": weights(MODEL), **files})
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint)
    assert hub.meter.count("cdn") == 1
    assert set(inspection.other_files) == set(beside)
    assert all(reason.endswith(", by its name") for reason in inspection.other_files.values())


def test_a_variant_in_shards_and_a_pickle(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", MODEL)
    halves = [dict(list(HALF.items())[:2]), dict(list(HALF.items())[2:])]
    names = [f"model.fp16-0000{n}-of-00002.safetensors" for n in (1, 2)]
    write_sharded(tmp_path, halves, names=names, index=False)
    (tmp_path / "pytorch_model.bin").write_bytes(state_zip({n: s for n, (_, s) in MODEL.items()}))
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.other_files == {
        **dict.fromkeys(names, "the variant fp16; the same tensors in F16, by its header"),
        "pytorch_model.bin": "another copy for PyTorch; the same tensors in the same precision, "
        "by its header",
    }


def test_a_broken_neighbour_stops_nothing(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", MODEL)
    (tmp_path / "extra.safetensors").write_bytes(b"\xff" * 100)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.parameters == 256
    assert inspection.other_files == {"extra.safetensors": "another checkpoint, by its name"}
