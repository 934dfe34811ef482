"""Pipelines, sentence-transformers and adapters: several checkpoints that make one model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hfinspect.checkpoints.read import read_model
from hfinspect.checkpoints.repo_layout import (
    Layout,
    declared_components,
    declared_modules,
    layout_of,
    part_folders,
)
from hfinspect.errors import ConfigError, FormatError
from hfinspect.sources.local import LocalSource
from hfinspect.sources.source import FileEntry

from ..builders import Tensors, write_config, write_safetensors, write_sharded
from ..hub_repos import StoredFile, weights
from ..hub_server import HubServer
from ..sources.hub_support import source

UNET: Tensors = {"conv_in.weight": ("F16", (8, 4, 3, 3)), "conv_in.bias": ("F16", (8,))}
VAE: Tensors = {"decoder.weight": ("F16", (4, 4))}
TEXT: Tensors = {"embeddings.weight": ("F32", (10, 4))}

MODEL_INDEX = {
    "_class_name": "StableDiffusionPipeline",
    "_diffusers_version": "0.30.0",
    "unet": ["diffusers", "UNet2DConditionModel"],
    "vae": ["diffusers", "AutoencoderKL"],
    "text_encoder": ["transformers", "CLIPTextModel"],
    "scheduler": ["diffusers", "PNDMScheduler"],
    "safety_checker": [None, None],
    "requires_safety_checker": False,
}
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
]


def pipeline(root: Path) -> None:
    (root / "model_index.json").write_text(json.dumps(MODEL_INDEX))
    write_config(root / "unet", {"_class_name": "UNet2DConditionModel"})
    write_safetensors(root / "unet" / "diffusion_pytorch_model.safetensors", UNET)
    write_safetensors(root / "unet" / "diffusion_pytorch_model.fp16.safetensors", UNET)
    write_safetensors(root / "vae" / "diffusion_pytorch_model.fp16.safetensors", VAE)
    write_sharded(root / "text_encoder", [TEXT, VAE])
    write_config(root / "scheduler", {})


def test_every_component_of_a_pipeline_is_read(tmp_path: Path) -> None:
    pipeline(tmp_path)
    write_safetensors(tmp_path / "v1-5-pruned.safetensors", UNET)
    model = read_model(LocalSource(tmp_path))
    assert model.layout is Layout.PIPELINE
    assert model.checkpoint is None
    read = {}
    for part in model.parts:
        assert part.checkpoint is not None
        assert part.checkpoint.findings == ()
        read[part.name] = (part.declared, [shard.file for shard in part.checkpoint.shards])
    assert read == {
        "text_encoder": (
            "transformers.CLIPTextModel",
            [f"text_encoder/model-0000{n}-of-00002.safetensors" for n in (1, 2)],
        ),
        "unet": (
            "diffusers.UNet2DConditionModel",
            ["unet/diffusion_pytorch_model.safetensors"],
        ),
        "vae": ("diffusers.AutoencoderKL", ["vae/diffusion_pytorch_model.fp16.safetensors"]),
    }
    assert {part.name: part.config for part in model.parts}["unet"] == {
        "_class_name": "UNet2DConditionModel"
    }
    assert [(other.path, other.reason) for other in model.others] == [
        ("v1-5-pruned.safetensors", "belongs to no component")
    ]
    assert model.findings == ()


def test_component_can_be_picked(tmp_path: Path) -> None:
    pipeline(tmp_path)
    name = "vae/diffusion_pytorch_model.fp16.safetensors"
    model = read_model(LocalSource(tmp_path), file=name)
    assert (model.layout, model.parts) == (Layout.SINGLE, ())
    assert model.checkpoint is not None
    assert [shard.file for shard in model.checkpoint.shards] == [name]


def test_broken_model_index_leaves_the_components(tmp_path: Path) -> None:
    pipeline(tmp_path)
    (tmp_path / "model_index.json").write_text("[1]")
    model = read_model(LocalSource(tmp_path))
    assert [part.name for part in model.parts] == ["text_encoder", "unet", "vae"]
    assert {part.declared for part in model.parts} == {None}
    assert [(f.rule, f.file) for f in model.findings] == [("unreadable", "model_index.json")]


def test_broken_component_is_named(tmp_path: Path) -> None:
    pipeline(tmp_path)
    (tmp_path / "vae" / "diffusion_pytorch_model.fp16.safetensors").write_bytes(b"x" * 20)
    with pytest.raises(FormatError, match="vae/diffusion_pytorch_model"):
        read_model(LocalSource(tmp_path))


def test_pipeline_over_http_takes_two_rounds(hub: HubServer) -> None:
    files: dict[str, bytes | StoredFile] = {
        "model_index.json": json.dumps(MODEL_INDEX).encode(),
        "unet/config.json": b"{}",
        "unet/diffusion_pytorch_model.safetensors": weights(UNET),
        "vae/diffusion_pytorch_model.safetensors": weights(VAE),
    }
    hub.add("org/m", files)
    model = read_model(source(hub, "org/m"))
    assert [part.name for part in model.parts] == ["unet", "vae"]
    # The list, two small files, where two headers are; then the headers.
    assert (hub.meter.count("hub"), hub.meter.count("cdn")) == (5, 2)


def test_sentence_transformers_have_modules_after_the_transformer(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(json.dumps(MODULES))
    write_config(tmp_path, {"model_type": "bert"})
    write_safetensors(tmp_path / "model.safetensors", TEXT)
    write_config(tmp_path / "1_Pooling", {})
    write_config(tmp_path / "2_Dense", {"in_features": 4})
    write_safetensors(tmp_path / "2_Dense" / "model.safetensors", VAE)
    write_safetensors(tmp_path / "old" / "model.safetensors", VAE)
    model = read_model(LocalSource(tmp_path))
    assert model.layout is Layout.MODULES
    assert model.checkpoint is not None
    assert [shard.file for shard in model.checkpoint.shards] == ["model.safetensors"]
    (dense,) = model.parts
    assert (dense.name, dense.declared) == ("2_Dense", "sentence_transformers.models.Dense")
    assert dense.config == {"in_features": 4}
    assert dense.checkpoint is not None
    assert [tensor.name for tensor in dense.checkpoint.shards[0].tensors] == ["decoder.weight"]


def test_transformer_in_a_folder_is_no_module_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(json.dumps(MODULES))
    write_config(tmp_path / "0_Transformer", {"model_type": "bert"})
    write_safetensors(tmp_path / "0_Transformer" / "model.safetensors", TEXT)
    model = read_model(LocalSource(tmp_path))
    assert model.config == {"model_type": "bert"}
    assert model.checkpoint is not None
    assert model.parts == ()


def test_adapter_is_recognised(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "adapter_model.safetensors", VAE)
    (tmp_path / "adapter_config.json").write_text('{"r": 8, "base_model_name_or_path": "org/b"}')
    model = read_model(LocalSource(tmp_path))
    assert model.layout is Layout.ADAPTER
    assert model.companions["adapter_config.json"]["r"] == 8
    write_safetensors(tmp_path / "model.safetensors", VAE)
    assert read_model(LocalSource(tmp_path)).layout is Layout.SINGLE


@pytest.mark.parametrize("content", [None, 1, "x", [], {"a": 1}])
def test_files_that_name_no_parts(content: object) -> None:
    if isinstance(content, dict):
        assert declared_components(content) == {}
    else:
        with pytest.raises(ConfigError):
            declared_components(content)
    if content == []:
        assert declared_modules(content) == {}
    else:
        with pytest.raises(ConfigError):
            declared_modules(content)


def test_number_of_parts_is_bounded() -> None:
    paths = ["model_index.json", *(f"part{n}/model.safetensors" for n in range(500))]
    files = {path: FileEntry(path, 1) for path in paths}
    assert layout_of(files) is Layout.PIPELINE
    assert len(part_folders(files, Layout.PIPELINE)) == 64
