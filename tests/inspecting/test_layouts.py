"""What a user points at, and what comes of it: archives, training checkpoints, indexes, formats
that are not read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import NothingToInspectError, UnsupportedFormatError

from ..builders import SMALL_BERT, write_config, write_safetensors, write_sharded
from ..cli.program import hfinspect as run
from ..formats.torch_files import state_zip
from ..schemas import conforms

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "checkpoints"


def fixture(case: str, tmp_path: Path, name: str) -> Path:
    """A recorded file under the name that a repo would give it."""
    source = next(path for path in (FIXTURES / case).iterdir() if path.suffix != ".json")
    shutil.copy(source, tmp_path / name)
    return tmp_path


def inspect(target: Path) -> hfinspect.Inspection:
    inspection = hfinspect.inspect(target)
    conforms(inspection.to_dict(tensors=True))
    return inspection


def test_torchscript_is_described(tmp_path: Path) -> None:
    """The head is the embedding's storage, the boolean mask a matter of its name alone."""
    inspection = inspect(fixture("torch-script", tmp_path, "model.pt"))
    assert inspection.contents["archive"] == "TorchScript"
    assert inspection.tied
    assert "torchscript" in {finding.rule for finding in inspection.findings}
    assert "archive TorchScript" in run(str(tmp_path)).out


def test_a_training_checkpoint_is_described(tmp_path: Path) -> None:
    """Only the part that is the model counts, without its mask; the rest is listed."""
    inspection = inspect(fixture("torch-training", tmp_path, "last.ckpt"))
    assert inspection.contents["model_in"] == "state_dict"
    assert "optimizer_states" in str(inspection.contents["also_holds"])
    assert inspection.parameters == 28 + 4 + 4 + 16 + 4
    assert inspection.parameters_with_head == inspection.parameters + 28
    assert "the model is in state_dict" in run(str(tmp_path)).out


def test_an_optimizer_alone_is_no_model(tmp_path: Path) -> None:
    inspection = inspect(fixture("torch-optimizer", tmp_path, "state.bin"))
    assert inspection.contents["kind"] == "optimizer"
    assert inspection.parameters == 0
    assert "no-tensors" in {finding.rule for finding in inspection.findings}


def test_legacy_files_say_so(tmp_path: Path) -> None:
    inspection = inspect(fixture("torch-legacy-views", tmp_path, "pytorch_model.bin"))
    assert inspection.contents["archive"] == "PyTorch before 1.6"


def test_a_pickled_modules_buffers_are_no_parameters(tmp_path: Path) -> None:
    inspection = inspect(fixture("torch-module", tmp_path, "model.pth"))
    assert inspection.contents["kind"] == "module"
    assert [t.name for t in inspection.tensors if t.role is hfinspect.Role.BUFFER] == ["mask"]
    assert inspection.buffers == 9


def test_a_pytorch_file_of_a_known_model(tmp_path: Path) -> None:
    shapes = {tensor.name: tensor.shape for tensor in hfinspect.predict(SMALL_BERT).tensors}
    write_config(tmp_path, SMALL_BERT)
    (tmp_path / "pytorch_model.bin").write_bytes(state_zip(shapes))
    inspection = inspect(tmp_path)
    assert inspection.parameters == hfinspect.predict(SMALL_BERT).parameters
    assert inspection.expectation is not None
    assert inspection.expectation.agrees
    assert (inspection.format, inspection.contents) == ("torch", {})


def test_an_index_stands_for_its_shards(tmp_path: Path) -> None:
    tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(SMALL_BERT).tensors}
    names = list(tensors)
    halves = [{n: tensors[n] for n in names[::2]}, {n: tensors[n] for n in names[1::2]}]
    write_sharded(tmp_path, halves)
    write_config(tmp_path, SMALL_BERT)
    for target in (tmp_path, tmp_path / "model.safetensors.index.json"):
        inspection = inspect(target)
        assert inspection.parameters == hfinspect.predict(SMALL_BERT).parameters
        assert len(inspection.files) == 2
    assert inspect(tmp_path / "config.json").source == "config"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("model.onnx", "ONNX"),
        ("tf_model.h5", "Keras HDF5"),
        ("flax_model.msgpack", "Flax"),
        ("saved_model.pb", "TensorFlow"),
        ("openvino_model.bin", "OpenVINO"),
    ],
)
def test_other_formats_are_refused_by_name(file: str, name: str, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(b"\x08\x07\x12\x07")
    with pytest.raises(UnsupportedFormatError, match=name):
        hfinspect.inspect(tmp_path)
    write_config(tmp_path, SMALL_BERT)
    inspection = inspect(tmp_path)
    assert inspection.source == "config"
    assert [f.file for f in inspection.findings if f.rule == "unread-weights"] == [file]
    write_safetensors(tmp_path / "model.safetensors", {"embeddings.weight": ("F32", (60, 16))})
    beside = inspect(tmp_path)
    assert (beside.source, beside.other_files) == ("checkpoint", {file: f"{name}, not read"})


def test_nothing_at_all(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# empty")
    with pytest.raises(NothingToInspectError):
        hfinspect.inspect(tmp_path)
