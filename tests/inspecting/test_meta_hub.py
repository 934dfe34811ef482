"""Configs that would have transformers or timm ask the Hub, next to a Hub that counts.

Needs torch, transformers, timm and its torchvision.  Each config is shown to the program, which
refuses it by name, and then to the process that builds classes as if nothing had refused it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..cli.program import ROOT, process
from ..hub_server import HubServer

pytestmark = pytest.mark.oracle

TOKEN = "hf_reader"

#: Type, then the keys that name something to be loaded.
HOSTILE: dict[str, dict[str, Any]] = {
    "a repo for a backbone": {"model_type": "dpt", "backbone": "someone/evil"},
    "a repo by timm's prefix": {
        "model_type": "upernet",
        "backbone": "hf-hub:someone/evil",
        "use_timm_backbone": True,
        "use_pretrained_backbone": True,
    },
    "timm's backbone": {
        "model_type": "timm_backbone",
        "architectures": ["TimmBackbone"],
        "backbone": "hf_hub:someone/evil",
    },
    "in a section": {
        "model_type": "perception_lm",
        "vision_config": {"model_type": "timm_wrapper", "architecture": "hf-hub:someone/evil"},
    },
    "a kernel": {
        "model_type": "perception_lm",
        "text_config": {"model_type": "llama", "_attn_implementation": "someone/evil"},
    },
}
#: Classes that have a backbone, where the type alone means the model without one.
CLASSES = {"dpt": "DPTForDepthEstimation", "upernet": "UperNetForSemanticSegmentation"}

#: The process without the checks before it.
UNCHECKED = """
import json, sys
from hfinspect.inspecting import meta_process
print(meta_process.answer_to(json.loads(sys.argv[1])).decode())
"""
#: What a client does who is not kept from it.
CONTROL = "import huggingface_hub; print(huggingface_hub.HfApi().repo_exists('someone/evil'))"


def evil(hub: HubServer) -> None:
    """The repo is there and worth loading, as far as a config goes."""
    config = {"architecture": "resnet18", "model_type": "resnet", "num_classes": 10}
    hub.add("someone/evil", {"config.json": json.dumps(config).encode()})


def python(hub: HubServer, home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", *arguments],
        env={**hub.env(home, TOKEN), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def whole(config: dict[str, Any]) -> str:
    """With the class that has a backbone."""
    name = CLASSES.get(config["model_type"])
    return json.dumps({**config, "architectures": [name]} if name else config)


def model(home: Path, config: dict[str, Any]) -> Path:
    folder = home / "model"
    folder.mkdir()
    (folder / "config.json").write_text(whole(config))
    return folder


def test_a_client_that_nobody_keeps_from_it_sends_the_token(hub: HubServer, tmp_path: Path) -> None:
    evil(hub)
    assert python(hub, tmp_path, CONTROL) == "True"
    [request] = hub.meter.requests
    assert request.headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_config_is_refused_by_name(case: str, hub: HubServer, tmp_path: Path) -> None:
    evil(hub)
    folder = model(tmp_path, HOSTILE[case])
    result = process("inspect", folder, env=hub.env(tmp_path, TOKEN))
    assert hub.meter.requests == []
    assert result.code == 4, result.err
    assert "config key " in result.err and "someone/evil" in result.err
    assert "building" not in result.err


@pytest.mark.parametrize("case", HOSTILE)
def test_the_process_asks_nobody_either(case: str, hub: HubServer, tmp_path: Path) -> None:
    evil(hub)
    answer = json.loads(python(hub, tmp_path, UNCHECKED, whole(HOSTILE[case])))
    assert hub.meter.requests == []
    assert answer.keys() <= {"refused", "version", "unknown"}, answer.keys()


def test_a_file_of_this_machine_is_not_read(hub: HubServer, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architecture": "resnet18", "num_classes": 10}')
    config = {**HOSTILE["timm's backbone"], "backbone": f"local-dir:{tmp_path}"}
    answer = json.loads(python(hub, tmp_path, UNCHECKED, json.dumps(config)))
    assert answer["refused"].startswith("PermissionError")


def test_a_plain_name_is_timms_and_the_user_is_told(hub: HubServer, tmp_path: Path) -> None:
    """transformers alone asks the Hub whether there is a repo of that name."""
    config = {"model_type": "dpt", "backbone": "resnet50", "use_pretrained_backbone": True}
    done = subprocess.run(  # without a limit of time: other processes want the machine too
        [sys.executable, "-m", "hfinspect", model(tmp_path, config), "--format", "json"],
        env={**hub.env(tmp_path, TOKEN), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert hub.meter.requests == []
    assert json.loads(done.stdout)["parameters"] == 48_295_617
    [line] = done.stderr.splitlines()
    assert line.startswith("building DPTForDepthEstimation with transformers")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")
def test_more_than_memory_holds_is_an_error_of_ours(hub: HubServer, tmp_path: Path) -> None:
    """The config class makes an entry for each label."""
    config = {"model_type": "gpt2", "num_labels": 10**10}
    answer = json.loads(python(hub, tmp_path, UNCHECKED, json.dumps(config)))
    assert answer == {"exhausted": True}
