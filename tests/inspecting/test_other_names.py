"""The tensors of a class under the names of wrappers: counted, labelled and compared as the model,
and judged as what a loader makes of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import hfinspect

from ..builders import write_config, write_safetensors, write_sharded
from ..cli.program import hfinspect as run
from ..formats.torch_files import state_zip

LLAMA: Final[dict[str, Any]] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 64,
    "tie_word_embeddings": False,
}
Shapes = dict[str, tuple[str, tuple[int, ...]]]


def shapes(rename: Callable[[str], str] = str) -> Shapes:
    """The tensors of the class, each under another name."""
    prediction = hfinspect.predict(LLAMA)
    return {rename(spec.name): ("BF16", tuple(spec.shape)) for spec in prediction.tensors}


def model(folder: Path, tensors: Shapes, config: dict[str, Any] | None = LLAMA) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", tensors)
    if config is not None:
        write_config(folder, config)
    return folder


def others(inspection: hfinspect.Inspection) -> list[Any]:
    return [one for one in inspection.problems if one.kind == "other_names"]


WRAPPED: Final[dict[str, tuple[Callable[[str], str], str]]] = {
    "compile": (lambda name: f"_orig_mod.{name}", "torch.compile"),
    "ddp": (lambda name: f"module.{name}", "DistributedDataParallel"),
    "fabric": (lambda name: f"_forward_module.{name}", "Lightning Fabric"),
    "peft": (lambda name: f"base_model.model.{name}", "PEFT"),
    "trl": (lambda name: f"pretrained_model.{name}", "TRL"),
    "student": (lambda name: f"student.{name}", "distils"),
    "ema": (lambda name: f"ema_model.{name}", "moving average"),
    "nobody": (lambda name: f"inner.part.{name}", "nobody known (inner.part.)"),
    "twice": (lambda name: f"model.model.{name}", "a trainer's own module"),
    "nested": (lambda name: f"module._orig_mod.base_model.model.{name}", "torch.compile"),
    "inside": (lambda name: name.replace("model.", "model._orig_mod."), "torch.compile"),
    "headless": (lambda name: f"module.{name.removeprefix('model.')}", "DeepSpeed"),
    "fsdp": (
        lambda name: name.replace(".mlp.", "._fsdp_wrapped_module._checkpoint_wrapped_module.mlp."),
        "FSDP",
    ),
}


@pytest.mark.parametrize("case", WRAPPED)
def test_a_wrapper_is_named_and_the_model_is_seen(case: str, tmp_path: Path) -> None:
    """One finding for all; counts, labels and shapes are the model's."""
    rename, maker = WRAPPED[case]
    clean = hfinspect.inspect(model(tmp_path / "clean", shapes()))
    wrapped = hfinspect.inspect(model(tmp_path / "other", shapes(rename)))
    assert clean.whole is True
    assert wrapped.whole is False
    [problem] = wrapped.problems
    assert problem.kind == "other_names"
    assert problem.text.startswith("complete, but ")
    assert maker in problem.text
    assert problem.fix
    assert wrapped.expectation is not None
    assert wrapped.expectation.agrees
    assert wrapped.components == clean.components
    by_label = [(one.component, one.layer, one.kind) for one in wrapped.tensors]
    assert by_label == [(one.component, one.layer, one.kind) for one in clean.tensors]
    compared = run("compare", str(tmp_path / "clean"), str(tmp_path / "other"))
    assert compared.code == 0
    audited = hfinspect.audit(tmp_path / "other", ignore=["HI106"])
    errors = [finding for finding in audited.findings if finding.severity == "error"]
    assert [finding.code for finding in errors] == ["HI341"]
    assert not any(finding.code == "HI302" for finding in audited.findings)


def test_what_transformers_repairs_is_sound(tmp_path: Path) -> None:
    """One prefix of the base model too many or too few."""
    for number, rename in enumerate(
        (lambda name: f"model.{name}", lambda name: name.removeprefix("model."))
    ):
        inspection = hfinspect.inspect(model(tmp_path / str(number), shapes(rename)))
        assert inspection.whole is True
        assert not inspection.problems


def test_a_part_of_the_tensors(tmp_path: Path) -> None:
    """Those of two layers; a missing one is said as well."""
    tensors = shapes(lambda name: name.replace("layers.1.", "layers.1._orig_mod."))
    count = sum("_orig_mod" in name for name in tensors)
    [problem] = others(hfinspect.inspect(model(tmp_path / "part", tensors)))
    assert problem.text.startswith(f"complete, but {count} of {len(tensors)} tensors")
    del tensors["model.norm.weight"]
    inspection = hfinspect.inspect(model(tmp_path / "less", tensors))
    [problem] = others(inspection)
    assert not problem.text.startswith("complete")
    assert inspection.expectation is not None
    assert inspection.expectation.missing == ("model.norm.weight",)


def test_lora_matrices_are_beside_the_model(tmp_path: Path) -> None:
    def of_peft(name: str) -> str:
        return f"base_model.model.{name}".replace("q_proj.", "q_proj.base_layer.")

    tensors = shapes(of_peft)
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    tensors[f"{module}.lora_A.default.weight"] = ("BF16", (4, 16))
    tensors[f"{module}.lora_B.default.weight"] = ("BF16", (16, 4))
    inspection = hfinspect.inspect(model(tmp_path, tensors))
    [problem] = inspection.problems
    assert "complete, but all" in problem.text
    assert "merge_and_unload" in problem.fix
    assert inspection.parameters == hfinspect.predict(LLAMA).parameters
    codes = {finding.code for finding in hfinspect.audit(tmp_path).findings}
    assert "HI341" in codes
    assert "HI302" not in codes


def test_two_copies_stay_apart(tmp_path: Path) -> None:
    """A moving average next to the model is no other name of it."""
    tensors = {**shapes(), **shapes(lambda name: f"ema_model.{name}")}
    inspection = hfinspect.inspect(model(tmp_path, tensors))
    assert not others(inspection)
    assert inspection.expectation is not None
    assert len(inspection.expectation.unexpected) == len(tensors) // 2


def test_of_two_wrappers_the_tables_first_counts(tmp_path: Path) -> None:
    student = shapes(lambda name: f"student.{name}")
    teacher = shapes(lambda name: f"teacher.{name}")
    inspection = hfinspect.inspect(model(tmp_path, {**teacher, **student}))
    [problem] = others(inspection)
    assert "student." in problem.text
    assert inspection.expectation is not None
    assert all(name.startswith("teacher.") for name in inspection.expectation.unexpected)


def test_another_model_is_no_other_name(tmp_path: Path) -> None:
    tensors = {f"block{at}.w": form for at, form in enumerate(shapes().values())}
    assert not others(hfinspect.inspect(model(tmp_path, tensors)))
    audited = hfinspect.audit(tmp_path, ignore=["HI106"])
    errors = [finding for finding in audited.findings if finding.severity == "error"]
    assert [finding.code for finding in errors] == ["HI301"]
    assert "none of the 30 tensors of LlamaForCausalLM are in the files" in errors[0].text


def test_shards_and_their_index_are_one_checkpoint(tmp_path: Path) -> None:
    """The index has the names of the files, and is compared with them as they are."""
    tensors = list(shapes(lambda name: f"_orig_mod.{name}").items())
    write_sharded(tmp_path, [dict(tensors[:9]), dict(tensors[9:])])
    write_config(tmp_path, LLAMA)
    inspection = hfinspect.inspect(tmp_path)
    assert [problem.kind for problem in inspection.problems] == ["other_names"]
    audited = hfinspect.audit(tmp_path, ignore=["HI106"])
    errors = {finding.code for finding in audited.findings if finding.severity == "error"}
    assert errors == {"HI341"}
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    assert "HI301" not in {finding.code for finding in hfinspect.audit(tmp_path).findings}


def test_a_pickle_is_read_the_same_way(tmp_path: Path) -> None:
    tensors = {name: form for name, (_, form) in shapes(lambda name: f"_orig_mod.{name}").items()}
    (tmp_path / "pytorch_model.bin").write_bytes(state_zip(tensors))
    write_config(tmp_path, LLAMA)
    inspection = hfinspect.inspect(tmp_path)
    assert "other_names" in {problem.kind for problem in inspection.problems}
    assert inspection.tensors[0].name in shapes()


def test_without_a_config_it_is_a_warning(tmp_path: Path) -> None:
    """Nothing says who is to load it."""
    tensors = shapes(lambda name: f"_orig_mod.{name}")
    inspection = hfinspect.inspect(model(tmp_path, tensors, None) / "model.safetensors")
    [problem] = others(inspection)
    assert problem.severity == "warning"
    assert inspection.whole is None


def test_packed_weights_are_renamed_with_the_rest(tmp_path: Path) -> None:
    """A packed weight is in no tree under its own name."""
    tensors = shapes()
    module = "model.layers.0.mlp.up_proj"
    del tensors[f"{module}.weight"]
    tensors[f"{module}.qweight"] = ("I32", (2, 32))
    tensors[f"{module}.scales"] = ("F16", (1, 32))
    tensors[f"{module}.qzeros"] = ("I32", (1, 4))
    config = {**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 16}}
    clean = hfinspect.inspect(model(tmp_path / "clean", tensors, config))
    renamed = {f"module.{name}": form for name, form in tensors.items()}
    wrapped = hfinspect.inspect(model(tmp_path / "wrapped", renamed, config))
    assert wrapped.parameters == clean.parameters
    assert [one.name for one in wrapped.tensors] == [one.name for one in clean.tensors]
