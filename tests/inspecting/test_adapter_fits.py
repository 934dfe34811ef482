"""Whether PEFT finds the modules of an adapter in its base: by their whole paths. Each answer was
compared with peft 0.21 on models of this size."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import hfinspect

from ..builders import Tensors, write_config, write_safetensors

BASE: Final[dict[str, Any]] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "tie_word_embeddings": False,
}
SETTINGS: Final[dict[str, Any]] = {
    "peft_type": "LORA",
    "task_type": "CAUSAL_LM",
    "r": 4,
    "lora_alpha": 8,
    "target_modules": ["q_proj", "v_proj"],
}


def lora(rename: Callable[[str], str] = str) -> dict[str, tuple[str, tuple[int, ...]]]:
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    for layer in range(2):
        for name in ("q_proj", "v_proj"):
            module = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[rename(f"{module}.lora_A.weight")] = ("F32", (4, 16))
            tensors[rename(f"{module}.lora_B.weight")] = ("F32", (16, 4))
    return tensors


def judged(folder: Path, tensors: Tensors, **settings: Any) -> hfinspect.Inspection:
    """The adapter next to a base that is a config alone."""
    base = folder / "base"
    write_config(base, BASE)
    write_safetensors(folder / "adapter_model.safetensors", tensors)
    values = {**SETTINGS, "base_model_name_or_path": str(base), **settings}
    (folder / "adapter_config.json").write_text(json.dumps(values))
    return hfinspect.inspect(folder)


def errors(folder: Path, reference: Path | None = None) -> set[str]:
    audited = hfinspect.audit(folder, reference=reference, ignore=["HI106"])
    return {finding.code for finding in audited.findings if finding.severity == "error"}


def test_a_sound_adapter(tmp_path: Path) -> None:
    inspection = judged(tmp_path, lora())
    assert inspection.whole is True
    assert not inspection.problems
    assert not errors(tmp_path, tmp_path / "base")


def test_an_adapter_of_the_bare_model_fits_no_module_of_a_causal_one(tmp_path: Path) -> None:
    """One level of `model.` less: PEFT finds nothing and only warns."""
    tensors = lora(lambda name: name.replace("model.model.model.", "model.model."))
    inspection = judged(tmp_path / "causal", tensors)
    [problem] = inspection.problems
    assert problem.kind == "other_names"
    assert problem.text == "all 4 modules have another path in LlamaForCausalLM"
    assert problem.fix.startswith(
        "rename base_model.model.layers.0.self_attn.q_proj to "
        "base_model.model.model.layers.0.self_attn.q_proj"
    )
    assert inspection.whole is False
    assert errors(tmp_path / "causal", tmp_path / "causal" / "base") == {"HI342"}
    mapping = {"auto_mapping": {"base_model_class": "LlamaModel"}, "task_type": None}
    assert judged(tmp_path / "bare", tensors, **mapping).whole is True
    extraction = judged(tmp_path / "task", tensors, task_type="FEATURE_EXTRACTION")
    assert extraction.whole is True


def test_a_wrapper_inside_of_the_names(tmp_path: Path) -> None:
    tensors = lora(lambda name: name.replace("base_model.model.", "base_model.model._orig_mod."))
    assert judged(tmp_path, tensors).whole is False
    assert errors(tmp_path, tmp_path / "base") == {"HI342"}


def test_a_resized_embedding_is_refused(tmp_path: Path) -> None:
    tensors = {**lora(), "base_model.model.model.embed_tokens.weight": ("F32", (68, 16))}
    [problem] = judged(tmp_path, tensors).problems
    assert problem.kind == "parts_differ"
    assert "68x16" in problem.text
    assert "64x16" in problem.text
    assert errors(tmp_path, tmp_path / "base") == {"HI320"}


def test_names_that_the_adapters_own_cut(tmp_path: Path) -> None:
    """An adapter called `lora`: `q_proj.lora_A.lora.weight` lost `.lora` twice."""
    inspection = judged(tmp_path, lora(lambda name: name.replace(".lora_", "_")))
    [problem] = inspection.problems
    assert problem.text == "no LoRA pair is in the file"
    assert "cut out" in problem.cause
    assert errors(tmp_path) == {"HI342"}


def test_what_the_config_names_and_the_file_lacks(tmp_path: Path) -> None:
    """A module to be saved whole is an error; a layer without matrices stays as it is."""
    inspection = judged(tmp_path / "head", lora(), modules_to_save=["lm_head"])
    assert [one.kind for one in inspection.problems] == ["missing_tensors"]
    assert inspection.whole is False
    less = {name: form for name, form in lora().items() if ".layers.1." not in name}
    inspection = judged(tmp_path / "layer", less)
    [problem] = inspection.problems
    assert problem.severity == "warning"
    assert problem.count == 2
    assert inspection.whole is True


def test_a_layer_that_the_base_has_not(tmp_path: Path) -> None:
    tensors = {**lora(), **lora(lambda name: name.replace("layers.1.", "layers.7."))}
    [problem] = judged(tmp_path, tensors).problems
    assert problem.kind == "parts_differ"
    assert problem.text == "the base has none of 2 modules"
