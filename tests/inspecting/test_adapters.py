"""PEFT adapters: their settings, and the share of a base model that may be out of reach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.results import Inspection

from ..builders import Tensors, write_config, write_safetensors
from ..cli.program import hfinspect as run
from ..hub_repos import weights
from ..hub_server import HubServer
from ..schemas import conforms
from ..sources.hub_support import client

BASE: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "tie_word_embeddings": False,
}
SIZE = hfinspect.predict(BASE).parameters
RANK = 4


def lora() -> Tensors:
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    for layer in range(2):
        for name in ("q_proj", "v_proj"):
            module = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{module}.lora_A.weight"] = ("F32", (RANK, 16))
            tensors[f"{module}.lora_B.weight"] = ("F32", (16, RANK))
    return tensors


OWN = 2 * 2 * 2 * RANK * 16


def settings(base: str | None) -> dict[str, Any]:
    return {
        "peft_type": "LORA",
        "r": RANK,
        "lora_alpha": 16,
        "target_modules": ["q_proj", "v_proj"],
        "modules_to_save": None,
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
    }


def write_adapter(root: Path, base: str | None) -> Path:
    write_safetensors(root / "adapter_model.safetensors", lora())
    (root / "adapter_config.json").write_text(json.dumps(settings(base)))
    return root


def write_base(root: Path) -> Path:
    write_config(root, BASE)
    tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(BASE).tensors}
    write_safetensors(root / "model.safetensors", tensors)
    return root


def check(inspection: Inspection, base: int | None) -> None:
    adapter = inspection.adapter
    assert adapter is not None
    assert (inspection.layout, inspection.parameters) == ("adapter", OWN)
    assert (adapter.type, adapter.rank, adapter.alpha) == ("LORA", RANK, 16)
    assert adapter.targets == ("q_proj", "v_proj")
    assert adapter.base_parameters == base
    assert inspection.components["attention"].parameters == OWN
    assert {tensor.layer for tensor in inspection.tensors} == {0, 1}
    conforms(inspection.to_dict(tensors=True))


def test_an_adapter_and_its_base_beside_it(tmp_path: Path) -> None:
    base = write_base(tmp_path / "base")
    inspection = hfinspect.inspect(write_adapter(tmp_path / "adapter", str(base)))
    check(inspection, SIZE)
    assert inspection.findings == ()
    shown = run(str(tmp_path / "adapter")).out
    assert "LORA, rank 4, alpha 16, on q_proj, v_proj" in shown
    assert f"{SIZE:,}" in shown
    assert f"{100 * OWN / SIZE:.3g}%" in shown


def test_a_base_of_a_config_alone(tmp_path: Path) -> None:
    write_config(tmp_path / "base", BASE)
    check(hfinspect.inspect(write_adapter(tmp_path / "adapter", str(tmp_path / "base"))), SIZE)


def test_the_adapter_file_alone(tmp_path: Path) -> None:
    base = write_base(tmp_path / "base")
    write_adapter(tmp_path / "adapter", str(base))
    check(hfinspect.inspect(tmp_path / "adapter" / "adapter_model.safetensors"), SIZE)


def test_a_base_on_the_hub(hub: HubServer, tmp_path: Path) -> None:
    tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(BASE).tensors}
    config = json.dumps(BASE).encode()
    hub.add("org/base", {"config.json": config, "model.safetensors": weights(tensors)})
    written = json.dumps(settings("org/base")).encode()
    hub.add(
        "org/adapter",
        {"adapter_config.json": written, "adapter_model.safetensors": weights(lora())},
    )
    check(hfinspect.inspect("org/adapter", client=client(hub)), SIZE)
    local = write_adapter(tmp_path / "adapter", "org/base")
    check(hfinspect.inspect(local, client=client(hub)), SIZE)


@pytest.mark.posix
@pytest.mark.parametrize("base", ["org/gone", "../../etc", "no such base", "/dev/null"])
def test_a_base_out_of_reach_is_a_note(base: str, hub: HubServer, tmp_path: Path) -> None:
    inspection = hfinspect.inspect(write_adapter(tmp_path / "adapter", base), client=client(hub))
    check(inspection, None)
    notes = [finding for finding in inspection.findings if finding.rule == "base-model"]
    assert [note.severity for note in notes] == ["note"]


def test_a_repo_cannot_name_a_path_of_ours(hub: HubServer, tmp_path: Path) -> None:
    base = write_base(tmp_path / "base")
    written = json.dumps(settings(str(base))).encode()
    hub.add(
        "org/adapter",
        {"adapter_config.json": written, "adapter_model.safetensors": weights(lora())},
    )
    check(hfinspect.inspect("org/adapter", client=client(hub)), None)


def test_bases_do_not_lead_in_circles(tmp_path: Path) -> None:
    one = tmp_path / "one"
    two = tmp_path / "two"
    write_adapter(one, str(two))
    write_adapter(two, str(one))
    for root in (one, two):
        check(hfinspect.inspect(root), None)


def test_an_adapter_without_a_base(tmp_path: Path) -> None:
    check(hfinspect.inspect(write_adapter(tmp_path, None)), None)


@pytest.mark.parametrize("value", [None, 7, [], {}, "x", [1, None, {}], True])
def test_settings_of_no_sense(value: object, tmp_path: Path) -> None:
    """Every key may be anything; what is counted stays the same."""
    write_safetensors(tmp_path / "adapter_model.safetensors", lora())
    odd = {key: value for key in settings(None) if key != "base_model_name_or_path"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(odd))
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.parameters == OWN
    conforms(inspection.to_dict(tensors=True))


def test_an_adapter_explains_itself(tmp_path: Path) -> None:
    """From its rank and its headers; the base model need not be there."""
    derived = hfinspect.explain(write_adapter(tmp_path, None), against=OWN + 1)
    assert derived.parameters == OWN == hfinspect.inspect(tmp_path).parameters
    assert derived.closed is not None
    assert derived.closed.text == "128·r"
    assert [(one.letter, one.key, one.value) for one in derived.letters] == [("r", "r", RANK)]
    assert derived.against is not None
    assert derived.against.difference == 1
    conforms(derived.to_dict(), "explanation")
    done = run("explain", tmp_path)
    assert done.code == 0
    assert "rank of the adapter" in done.out
    assert "positions" not in done.out


def test_a_module_with_a_rank_of_its_own_keeps_plain_numbers(tmp_path: Path) -> None:
    tensors: Tensors = {
        **lora(),
        "base_model.model.lm_head.lora_A.weight": ("F32", (8, 16)),
        "base_model.model.lm_head.lora_B.weight": ("F32", (64, 8)),
        "base_model.model.model.norm.weight": ("F32", (16,)),
    }
    write_safetensors(tmp_path / "adapter_model.safetensors", tensors)
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings(None)))
    derived = hfinspect.explain(tmp_path)
    assert derived.parameters == OWN + 8 * (16 + 64) + 16
    assert derived.closed is not None
    assert derived.closed.text == "128·r + 656"
