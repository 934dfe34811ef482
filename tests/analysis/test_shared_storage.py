"""PyTorch files whose tensors share a storage: its bytes count once, in every command."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

import hfinspect
from hfinspect.analysis import shared_storage
from hfinspect.analysis.shared_storage import sharing_of, stored_bytes
from hfinspect.core.checkpoint import Shard
from hfinspect.core.extents import Extent
from hfinspect.core.tensor import StoredTensor
from hfinspect.scanning import scan
from hfinspect.scanning.rows import COLUMNS, row_of

from ..cli.program import hfinspect as program
from ..formats.torch_files import FLOAT, ZipWriter, pickled, tensor
from ..schemas import conforms

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "fixtures" / "models"
VIEWS = ROOT / "fixtures" / "checkpoints" / "torch-zip-views"


def write_bin(
    directory: Path,
    shapes: Mapping[str, Sequence[int]],
    views: Mapping[str, str],
    *,
    kind: bytes = FLOAT,
    item: int = 4,
) -> Path:
    """A pytorch_model.bin whose data is a hole; ``views`` are further names of its tensors."""
    entries: dict[str, bytes] = {}
    sizes: dict[str, int] = {}
    for key, (name, shape) in enumerate(shapes.items()):
        entries[name] = tensor(str(key), shape, kind=kind)
        sizes[str(key)] = item * math.prod(shape)
    for name, base in views.items():
        entries[name] = entries[base]
    writer = ZipWriter()
    writer.add("archive/data.pkl", pickled(entries))
    for storage, nbytes in sizes.items():
        writer.add(f"archive/data/{storage}", b"", size=nbytes)
    writer.add("archive/version", b"3\n")
    size, pieces = writer.finish()
    path = directory / "pytorch_model.bin"
    with path.open("wb") as file:
        for at, data in pieces.items():
            file.seek(at)
            file.write(data)
        file.truncate(size)
    return path


def released(directory: Path, model: str, kind: bytes, item: int) -> Path:
    """The files of a recorded config as .bin, its tied tensors views of what they are tied to."""
    config = json.loads((MODELS / model / "config.json").read_text())
    prediction = hfinspect.predict(config)
    (directory / "config.json").write_text(json.dumps(config))
    shapes = {spec.name: spec.shape for spec in prediction.tensors}
    return write_bin(directory, shapes, prediction.tied, kind=kind, item=item)


HALF = b"ctorch\nHalfStorage\n"


@pytest.mark.parametrize(
    ("model", "kind", "item", "nbytes", "view", "base"),
    [
        (
            "bloom-1b4-zh",
            HALF,
            2,
            2_606_223_360,
            "lm_head.weight",
            "transformer.word_embeddings.weight",
        ),
        (
            "bert-base-uncased",
            FLOAT,
            4,
            438_057_192,
            "cls.predictions.decoder.weight",
            "bert.embeddings.word_embeddings.weight",
        ),
    ],
)
def test_every_command_counts_a_storage_once(
    tmp_path: Path, model: str, kind: bytes, item: int, nbytes: int, view: str, base: str
) -> None:
    file = released(tmp_path, model, kind, item)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.nbytes == nbytes
    assert inspection.nbytes <= file.stat().st_size
    assert inspection.stored == nbytes // item
    assert sum(t.nbytes or 0 for t in inspection.components.values()) == nbytes
    assert sum(t.nbytes or 0 for t in inspection.dtypes.values()) == nbytes
    document = inspection.to_dict(tensors=True)
    conforms(document)
    assert document["nbytes"] == nbytes
    assert sum(t["nbytes"] - t["shared_nbytes"] for t in document["tensors"]) == nbytes
    tensors = {t["name"]: t for t in document["tensors"]}
    assert tensors[view]["view_of"] == base
    assert tensors[base]["view_of"] is None
    assert [row_of(r, tuple(COLUMNS))["nbytes"] for r in scan([str(tmp_path)])] == [nbytes]
    compared = hfinspect.compare(str(tmp_path), str(tmp_path)).to_dict()
    assert [one["nbytes"] for one in compared["models"]] == [nbytes, nbytes]


def test_a_view_is_named_as_one_and_not_as_stored_twice(tmp_path: Path) -> None:
    released(tmp_path, "bert-base-uncased", FLOAT, 4)
    shown = program(str(tmp_path)).out
    name = "cls.predictions.decoder.weight is a view of bert.embeddings.word_embeddings.weight"
    assert name in " ".join(shown.split())
    assert "is stored although it is tied" not in shown
    listed = program("tensors", str(tmp_path), "-f", "csv").out
    header, *lines = listed.splitlines()
    column = header.split(",").index("view_of")
    cells = {line.split(",")[0]: line.split(",")[column] for line in lines}
    assert cells["cls.predictions.decoder.weight"] == "bert.embeddings.word_embeddings.weight"
    assert cells["bert.embeddings.word_embeddings.weight"] == ""


def test_an_index_may_state_either_sum(tmp_path: Path) -> None:
    name = "pytorch_model-00001-of-00001.bin"
    write_bin(tmp_path, {"a.weight": (6, 4)}, {"b.weight": "a.weight"}).rename(tmp_path / name)
    for total, codes in ((96, []), (192, []), (95, ["HI207"])):
        index = {
            "metadata": {"total_size": total},
            "weight_map": {"a.weight": name, "b.weight": name},
        }
        (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
        audited = hfinspect.audit(tmp_path, select=["HI207"])
        assert [finding.code for finding in audited.findings] == codes
        assert all(finding.expected == "96" for finding in audited.findings)


def test_parts_of_a_storage() -> None:
    """A matrix of 96 bytes and six views of it, three repeated numbers, one number, five."""
    inspection = hfinspect.inspect(VIEWS)
    assert inspection.nbytes == 96 + 12 + 4 + 20
    assert inspection.stored == 24 + 3 + 1 + 5
    views = {tensor.name: tensor.view_of for tensor in inspection.tensors if tensor.view_of}
    assert views == dict.fromkeys(
        ("tied", "transposed", "reshaped", "rows", "last_row", "column"), "base"
    )


def stored(name: str, extent: Extent) -> StoredTensor:
    nbytes = extent.nbytes
    assert nbytes is not None
    return StoredTensor(name, "I8", (nbytes,), nbytes, nbytes, None, extent)


def extents() -> st.SearchStrategy[Extent]:
    """Views that do not overlap themselves, in storages of some hundred bytes."""
    steps = st.lists(st.tuples(st.integers(0, 5), st.integers(2, 4)), max_size=2)

    def made(key: str, start: int, run: int, gaps: list[tuple[int, int]]) -> Extent:
        reach = run
        runs = []
        for gap, count in gaps:
            runs.append((reach + gap, count))
            reach = (reach + gap) * (count - 1) + reach
        return Extent(key, start, run, tuple(runs))

    return st.builds(made, st.sampled_from("ab"), st.integers(0, 60), st.integers(1, 9), steps)


def bytes_of(extent: Extent) -> set[tuple[str, int]]:
    return {(extent.key, at) for begin, end in extent.runs() for at in range(begin, end)}


@given(st.lists(extents(), min_size=1, max_size=8), st.sets(st.integers(0, 7)))
def test_sums_are_those_of_the_bytes_one_by_one(parts: list[Extent], tied: set[int]) -> None:
    tensors = [stored(str(at), extent) for at, extent in enumerate(parts)]
    names = {str(at) for at in tied}
    shard = Shard("x.bin", "torch", tuple(tensors), None, 0)
    shared = sharing_of([shard], names)
    claimed: set[tuple[str, int]] = set()
    for at in sorted(range(len(parts)), key=lambda at: str(at) in names):
        mine = bytes_of(parts[at])
        both = mine & claimed
        assert (shared[at].nbytes if at in shared else 0) == len(both)
        assert (at in shared and shared[at].view_of is not None) == bool(both)
        if both:
            other = shared[at].view_of
            assert other is not None
            assert bytes_of(parts[int(other)]) & mine
        claimed |= mine
    assert stored_bytes([shard]) == len(claimed)


def test_more_runs_than_anyone_writes_count_by_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_storage, "MAX_RUNS", 10)
    columns = Extent("a", 0, 4, ((8, 20),))
    whole = Extent("a", 0, 160)
    shard = Shard("x.bin", "torch", (stored("c", columns), stored("w", whole)), None, 0)
    assert sharing_of([shard], ())[1].view_of == "c"
    assert stored_bytes([shard]) <= 160


def test_the_overview_names_the_tensor_that_a_finding_is_about() -> None:
    """Three views that overlap are three lines that differ."""
    text = hfinspect.inspect(VIEWS).to_markdown()
    lines = [line for line in text.splitlines() if "shares some, not all" in line]
    assert len(lines) == len(set(lines)) > 1
