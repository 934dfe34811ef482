"""Which files are the model: decided by names and sizes, and said why."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.checkpoints.choose import WeightChoice, choose, unsupported
from hfinspect.checkpoints.filenames import FileKind, weight_name
from hfinspect.errors import EntryNotFoundError, UnsupportedFormatError, UsageError
from hfinspect.sources.source import FileEntry

from ..builders import shard_names


def listing(*paths: str, **sizes: int) -> dict[str, FileEntry]:
    return {path: FileEntry(path, sizes.get(path, 100)) for path in paths}


def chosen(files: Mapping[str, FileEntry], pick: str | None = None) -> WeightChoice:
    choice = choose(files, pick)
    assert choice is not None
    return choice


SHARDS = shard_names("model", ".safetensors", 3)
INDEX = "model.safetensors.index.json"
BIN_SHARDS = shard_names("pytorch_model", ".bin", 2)
BIN_INDEX = "pytorch_model.bin.index.json"

#: files -> the ones that are the model
CASES: dict[str, tuple[list[str], list[str]]] = {
    "one file": (["config.json", "model.safetensors"], ["model.safetensors"]),
    "shards with index": ([INDEX, *SHARDS, "config.json"], SHARDS),
    "stray single file next to a full index": ([INDEX, *SHARDS, "model.safetensors"], SHARDS),
    "single file next to an incomplete set": (
        [INDEX, *SHARDS[1:], "model.safetensors"],
        ["model.safetensors"],
    ),
    "single file next to an index of nothing": (
        [INDEX, "model.safetensors"],
        ["model.safetensors"],
    ),
    "shards without index": (SHARDS, SHARDS),
    "safetensors before PyTorch": (
        ["pytorch_model.bin", "model.safetensors", "tf_model.h5"],
        ["model.safetensors"],
    ),
    "whole PyTorch before incomplete safetensors": (
        [*SHARDS[:2], BIN_INDEX, *BIN_SHARDS],
        BIN_SHARDS,
    ),
    "PyTorch shards": ([BIN_INDEX, *BIN_SHARDS, "training_args.bin"], BIN_SHARDS),
    "PyTorch before GGUF": (["pytorch_model.bin", "model-q4.gguf"], ["pytorch_model.bin"]),
    "plain before variant": (
        ["model.fp16.safetensors", "model.safetensors"],
        ["model.safetensors"],
    ),
    "variant alone": (["model.fp16.safetensors"], ["model.fp16.safetensors"]),
    "plain PyTorch next to variant safetensors": (
        ["model.fp16.safetensors", "pytorch_model.bin"],
        ["model.fp16.safetensors"],
    ),
    "variant shards, old naming": (
        ["model.safetensors.index.fp16.json", "model-00001-of-00001.fp16.safetensors"],
        ["model-00001-of-00001.fp16.safetensors"],
    ),
    "variant shards, new naming": (
        ["model.fp16.safetensors.index.json", "model.fp16-00001-of-00001.safetensors"],
        ["model.fp16-00001-of-00001.safetensors"],
    ),
    "converted before original": (
        ["consolidated.safetensors", *SHARDS],
        SHARDS,
    ),
    "original alone": (["consolidated.safetensors", "params.json"], ["consolidated.safetensors"]),
    "original in a folder": (
        ["original/consolidated.00.pth", "model.safetensors"],
        ["model.safetensors"],
    ),
    "model before adapter": (
        ["adapter_model.safetensors", "model.safetensors"],
        ["model.safetensors"],
    ),
    "adapter alone": (["adapter_model.safetensors"], ["adapter_model.safetensors"]),
    "adapter before training state": (
        ["adapter_model.bin", "optimizer.pt", "rng_state_0.pth", "scheduler.pt"],
        ["adapter_model.bin"],
    ),
    "root before folders": (
        ["checkpoint-500/model.safetensors", "weights.safetensors"],
        ["weights.safetensors"],
    ),
    "only in a folder": (["sub/model.safetensors"], ["sub/model.safetensors"]),
    "name of its own": (["my-model.safetensors", "lora.safetensors"], ["my-model.safetensors"]),
    "diffusers component": (
        ["config.json", "diffusion_pytorch_model.bin", "diffusion_pytorch_model.safetensors"],
        ["diffusion_pytorch_model.safetensors"],
    ),
    "split GGUF": (
        ["q4-00001-of-00002.gguf", "q4-00002-of-00002.gguf"],
        ["q4-00001-of-00002.gguf", "q4-00002-of-00002.gguf"],
    ),
    "shards counted from zero": (
        ["model-00000-of-00002.safetensors", "model-00001-of-00002.safetensors"],
        ["model-00000-of-00002.safetensors", "model-00001-of-00002.safetensors"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_found(case: str) -> None:
    files, expected = CASES[case]
    choice = chosen(listing(*files))
    assert list(choice.files) == expected
    assert choice.because
    assert choice.missing == ()
    weights = {path for path in files if (name := weight_name(path)) and not name.is_index}
    assert {other.path for other in choice.others} == weights - set(expected)
    assert all(other.reason for other in choice.others)


def test_stray_single_file_is_said() -> None:
    choice = chosen(listing(INDEX, *SHARDS, "model.safetensors"))
    assert choice.index == INDEX
    assert choice.complete
    assert [(other.path, other.reason) for other in choice.others] == [
        ("model.safetensors", "a single file next to the shards; some loaders take it first")
    ]


def test_missing_numbers_are_named() -> None:
    choice = chosen(listing(INDEX, SHARDS[0], SHARDS[2]))
    assert choice.files == (SHARDS[0], SHARDS[2])
    assert choice.missing == (SHARDS[1],)
    assert not choice.complete
    choice = chosen(listing("m-2-of-3.safetensors"))
    assert choice.missing == ("m-1-of-3.safetensors", "m-3-of-3.safetensors")


def test_a_number_of_shards_that_only_a_name_claims_is_bounded() -> None:
    choice = chosen(listing("model-000001-of-999999.safetensors"))
    assert 0 < len(choice.missing) <= 10_000


def test_odd_shard_names_are_left_to_the_index() -> None:
    choice = chosen(listing(INDEX, "layers.safetensors", "embeddings.safetensors"))
    assert choice.index == INDEX
    assert choice.files == ()
    assert not choice.complete


def test_of_files_under_names_of_their_own_the_largest_is_taken() -> None:
    files = {
        name: FileEntry(name, size)
        for name, size in {"q4.gguf": 4, "q8.gguf": 8, "q2.gguf": 2}.items()
    }
    choice = chosen(files)
    assert choice.files == ("q8.gguf",)
    assert choice.because == "the largest of 3 GGUF checkpoints"
    assert {other.reason for other in choice.others} == {"another checkpoint, by its name"}


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ("model.onnx", "ONNX, not read"),
        ("onnx/model.onnx_data", "ONNX, not read"),
        ("tf_model.h5", "Keras HDF5, not read"),
        ("flax_model.msgpack", "Flax, not read"),
        ("openvino_model.bin", "OpenVINO, not read"),
        ("optimizer.bin", "training state, not a model"),
        ("global_step10/mp_rank_00_model_states.pt", "training state, not a model"),
        ("adapter_model.safetensors", "an adapter or a part, by its name"),
        ("consolidated.00.pth", "the original before conversion"),
        ("checkpoint-10/model.safetensors", "in another folder"),
        ("pytorch_model.bin", "another copy for PyTorch, by its name"),
        ("model.fp16.safetensors", "the variant fp16, by its name"),
        ("extra.safetensors", "another checkpoint, by its name"),
        ("model-00001-of-00002.safetensors", "incomplete, 1 shards are missing"),
    ],
)
def test_what_is_left_aside_has_its_reason(other: str, reason: str) -> None:
    choice = chosen(listing("model.safetensors", other))
    assert choice.files == ("model.safetensors",)
    assert [(item.path, item.reason) for item in choice.others] == [(other, reason)]


@pytest.mark.parametrize("pick", ["model.safetensors", SHARDS[1], "pytorch_model.bin"])
def test_a_picked_file_is_taken_alone(pick: str) -> None:
    choice = chosen(listing(INDEX, *SHARDS, "model.safetensors", "pytorch_model.bin"), pick)
    assert choice.files == (pick,)
    assert choice.index is None
    assert choice.because == f"{pick} was named"


def test_a_picked_index_is_followed() -> None:
    choice = chosen(listing(INDEX, *SHARDS, "model.safetensors"), INDEX)
    assert (choice.index, list(choice.files), choice.complete) == (INDEX, SHARDS, False)


def test_a_picked_folder_is_chosen_in() -> None:
    files = listing("model.safetensors", "vae/a.safetensors", "vae/b.bin", "text/x.json")
    for pick in ("vae", "vae/"):
        assert chosen(files, pick).files == ("vae/a.safetensors",)
    with pytest.raises(EntryNotFoundError, match="text: no such file"):
        choose(files, "text")


def test_impossible_picks_are_errors() -> None:
    files = listing("model.safetensors", "model.onnx", "README.md")
    with pytest.raises(EntryNotFoundError) as error:
        choose(files, "modle.safetensors")
    assert error.value.hint == "there is model.safetensors, model.onnx"
    with pytest.raises(UnsupportedFormatError, match=r"model\.onnx: is a file of ONNX"):
        choose(files, "model.onnx")
    with pytest.raises(UsageError, match="is not a weight file"):
        choose(files, "README.md")


def test_no_weights_and_only_foreign_weights_are_told_apart() -> None:
    assert choose(listing("config.json", "optimizer.pt")) is None
    files = listing("config.json", "model.onnx", "tf_model.h5")
    assert choose(files) is None
    assert [item.reason for item in unsupported(files)] == ["ONNX", "Keras HDF5"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("model.safetensors", FileKind.MODEL),
        ("unet/diffusion_pytorch_model.fp16.safetensors", FileKind.MODEL),
        ("v1-5-pruned.ckpt", FileKind.WEIGHTS),
        ("my_lora.safetensors", FileKind.ADAPTER),
        ("exploration.safetensors", FileKind.WEIGHTS),
        ("mmproj-f16.gguf", FileKind.ADAPTER),
        ("optimizer.pt", FileKind.TRAINING),
        ("zero_pp_rank_0_mp_rank_00_optim_states.pt", FileKind.TRAINING),
        ("ggml-model-q4_0.bin", FileKind.FOREIGN),
        ("tokenizer.json", None),
        (".safetensors", None),
        ("model.safetensors.index.json", FileKind.MODEL),
    ],
)
def test_names_tell_the_kind(path: str, kind: FileKind | None) -> None:
    name = weight_name(path)
    assert (name.kind if name else None) == kind


_parts = st.sampled_from(
    [
        "model",
        "pytorch_model",
        "-00001-of-00002",
        "-2-of-2",
        ".fp16",
        ".safetensors",
        ".bin",
        "x",
        ".index",
        ".json",
        ".gguf",
        "/",
        "original",
        "adapter_model",
        "-000000-of-000000",
        "é",
        "\n",
    ]
)


@given(st.sets(st.lists(_parts, min_size=1, max_size=5).map("".join), max_size=8))
def test_any_file_list_has_a_choice_whose_parts_add_up(paths: set[str]) -> None:
    files = listing(*paths)
    choice = choose(files)
    if choice is None:
        return
    others = [other.path for other in choice.others]
    assert set(choice.files) <= paths
    assert not set(choice.files) & set(others)
    assert not set(choice.missing) & paths
    assert len(others) == len(set(others))
    assert choice.files or choice.index in paths
