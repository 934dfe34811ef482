"""Whole models from disk: what is read, what is missing, what disagrees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hfinspect.checkpoints.read import no_weights, read_checkpoint, read_model
from hfinspect.core.checkpoint import Checkpoint
from hfinspect.errors import (
    ConfigError,
    EntryNotFoundError,
    FormatError,
    NothingToInspectError,
    ShardIndexError,
    UnsupportedFormatError,
)
from hfinspect.sources.local import LocalSource

from ..builders import (
    Tensors,
    shard_names,
    write_config,
    write_index,
    write_safetensors,
    write_sharded,
    write_sparse,
)

ONE: Tensors = {"a.weight": ("F32", (2, 3)), "a.bias": ("F32", (2,))}
TWO: Tensors = {"b.weight": ("BF16", (4, 4))}
THREE: Tensors = {"c.weight": ("BF16", (8,))}
INDEX = "model.safetensors.index.json"


def checkpoint(path: Path, file: str | None = None) -> Checkpoint:
    return read_checkpoint(LocalSource(path), file=file)


def names(of: Checkpoint) -> list[str]:
    return [tensor.name for shard in of.shards for tensor in shard.tensors]


def rules(of: Checkpoint) -> list[str]:
    return [finding.rule for finding in of.findings]


def test_single_file(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", {**ONE, **TWO})
    read = checkpoint(tmp_path)
    assert names(read) == ["a.weight", "a.bias", "b.weight"]
    assert (read.format, read.index, read.findings, read.complete) == (
        "safetensors",
        None,
        (),
        True,
    )
    assert read.chosen_because == "the only safetensors file"


def test_file_given_by_its_path(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "odd name.safetensors", TWO)
    source = LocalSource(tmp_path / "odd name.safetensors")
    assert names(read_checkpoint(source, file=source.file)) == ["b.weight"]


def test_shards_with_an_index_that_agrees(tmp_path: Path) -> None:
    write_sharded(tmp_path, [ONE, TWO, THREE])
    read = checkpoint(tmp_path)
    assert [shard.file for shard in read.shards] == shard_names("model", ".safetensors", 3)
    assert read.index is not None
    assert read.index.metadata == {"total_size": 32 + 32 + 16}
    assert (read.findings, read.missing) == ((), ())
    assert read.chosen_because == f"the safetensors shards of {INDEX}"


def test_shards_without_an_index(tmp_path: Path) -> None:
    write_sharded(tmp_path, [ONE, TWO], index=False)
    read = checkpoint(tmp_path)
    assert len(read.shards) == 2
    assert (read.index, read.findings, read.complete) == (None, (), True)


@pytest.mark.parametrize("index", [True, False])
def test_missing_shard_is_never_silent(tmp_path: Path, index: bool) -> None:
    paths = write_sharded(tmp_path, [ONE, TWO, THREE], index=index)
    paths[1].unlink()
    read = checkpoint(tmp_path)
    assert [shard.file for shard in read.shards] == [paths[0].name, paths[2].name]
    assert read.missing == (paths[1].name,)
    assert not read.complete
    assert [(f.rule, f.file, f.severity) for f in read.findings] == [
        ("missing-shard", paths[1].name, "error")
    ]


def test_all_shards_missing_is_an_error(tmp_path: Path) -> None:
    for path in write_sharded(tmp_path, [ONE, TWO]):
        path.unlink()
    with pytest.raises(EntryNotFoundError, match="none of the 2 shards that it names is there"):
        checkpoint(tmp_path, INDEX)


def test_odd_shard_names_are_followed(tmp_path: Path) -> None:
    write_sharded(tmp_path, [ONE, TWO], names=["layers.safetensors", "rest/x.safetensors"])
    write_safetensors(tmp_path / "unrelated.safetensors", THREE)
    read = checkpoint(tmp_path)
    assert [shard.file for shard in read.shards] == ["layers.safetensors", "rest/x.safetensors"]
    assert read.others == ("unrelated.safetensors",)
    assert read.findings == ()


def test_index_that_names_fewer_shards_than_there_are(tmp_path: Path) -> None:
    first, second = write_sharded(tmp_path, [ONE, TWO])
    write_index(tmp_path / INDEX, dict.fromkeys(ONE, first.name))
    read = checkpoint(tmp_path)
    assert [shard.file for shard in read.shards] == [first.name]
    assert read.reasons == {second.name: "not named by the index"}


def test_index_and_shards_that_disagree_are_compared(tmp_path: Path) -> None:
    first, second = write_sharded(tmp_path, [ONE, TWO])
    write_index(
        tmp_path / INDEX,
        {"a.weight": second.name, "b.weight": second.name, "ghost": first.name},
    )
    read = checkpoint(tmp_path)
    tensor_of = {finding.rule: finding.tensor for finding in read.findings}
    assert tensor_of == {
        "tensor-not-in-shards": "ghost",
        "tensor-not-in-index": "a.bias",
        "tensor-in-other-shard": "a.weight",
    }


def test_tensor_in_two_shards_is_said(tmp_path: Path) -> None:
    write_sharded(tmp_path, [ONE, {**ONE, **TWO}], index=False)
    read = checkpoint(tmp_path)
    assert [(f.rule, f.text) for f in read.findings] == [
        ("tensor-in-two-shards", "more than one shard holds a.weight, a.bias")
    ]


def test_stray_single_file_is_left_aside_and_said(tmp_path: Path) -> None:
    write_sharded(tmp_path, [ONE, TWO])
    write_safetensors(tmp_path / "model.safetensors", ONE)
    read = checkpoint(tmp_path)
    assert len(read.shards) == 2
    assert read.reasons == {
        "model.safetensors": "a single file next to the shards; some loaders take it first; "
        "a part of the same tensors, by its header: 2 of 3"
    }


def test_index_in_a_folder_names_its_neighbours(tmp_path: Path) -> None:
    write_sharded(tmp_path / "sub", [ONE, TWO])
    read = checkpoint(tmp_path)
    expected = [f"sub/{name}" for name in shard_names("model", ".safetensors", 2)]
    assert [shard.file for shard in read.shards] == expected
    assert read.findings == ()


def test_broken_shard_is_named(tmp_path: Path) -> None:
    paths = write_sharded(tmp_path, [ONE, TWO])
    write_sparse(paths[1], b"<html>nope</html>", 17)
    with pytest.raises(FormatError, match=r"model-00002-of-00002\.safetensors: an HTML page"):
        checkpoint(tmp_path)


def test_index_that_leads_out_is_refused(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "secret.safetensors", ONE)
    root = tmp_path / "root"
    write_safetensors(root / "a.safetensors", ONE)
    write_index(root / INDEX, {"a.weight": "../secret.safetensors"})
    with pytest.raises(ShardIndexError, match="leaves the directory"):
        checkpoint(root)


def test_hundred_sparse_gigabytes_in_an_instant(tmp_path: Path) -> None:
    big: Tensors = {f"w{i}": ("BF16", (5 * 2**20, 2**10)) for i in range(10)}
    write_safetensors(tmp_path / "model.safetensors", big)
    assert (tmp_path / "model.safetensors").stat().st_size > 100 * 2**30
    assert sum(t.nbytes for t in checkpoint(tmp_path).shards[0].tensors) == 100 * 2**30


def test_model_is_weights_and_its_small_files(tmp_path: Path) -> None:
    write_sharded(tmp_path, [ONE, TWO])
    write_config(tmp_path, {"model_type": "bert"})
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 8}))
    (tmp_path / "hf_quant_config.json").write_text("{")
    (tmp_path / "model.onnx").write_bytes(b"")
    model = read_model(LocalSource(tmp_path))
    assert model.config == {"model_type": "bert"}
    assert model.companions == {"adapter_config.json": {"r": 8}}
    assert [(f.rule, f.file) for f in model.findings] == [("unreadable", "hf_quant_config.json")]
    assert model.checkpoint is not None
    assert len(model.checkpoint.shards) == 2
    assert [(other.path, other.reason) for other in model.unread] == [("model.onnx", "ONNX")]


def test_config_beside_the_weights_comes_before_that_of_the_root(tmp_path: Path) -> None:
    write_config(tmp_path, {"model_type": "root"})
    write_config(tmp_path / "unet", {"model_type": "unet"})
    write_safetensors(tmp_path / "unet" / "a.safetensors", ONE)
    write_safetensors(tmp_path / "vae" / "a.safetensors", ONE)
    model = read_model(LocalSource(tmp_path), file="unet/a.safetensors")
    assert model.config == {"model_type": "unet"}
    model = read_model(LocalSource(tmp_path), file="vae/a.safetensors")
    assert model.config == {"model_type": "root"}


def test_weights_can_be_left_alone(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"broken")
    write_config(tmp_path, {"model_type": "bert"})
    model = read_model(LocalSource(tmp_path), weights=False)
    assert (model.config, model.checkpoint) == ({"model_type": "bert"}, None)


def test_broken_config_does_not_hide_the_weights(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", ONE)
    (tmp_path / "config.json").write_text("{")
    model = read_model(LocalSource(tmp_path))
    assert model.config is None
    assert isinstance(model.config_error, ConfigError)
    assert model.checkpoint is not None


def test_models_without_weights_have_their_errors(tmp_path: Path) -> None:
    source = LocalSource(tmp_path)
    assert read_model(source).checkpoint is None
    with pytest.raises(NothingToInspectError, match=r"neither weights nor a config\.json"):
        checkpoint(tmp_path)
    write_config(tmp_path, {})
    with pytest.raises(NothingToInspectError, match="holds no weights") as nothing:
        checkpoint(tmp_path)
    assert nothing.value.hint == "read its config.json instead"
    (tmp_path / "tf_model.h5").write_bytes(b"")
    with pytest.raises(UnsupportedFormatError, match=r"not read \(tf_model\.h5: Keras HDF5, 0 B\)"):
        checkpoint(tmp_path)
    files = LocalSource(tmp_path).list_files()
    assert isinstance(no_weights(source, files), UnsupportedFormatError)
