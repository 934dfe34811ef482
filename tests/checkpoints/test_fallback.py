"""Where the first choice is no weights that are read: the next copy, or an error that names it."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

import hfinspect
from hfinspect.checkpoints.fallback import MAX_REFUSED
from hfinspect.errors import FormatError, ShardIndexError, UnsupportedFormatError

from ..builders import Tensors, write_config, write_safetensors, write_sharded
from ..formats.gguf_files import GgufWriter
from ..formats.torch_files import state_zip
from ..hub_server import HubServer
from ..inspecting.test_pipelines import write_pipeline

MODEL: Tensors = {"a.weight": ("F32", (4, 4)), "b.weight": ("F32", (4,))}
LLAMA = {
    "model_type": "llama",
    "vocab_size": 32,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}


def tar() -> bytes:
    """What torch.save wrote before 0.1.10."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            entry = tarfile.TarInfo(name)
            entry.size = 4
            archive.addfile(entry, io.BytesIO(b"\x80\x02}."))
    return buffer.getvalue()


def gguf() -> bytes:
    writer = GgufWriter().text("general.architecture", "unheard-of")
    return writer.tensor("a.weight", (4, 4), 0, 0).bytes(64)


# ---- refused: the next copy


@pytest.mark.parametrize(
    ("name", "content", "format_"),
    [("weights.pth", state_zip({"a.weight": (4, 4)}), "torch"), ("model.gguf", gguf(), "gguf")],
)
def test_a_refused_file_is_passed_over(
    tmp_path: Path, name: str, content: bytes, format_: str
) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(tar())
    (tmp_path / name).write_bytes(content)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.format == format_
    assert [file.path for file in inspection.files] == [name]
    assert "tar format" in inspection.other_files["pytorch_model.bin"]
    assert "pytorch_model.bin comes first, but is not read" in inspection.chosen_because
    [finding] = [f for f in inspection.findings if f.rule == "passed-over"]
    assert (finding.file, finding.severity) == ("pytorch_model.bin", "warning")


def test_the_same_on_the_hub(hub: HubServer) -> None:
    """Two requests more, for the copy that is read; the config is requested once."""
    files = {"pytorch_model.bin": tar(), "model.gguf": gguf(), "config.json": b"{}"}
    hub.add("org/model", files)
    inspection = hfinspect.inspect("org/model", token=False, endpoint=hub.endpoint)
    assert inspection.format == "gguf"
    assert (hub.meter.count("hub"), hub.meter.count("cdn")) == (4, 2)


def test_without_a_copy_the_config_promises(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(tar())
    write_config(tmp_path, LLAMA)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.source == "config"
    assert inspection.parameters == hfinspect.predict(LLAMA).parameters
    assert any("tar format" in finding.text for finding in inspection.findings)
    with pytest.raises(UnsupportedFormatError, match="tar format"):
        hfinspect.inspect(tmp_path, source="checkpoint")


@pytest.mark.parametrize(
    "beside",
    ["adapter_model.safetensors", "checkpoint-1/model.safetensors", "training_args.bin"],
)
def test_what_is_no_copy_is_not_taken_for_one(tmp_path: Path, beside: str) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(tar())
    write_safetensors(tmp_path / beside, MODEL)
    with pytest.raises(
        UnsupportedFormatError, match=r"pytorch_model\.bin: a PyTorch file in the tar"
    ):
        hfinspect.inspect(tmp_path)


def test_a_refused_file_that_was_asked_for_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(tar())
    (tmp_path / "model.gguf").write_bytes(gguf())
    write_config(tmp_path, LLAMA)
    with pytest.raises(UnsupportedFormatError, match="tar format"):
        hfinspect.inspect(tmp_path, file="pytorch_model.bin")


def test_a_folder_of_refused_files_ends(tmp_path: Path) -> None:
    for number in range(3 * MAX_REFUSED):
        (tmp_path / f"m{number:02d}.bin").write_bytes(tar())
    with pytest.raises(UnsupportedFormatError, match="tar format"):
        hfinspect.inspect(tmp_path)


def test_a_refused_component_leaves_the_others(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    (root / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    (root / "vae" / "diffusion_pytorch_model.bin").write_bytes(tar())
    inspection = hfinspect.inspect(root)
    assert [member.name for member in inspection.members] == [
        "text_encoder",
        "text_encoder_2",
        "unet",
    ]
    assert "tar format" in inspection.other_files["vae/diffusion_pytorch_model.bin"]


# ---- damaged: an error that names the other copy


def damaged(tmp_path: Path, what: str) -> str:
    """A directory whose first choice is damaged; the error's hint."""
    error: type[Exception] = FormatError
    if what == "safetensors":
        (tmp_path / "model.safetensors").write_bytes(b"\xff" * 100)
    elif what == "index":
        write_sharded(tmp_path, [MODEL, {"c.weight": ("F32", (4,))}])
        (tmp_path / "model.safetensors.index.json").write_text("{")
        error = ShardIndexError
    elif what == "pointer":
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
        (tmp_path / "model.safetensors").write_text(pointer)
    with pytest.raises(error) as caught:
        hfinspect.inspect(tmp_path)
    return str(getattr(caught.value, "hint", "") or "")


@pytest.mark.parametrize("what", ["safetensors", "index", "pointer"])
def test_a_damaged_file_is_an_error_that_names_the_other_copy(tmp_path: Path, what: str) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(state_zip({"a.weight": (4, 4)}))
    assert damaged(tmp_path, what).endswith("another copy is there: pytorch_model.bin")
    assert hfinspect.inspect(tmp_path, file="pytorch_model.bin").parameters == 16


def test_without_another_copy_none_is_named(tmp_path: Path) -> None:
    assert "--file" not in damaged(tmp_path, "safetensors")


def test_an_incomplete_copy_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model-00001-of-00002.bin").write_bytes(state_zip({"a.weight": (4, 4)}))
    assert "--file" not in damaged(tmp_path, "safetensors")


def test_a_sharded_copy_is_named_by_its_index(tmp_path: Path) -> None:
    names = [f"pytorch_model-0000{n}-of-00002.bin" for n in (1, 2)]
    for name in names:
        (tmp_path / name).write_bytes(state_zip({f"{name}.weight": (4, 4)}))
    index = {"weight_map": {f"{name}.weight": name for name in names}}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    hint = damaged(tmp_path, "safetensors")
    assert hint.endswith("another copy is there: pytorch_model.bin.index.json")
    assert hfinspect.inspect(tmp_path, file="pytorch_model.bin.index.json").parameters == 32
