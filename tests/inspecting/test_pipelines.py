"""Models of several parts: diffusers pipelines, sentence-transformers, from their headers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect import api
from hfinspect.core.results import Inspection
from hfinspect.errors import HfinspectError, NothingToInspectError, UnknownArchitectureError

from ..builders import SMALL_BERT, Tensors, write_config, write_safetensors
from ..cli.program import hfinspect as run
from ..hub_repos import StoredFile
from ..hub_server import HubServer
from ..schemas import conforms

UNET: dict[str, Any] = {
    "_class_name": "UNet2DConditionModel",
    "block_out_channels": [32, 48],
    "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
    "layers_per_block": 1,
    "cross_attention_dim": 24 + 32,
    "attention_head_dim": 4,
    "norm_num_groups": 8,
    "sample_size": 16,
}
TEXT: dict[str, Any] = {
    "architectures": ["CLIPTextModel"],
    "model_type": "clip_text_model",
    "hidden_size": 24,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 16,
    "projection_dim": 12,
}
TEXT_2 = {**TEXT, "architectures": ["CLIPTextModelWithProjection"], "hidden_size": 32}
VAE: dict[str, Any] = {
    "_class_name": "AutoencoderKL",
    "block_out_channels": [16],
    "down_block_types": ["DownEncoderBlock2D"],
    "up_block_types": ["UpDecoderBlock2D"],
    "layers_per_block": 1,
    "norm_num_groups": 8,
}
PARTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "text_encoder": ("transformers", TEXT, "model.safetensors"),
    "text_encoder_2": ("transformers", TEXT_2, "model.fp16.safetensors"),
    "unet": ("diffusers", UNET, "diffusion_pytorch_model.safetensors"),
    "vae": ("diffusers", VAE, "diffusion_pytorch_model.safetensors"),
}


def tensors_of(config: Mapping[str, Any], dtype: str = "F16") -> dict[str, Any]:
    return {t.name: (t.dtype or dtype, t.shape) for t in hfinspect.predict(config).tensors}


def class_of(config: Mapping[str, Any]) -> str:
    return str(config.get("_class_name") or config["architectures"][0])


def write_pipeline(root: Path, *, weights: bool = True) -> Path:
    index: dict[str, Any] = {
        "_class_name": "StableDiffusionXLPipeline",
        "_diffusers_version": "0.30.0",
        "force_zeros_for_empty_prompt": True,
        "scheduler": ["diffusers", "EulerDiscreteScheduler"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "image_encoder": [None, None],
    }
    for name, (library, config, file) in PARTS.items():
        write_config(root / name, config)
        index[name] = [library, class_of(config)]
        if weights:
            write_safetensors(root / name / file, tensors_of(config))
    (root / "model_index.json").write_text(json.dumps(index))
    (root / "scheduler").mkdir()
    (root / "scheduler" / "scheduler_config.json").write_text("{}")
    (root / "tokenizer").mkdir()
    (root / "tokenizer" / "tokenizer_config.json").write_text("{}")
    return root


EXPECTED = {name: hfinspect.predict(config).parameters for name, (_, config, _) in PARTS.items()}


def check(inspection: Inspection) -> None:
    assert inspection.layout == "diffusers pipeline"
    assert inspection.architecture == "StableDiffusionXLPipeline"
    assert {member.name: member.parameters for member in inspection.members} == EXPECTED
    assert inspection.parameters == sum(EXPECTED.values())
    assert {name: totals.parameters for name, totals in inspection.parts.items()} == EXPECTED
    assert all(member.catalogued for member in inspection.members)
    conforms(inspection.to_dict(tensors=True))


def test_every_component_and_the_total(tmp_path: Path) -> None:
    """Names that two text encoders share are counted in both; the variant fp16 is taken where it
    is the only copy."""
    inspection = hfinspect.inspect(write_pipeline(tmp_path))
    check(inspection)
    assert inspection.source == "checkpoint"
    assert inspection.nbytes == sum(tensor.nbytes or 0 for tensor in inspection.tensors)
    declared = {member.name: member.declared for member in inspection.members}
    assert declared["unet"] == "diffusers.UNet2DConditionModel"
    assert [m.files for m in inspection.members if m.name == "text_encoder_2"] == [
        ("text_encoder_2/model.fp16.safetensors",)
    ]


def test_a_pipeline_of_configs_alone(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path, weights=False)
    check(hfinspect.inspect(root))
    assert hfinspect.inspect(root, source="config").source == "config"


def test_a_pipeline_of_traced_classes(tmp_path: Path) -> None:
    """Wan 2.1 in small: two components as traces, one written."""
    parts: dict[str, dict[str, Any]] = {
        "text_encoder": {
            "architectures": ["UMT5EncoderModel"],
            "model_type": "umt5",
            "d_model": 24,
            "d_kv": 4,
            "d_ff": 48,
            "num_layers": 2,
            "num_heads": 4,
            "vocab_size": 100,
        },
        "transformer": {
            "_class_name": "WanTransformer3DModel",
            "num_layers": 2,
            "num_attention_heads": 2,
            "attention_head_dim": 24,
            "text_dim": 24,
            "ffn_dim": 96,
            "image_dim": None,
        },
        "vae": {"_class_name": "AutoencoderKLWan", "base_dim": 8},
    }
    index: dict[str, Any] = {"_class_name": "WanPipeline", "_diffusers_version": "0.33.0"}
    index["scheduler"] = ["diffusers", "UniPCMultistepScheduler"]
    for name, config in parts.items():
        write_config(tmp_path / name, config)
        library = "diffusers" if "_class_name" in config else "transformers"
        index[name] = [library, class_of(config)]
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    done = run("inspect", str(tmp_path), "--source", "config", "--format", "json")
    assert done.code == 0, done.err
    inspection = hfinspect.inspect(tmp_path, source="config")
    assert all(member.catalogued for member in inspection.members)
    expected = {name: hfinspect.predict(config).parameters for name, config in parts.items()}
    assert {member.name: member.parameters for member in inspection.members} == expected
    assert inspection.parameters == sum(expected.values())


def test_the_index_stands_for_its_pipeline(tmp_path: Path) -> None:
    check(hfinspect.inspect(write_pipeline(tmp_path) / "model_index.json"))


def test_a_component_alone(tmp_path: Path) -> None:
    inspection = hfinspect.inspect(write_pipeline(tmp_path) / "unet")
    assert (inspection.parameters, inspection.layout) == (EXPECTED["unet"], "model")


def test_copies_and_strangers_are_listed(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    unet = root / "unet" / "diffusion_pytorch_model.fp16.safetensors"
    write_safetensors(unet, tensors_of(UNET))
    (root / "unet" / "model.onnx").write_bytes(b"\x08\x07")
    write_safetensors(root / "sd_xl_base.safetensors", {"model.weight": ("F16", (2, 2))})
    inspection = hfinspect.inspect(root)
    check(inspection)
    reason = inspection.other_files["unet/diffusion_pytorch_model.fp16.safetensors"]
    assert reason == "the variant fp16; the same tensors in the same precision, by its header"
    assert "sd_xl_base.safetensors" in inspection.other_files
    assert inspection.other_files["unet/model.onnx"]


def test_a_component_that_disagrees_is_named(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    tensors = tensors_of(VAE)
    tensors["encoder.conv_in.bias"] = ("F16", (17,))
    write_safetensors(root / "vae" / "diffusion_pytorch_model.safetensors", tensors)
    inspection = hfinspect.inspect(root)
    assert inspection.parameters == sum(EXPECTED.values()) + 1
    notes = [finding.text for finding in inspection.findings if finding.rule == "config-differs"]
    assert len(notes) == 1
    assert notes[0].startswith("vae: ")


def test_an_unknown_component_is_counted_by_its_headers(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    write_config(root / "vae", {"_class_name": "AutoencoderOfTomorrow"})
    inspection = hfinspect.inspect(root)
    assert inspection.parameters == sum(EXPECTED.values())
    assert [member.name for member in inspection.members if not member.catalogued] == ["vae"]


def test_an_unknown_component_of_configs_alone_leaves_the_total_unknown(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path, weights=False)
    write_config(root / "vae", {"_class_name": "AutoencoderOfTomorrow"})
    inspection = hfinspect.inspect(root)
    assert inspection.parameters is None
    assert {member.name for member in inspection.members} == set(EXPECTED) - {"vae"}
    conforms(inspection.to_dict())


def test_a_pipeline_without_anything(tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text('{"_class_name": "Pipeline"}')
    with pytest.raises(NothingToInspectError):
        hfinspect.inspect(tmp_path)


def test_a_quantised_component(tmp_path: Path) -> None:
    """bitsandbytes' 4 bits in one component, with the config that diffusers writes for it."""
    root = write_pipeline(tmp_path)
    tensors: dict[str, Any] = {}
    for name, (dtype, shape) in tensors_of(UNET).items():
        if name.endswith("to_q.weight"):
            count = shape[0] * shape[1]
            tensors[name] = ("U8", (count // 2, 1))
            tensors[f"{name}.absmax"] = ("F32", (-(-count // 64),))
            tensors[f"{name}.quant_map"] = ("F32", (16,))
            tensors[f"{name}.quant_state.bitsandbytes__nf4"] = ("U8", (80,))
        else:
            tensors[name] = (dtype, shape)
    write_safetensors(root / "unet" / "diffusion_pytorch_model.safetensors", tensors)
    quantised = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    write_config(root / "unet", {**UNET, "quantization_config": quantised})
    inspection = hfinspect.inspect(root)
    check(inspection)
    methods = {m.name: m.quantization.method for m in inspection.members if m.quantization}
    assert methods == {"unet": "bitsandbytes"}
    assert inspection.quantization is not None
    assert inspection.quantization.scheme == "nf4"


# ---- sentence-transformers


def write_sentence_transformer(root: Path, dense: Tensors | None) -> int:
    write_config(root, SMALL_BERT)
    write_safetensors(root / "model.safetensors", tensors_of(SMALL_BERT, "F32"))
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {
            "idx": 1,
            "name": "1",
            "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
    ]
    if dense is not None:
        path = "2_Dense"
        kind = "sentence_transformers.models.Dense"
        modules.append({"idx": 2, "name": "2", "path": path, "type": kind})
        write_safetensors(root / "2_Dense" / "model.safetensors", dense)
        write_config(root / "2_Dense", {"in_features": 16, "out_features": 8, "bias": True})
    (root / "modules.json").write_text(json.dumps(modules))
    return hfinspect.predict(SMALL_BERT).parameters


def test_sentence_transformers(tmp_path: Path) -> None:
    dense = {"linear.weight": ("F32", (8, 16)), "linear.bias": ("F32", (8,))}
    transformer = write_sentence_transformer(tmp_path, dense)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.layout == "sentence-transformers"
    assert {m.name: m.parameters for m in inspection.members} == {
        "transformer": transformer,
        "2_Dense": 8 * 16 + 8,
    }
    assert inspection.parameters == transformer + 8 * 16 + 8
    assert [m.declared for m in inspection.members][1] == "sentence_transformers.models.Dense"
    conforms(inspection.to_dict(tensors=True))


def test_sentence_transformers_of_a_transformer_alone(tmp_path: Path) -> None:
    transformer = write_sentence_transformer(tmp_path, None)
    inspection = hfinspect.inspect(tmp_path)
    assert (inspection.parameters, inspection.members) == (transformer, ())
    assert inspection.layout == "sentence-transformers"
    assert inspection.expectation is not None
    assert inspection.expectation.agrees


# ---- as a user sees it


def test_what_the_command_shows(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    shown = run(str(root)).out
    assert "StableDiffusionXLPipeline  diffusers pipeline of " in shown
    for name, parameters in EXPECTED.items():
        assert name in shown
        assert f"{parameters:,}" in shown
    table = run(str(root), "--format", "csv").out.splitlines()
    assert table[0] == "part,class,parameters,dtype,nbytes"
    assert [row.split(",")[0] for row in table[1:]] == [*EXPECTED, "total"]
    answer = json.loads(run(str(root), "--format", "json").out)
    conforms(answer)
    assert answer["parameters"] == sum(EXPECTED.values())


def test_a_sound_pipeline_passes_the_audit(tmp_path: Path) -> None:
    """What is no model has a config of its own kind: a scheduler, a processor."""
    root = write_pipeline(tmp_path)
    index = json.loads((root / "model_index.json").read_text())
    index["feature_extractor"] = ["transformers", "CLIPImageProcessor"]
    index["guard"] = ["own_code", "SafetyThing"]
    (root / "model_index.json").write_text(json.dumps(index))
    for folder in ("scheduler", "tokenizer", "feature_extractor", "guard"):
        write_config(root / folder, {"beta_start": 0.1})
    (root / "feature_extractor" / "preprocessor_config.json").write_text("{}")
    plain = root / "text_encoder_2" / "model.safetensors"
    plain.with_name("model.fp16.safetensors").rename(plain)
    (guard,) = hfinspect.audit(root, ignore=["HI106"]).failing("warning")
    assert guard.text == "guard is own_code.SafetyThing"  # which is code of the repo
    (root / "unet" / "config.json").write_text('{"_class_name": "UNet2DConditionModel", "up": 1}')
    assert not hfinspect.audit(root, ignore=["HI106"]).ok


# ---- tree and explain


def hub_files(root: Path) -> dict[str, bytes | StoredFile]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("where", ["directory", "model_index.json", "hub"])
def test_tree_shows_every_component(hub: HubServer, tmp_path: Path, where: str) -> None:
    root = write_pipeline(tmp_path, weights=False)
    (root / "vae" / "config.json").write_text('{"_class_name": "UnheardOf"}')
    if where == "hub":
        hub.add("org/pipe", hub_files(root))
        parts, origin = api.predict_parts("org/pipe", token=False, endpoint=hub.endpoint)
        assert origin.commit == hub.repos["org/pipe"].sha
        assert hub.meter.count("hub") == 2 + len(PARTS)
        trees = {part.name: part.prediction for part in parts}
        assert isinstance(trees.pop("vae"), UnknownArchitectureError)
        assert {name: tree.parameters for name, tree in trees.items()} == {  # type: ignore[union-attr]
            name: EXPECTED[name] for name in trees
        }
        return
    out = run("tree", str(root / where if where != "directory" else root)).out
    headings = [line for line in out.splitlines() if line and " (" in line and line[0] != " "]
    assert [line for line in headings if line.split(" (")[0] in PARTS] == [
        f"{name} ({library}.{class_of(config)})" for name, (library, config, _) in PARTS.items()
    ]
    assert "UNet2DConditionModel(\n" in out
    assert "no tree: class 'UnheardOf'" in out


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("command", ["tree", "explain"])
def test_one_component_by_its_folder(tmp_path: Path, command: str, weights: bool) -> None:
    root = write_pipeline(tmp_path, weights=weights)
    picked = run(command, str(root), "--file", "unet")
    alone = run(command, str(root / "unet"))
    assert picked.code == alone.code == 0
    # Words, not lines: a long path takes a line of its own.
    folder = str(root / "unet")
    assert picked.out.replace(str(root), "").split() == alone.out.replace(folder, "").split()


def test_one_component_of_a_repo(hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/pipe", hub_files(write_pipeline(tmp_path, weights=False)))
    [part], _ = api.predict_parts("hf://org/pipe/unet", token=False, endpoint=hub.endpoint)
    assert not isinstance(part.prediction, HfinspectError)
    assert part.prediction.parameters == EXPECTED["unet"]
    explained = api.explain("hf://org/pipe/unet", token=False, endpoint=hub.endpoint)
    assert explained.to_dict()["parameters"] == EXPECTED["unet"]


@pytest.mark.parametrize("weights", [True, False])
def test_explain_asks_which_component(tmp_path: Path, weights: bool) -> None:
    root = write_pipeline(tmp_path, weights=weights)
    for options in ((), ("--set", "layers_per_block=2")):
        result = run("explain", str(root), *options)
        assert result.code != 0
        assert "is a model of several parts" in result.err
        assert "file: text_encoder, text_encoder_2, unet, vae; --file text_encoder" in (
            result.err.replace("\n", " ").replace("  ", " ")
        )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    root = write_pipeline(tmp_path)
    result = run("tree", str(root), "--file", "nowhere")
    assert result.code != 0
    assert "no such file" in result.err


def test_a_pipeline_without_its_configs_names_them(tmp_path: Path) -> None:
    names = {
        "_class_name": "StableDiffusionPipeline",
        "scheduler": ["diffusers", "PNDMScheduler"],
        "unet": ["diffusers", "UNet2DConditionModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    (tmp_path / "model_index.json").write_text(json.dumps(names))
    with pytest.raises(NothingToInspectError) as raised:
        hfinspect.inspect(tmp_path)
    assert raised.value.expected == "unet/config.json, vae/config.json"
