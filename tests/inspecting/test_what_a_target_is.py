"""Directories that hold models and are none, configs of other libraries, configs as objects; and
hints that fit whoever asks."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect import api
from hfinspect.checkpoints.sub_models import models_below
from hfinspect.cli.hints import hint_of
from hfinspect.errors import (
    ConfigError,
    HfinspectError,
    NothingToInspectError,
    UnknownArchitectureError,
    UsageError,
)

from ..builders import write_config, write_safetensors
from ..cli.program import hfinspect as run
from ..hub_server import HubServer

PACKAGE = Path(hfinspect.__file__).parent
GPT2 = {"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 11}


# ---- a directory whose top holds no model


def training_run(root: Path) -> Path:
    for step in (500, 1000):
        folder = root / f"checkpoint-{step}"
        write_config(folder, GPT2)
        tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(GPT2).tensors}
        write_safetensors(folder / "model.safetensors", tensors)
    (root / "trainer_state.json").write_text("{}")
    return root


@pytest.mark.parametrize("options", [(), ("--source", "config"), ("--set", "n_layer=2")])
@pytest.mark.parametrize("command", ["inspect", "tree", "explain", "tensors"])
def test_a_directory_of_models_is_none(
    command: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    root = training_run(tmp_path)
    if command == "tree" and "--source" in options:
        return
    done = run(command, root, *options)
    assert done.code == 3
    assert "holds no model at its top, but 2 below it: checkpoint-1000, checkpoint-500" in done.err
    assert f"such as {root}/checkpoint-1000" in done.err
    assert f"hfinspect scan --recursive {root}" in done.err
    assert done.out == ""


def test_what_the_hint_says_works(tmp_path: Path) -> None:
    root = training_run(tmp_path)
    assert run(root / "checkpoint-500").code == 0
    assert run(root, "--file", "checkpoint-500").code == 0
    rows = run("scan", "--recursive", root, "-q", "-f", "jsonl").out.splitlines()
    assert [json.loads(row)["status"] for row in rows] == ["ok", "ok"]


def test_a_repo_of_models_names_one_by_its_address(hub: HubServer, tmp_path: Path) -> None:
    root = training_run(tmp_path)
    paths = [path for path in root.rglob("*") if path.is_file()]
    hub.add("org/runs", {path.relative_to(root).as_posix(): path.read_bytes() for path in paths})
    with pytest.raises(NothingToInspectError) as caught:
        api.inspect("org/runs", token=False, endpoint=hub.endpoint)
    assert "hf://org/runs/checkpoint-1000" in (caught.value.hint or "")
    one = api.inspect("hf://org/runs/checkpoint-1000", token=False, endpoint=hub.endpoint)
    assert one.parameters == hfinspect.predict(GPT2).parameters


@pytest.mark.parametrize(
    ("files", "models"),
    [
        (["a/config.json", "b/config.json"], ["a", "b"]),
        (["a/config.json", "a/model.safetensors", "a/b/model.safetensors"], ["a"]),
        (["a/model.safetensors", "b/pytorch_model.bin"], ["a", "b"]),
        (["a/model.safetensors"], []),
        (["a/b/model.safetensors", "a/optimizer.pt"], []),
        (["Q4/x.gguf", "Q8/x.gguf"], []),
        (["config.json", "a/config.json"], []),
        # Variants of one model are nothing but GGUF files: not these.
        (["Q4/x.gguf", "a/config.json"], ["Q4", "a"]),
        (["gguf/x.gguf", "run/model.pt"], ["gguf", "run"]),
        (["model.safetensors", "a/config.json"], []),
        (["model_index.json", "a/config.json"], []),
        (["a/model_index.json", "a/unet/config.json"], ["a"]),
        (["a/x.onnx"], []),
        ([], []),
    ],
)
def test_models_below(files: list[str], models: list[str]) -> None:
    assert models_below(files) == models


# ---- configs of other libraries

TIMM = {
    "architecture": "vit_unheard_patch16_224",
    "num_classes": 1000,
    "num_features": 768,
    "pretrained_cfg": {"tag": "augreg"},
}


def test_timm_is_known_by_its_headers_and_named_from_its_config(tmp_path: Path) -> None:
    write_config(tmp_path, TIMM)
    refused = run(tmp_path)
    assert refused.code == 5
    assert "architecture 'vit_unheard_patch16_224': is one of timm's" in refused.err
    assert "headers" in refused.err.splitlines()[1]
    write_safetensors(
        tmp_path / "model.safetensors",
        {
            "patch_embed.proj.weight": ("F32", (8, 3, 4, 4)),
            "norm.weight": ("F32", (8,)),
            "blocks.0.attn.qkv.weight": ("F32", (24, 8)),
            "head.weight": ("F32", (10, 8)),
        },
    )
    inspection = hfinspect.inspect(tmp_path)
    assert (inspection.parameters, inspection.architecture) == (
        384 + 192 + 80 + 8,
        "vit_unheard_patch16_224",
    )
    assert {f.severity for f in inspection.findings} == {"note"}
    assert hfinspect.audit(tmp_path, ignore=["HI106"]).ok


def test_open_clip_is_known_by_its_headers_and_named_from_its_config(tmp_path: Path) -> None:
    name = "open_clip_config.json"
    (tmp_path / name).write_text('{"model_cfg": {"embed_dim": 8}, "preprocess_cfg": {}}')
    refused = run(tmp_path, "--source", "config")
    assert refused.code == 3
    assert f"has no config.json, but {name}" in refused.err
    write_safetensors(
        tmp_path / "open_clip_model.safetensors",
        {
            "visual.conv1.weight": ("F32", (8, 3, 4, 4)),
            "token_embedding.weight": ("F32", (20, 8)),
            "visual.transformer.resblocks.0.attn.in_proj_weight": ("F32", (24, 8)),
            "transformer.resblocks.0.mlp.c_fc.weight": ("F32", (32, 8)),
            "logit_scale": ("F32", ()),
        },
    )
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.parameters == 384 + 160 + 192 + 256 + 1
    assert [f.file for f in inspection.findings] == [name]
    kinds = {
        tensor.name.rpartition("resblocks.0.")[2]: tensor.component for tensor in inspection.tensors
    }
    assert (kinds["attn.in_proj_weight"], kinds["mlp.c_fc.weight"]) == ("attention", "mlp")


# ---- configs as objects, paths for predict


class Config:
    """As transformers' PreTrainedConfig: no mapping, but it can be made one."""

    def __init__(self, **values: Any) -> None:
        self.values = values

    def to_dict(self) -> Any:
        return self.values.get("instead", self.values)


def test_an_object_with_to_dict_is_a_config(tmp_path: Path) -> None:
    expected = hfinspect.predict(GPT2).parameters
    made = Config(**GPT2)
    assert hfinspect.inspect(made).parameters == expected
    assert hfinspect.predict(made).parameters == expected
    assert hfinspect.explain(made).parameters == expected
    assert hfinspect.compare(made, GPT2).same_structure
    assert [getattr(r, "parameters", None) for r in hfinspect.scan([made, GPT2])] == [expected] * 2
    assert hfinspect.inspect(made, overrides={"n_layer": 2}).overrides[0].was == 1
    with pytest.raises(UsageError, match="is not a mapping"):
        hfinspect.inspect(Config(instead=[1]))
    with pytest.raises(UsageError, match="is a Config, expected"):
        hfinspect.audit(made)  # type: ignore[arg-type]


def test_predict_takes_what_inspect_takes(tmp_path: Path) -> None:
    expected = hfinspect.predict(GPT2).parameters
    write_config(tmp_path, GPT2)
    for target in (tmp_path, str(tmp_path), tmp_path / "config.json"):
        assert hfinspect.predict(target).parameters == expected
    assert hfinspect.predict(GPT2, overrides={"n_layer": 2}).parameters > expected
    with pytest.raises(UsageError):
        hfinspect.predict(5)  # type: ignore[arg-type]
    with pytest.raises(NothingToInspectError):
        hfinspect.predict(tmp_path.parent / tmp_path.name / "..")


# ---- hints


def hints() -> Iterator[tuple[Path, str]]:
    """Every text given as a hint outside cli/."""
    for path in PACKAGE.rglob("*.py"):
        if "cli" in path.relative_to(PACKAGE).parts or "hint" not in (text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            is_keyword = isinstance(node, ast.keyword) and node.arg == "hint"
            is_name = isinstance(node, ast.Assign) and "hint" in ast.unparse(node.targets[0])
            for part in ast.walk(node) if is_keyword or is_name else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield path, part.value


def test_a_hint_of_the_library_fits_python_too() -> None:
    all_hints = list(hints())
    assert len(all_hints) > 40
    assert [(p.name, h) for p, h in all_hints if "--" in h or "hfinspect " in h] == []


@pytest.mark.parametrize(
    ("error", "typed"),
    [
        (UsageError("x", "is wrong"), "hfinspect COMMAND --help"),
        (UnknownArchitectureError("x", "is unknown"), "hfinspect architectures"),
        (HfinspectError("x", "y", hint="own"), "own"),
    ],
)
def test_the_command_line_says_what_to_type(error: HfinspectError, typed: str) -> None:
    assert (hint_of(error) or "").startswith(typed)


@pytest.mark.parametrize("where", ["value", "list", "section"])
def test_a_number_that_cannot_be_written_is_refused(where: str) -> None:
    """Python writes whole numbers of up to 4,300 digits; JSON of a file is refused there too."""
    number = 10**5000
    value: Any = {"value": number, "list": [[number]], "section": {"a": {"b": -number}}}[where]
    for verb in (hfinspect.inspect, hfinspect.memory, hfinspect.runs, hfinspect.explain):
        with pytest.raises(ConfigError, match="too many digits"):
            verb({"model_type": "gpt2", "vocab_size": value})
    circle: dict[str, Any] = {"model_type": "gpt2"}
    circle["self"] = [circle]
    with pytest.raises(ConfigError, match="levels deep"):
        hfinspect.inspect(circle)
