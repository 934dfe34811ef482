"""Weight files that are of another format than their names say are called what they are."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import FormatError
from hfinspect.formats.other_format import format_of

from ..auditing.sound import safetensors
from .gguf_files import one_tensor
from .torch_files import state_zip

SAFETENSORS = safetensors({"w": ("F16", (2, 2))})


def npz() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("w.npy", b"\x93NUMPY\x01\x00")
    return file.getvalue()


def torch_file() -> bytes:
    return state_zip({"w": (2, 2)})


class Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        import os

        return os.system, ("true",)


CONTENTS = {
    "a PyTorch file": torch_file(),
    "a GGUF file": one_tensor().bytes(32),
    "a safetensors file": SAFETENSORS,
    "a gzip archive": gzip.compress(SAFETENSORS),
    "a NumPy archive (.npz)": npz(),
    "a pickle": pickle.dumps({"w": [1.0]}),
    "an HDF5 file (Keras or TensorFlow weights)": b"\x89HDF\r\n\x1a\n" + bytes(600),
}
PROMISES = {
    "model.safetensors": "a safetensors file",
    "model.gguf": "a GGUF file",
    "pytorch_model.bin": "a PyTorch file",
}


@pytest.mark.parametrize("really", CONTENTS)
def test_first_bytes_say_the_format(really: str) -> None:
    assert format_of(CONTENTS[really][:512]) == really


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize("really", ["a safetensors file", "a GGUF file", "a PyTorch file"])
def test_the_real_format_is_named(really: str, name: str, tmp_path: Path) -> None:
    if PROMISES[name] == really:
        return
    (tmp_path / name).write_bytes(CONTENTS[really])
    if really == "a PyTorch file" and name == "pytorch_model.bin":
        return
    with pytest.raises(FormatError, match=f"{name}: is {really} by its first bytes") as caught:
        hfinspect.inspect(tmp_path)
    assert caught.value.rule == "other-format"
    result = hfinspect.audit(tmp_path)
    assert "HI127" in {finding.code for finding in result.failing()}
    assert result.whole is False
    assert result.problems[0].kind == "not_this_format"


@pytest.mark.parametrize(
    "really", ["a gzip archive", "a NumPy archive (.npz)", "a pickle"], ids=lambda one: one[2:6]
)
def test_archives_and_pickles_in_place_of_safetensors(really: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(CONTENTS[really])
    with pytest.raises(FormatError) as caught:
        hfinspect.inspect(tmp_path)
    assert f"is {really} by its first bytes" in str(caught.value)


@pytest.mark.parametrize("name", ["model.safetensors", "model.gguf"])
def test_a_pickle_under_another_name_is_looked_through(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(pickle.dumps(Runs()))
    codes = {finding.code for finding in hfinspect.audit(tmp_path).failing()}
    assert {"HI127", "HI401"} <= codes


def test_a_header_over_the_librarys_limit_is_to_be_split(tmp_path: Path) -> None:
    length = 126_000_000
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(length.to_bytes(8, "little") + b'{"a.0": ')
        file.truncate(8 + length + 1000)
    with pytest.raises(FormatError, match="has a header of 126,000,000 bytes") as caught:
        hfinspect.inspect(tmp_path)
    assert "library's own limit" in str(caught.value)
    assert caught.value.hint is not None and "split" in caught.value.hint
