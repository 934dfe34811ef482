"""The screen of ``--train``: its sum is that of line 1, and its hints lead somewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError
from hfinspect.reports.document import Table
from hfinspect.reports.training_lines import lay_out_training

from ..cli.program import ROOT
from ..cli.program import hfinspect as program

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
CLASSIFIER: dict[str, Any] = {
    "model_type": "bert",
    "architectures": ["BertForTokenClassification"],
    "dtype": "float32",
    "num_labels": 9,
}


def test_the_screen_adds_up_where_activations_are_unknown() -> None:
    """The last row is the number of the first line, and the row before it says what is added."""
    training = hfinspect.memory(CLASSIFIER, train="full").training
    assert training is not None and training.activations is None and training.step is not None
    table = lay_out_training(training)[1]
    assert isinstance(table, Table)
    sizes = {str(row[0]): row[1] for row in table.rows}
    (step,) = [name for name in sizes if name.startswith("optimizer's step")]
    assert sizes[step] == training.step.nbytes
    assert sizes["sum, at least"] == training.least == training.states_nbytes + training.step.nbytes
    assert "sum" not in sizes and "states" not in sizes


@pytest.mark.parametrize(
    ("train", "more", "fewer"),
    [
        ("full", (), "fewer bytes: --train qlora --checkpointing"),
        ("qlora", (), "fewer bytes: --checkpointing"),
        ("qlora", ("--checkpointing",), None),
    ],
)
def test_the_hint_names_what_was_not_asked(
    train: str, more: tuple[str, ...], fewer: str | None
) -> None:
    shown = program("memory", LLAMA, "--train", train, *more, env={"COLUMNS": "80"}).out
    assert (fewer in shown) if fewer else ("fewer bytes" not in shown)


def test_a_refusal_proposes_nothing_that_is_refused_too() -> None:
    packed = str(MODELS / "gpt-oss-120b")
    assert "fewer bytes" not in program("memory", packed, "--train", "full").out
    assert "--train" not in program("memory", packed).out
    routed = program("memory", str(MODELS / "mixtral-8x7b")).out
    assert "training: --train lora" in routed  # bitsandbytes does not pack its experts


def test_details_of_training_say_which_numbers_are_those_of_running_it() -> None:
    shown = program("memory", LLAMA, "--train", "full", "--details", "--on", "24GB").out
    first, _, rest = shown.partition("To run it, without training")
    assert "KV cache by layer" in rest and "What training holds" in first


def test_lora_next_to_weights_of_an_unknown_dtype_names_the_option() -> None:
    memory = hfinspect.memory(str(MODELS / "gpt2"), train="lora")
    assert memory.training_unknown.endswith("names no dtype; --precision bf16 or fp32 names one")
    assert hfinspect.memory(str(MODELS / "gpt2"), train="lora", precision="bf16").training


def test_a_gguf_file_is_not_trained() -> None:
    file = ROOT / "fixtures" / "checkpoints" / "gguf-v3" / "tiny-Q4_K_M.gguf"
    for train in ("full", "qlora"):
        memory = hfinspect.memory(str(file), train=train)
        assert memory.training_unknown.startswith("a GGUF file is not trained: name the model")


def test_a_type_without_targets_is_called_by_its_class() -> None:
    diffusion = {"_class_name": "FluxTransformer2DModel", "num_layers": 1, "num_single_layers": 1}
    with pytest.raises(UsageError, match="adapters of FluxTransformer2DModel") as raised:
        hfinspect.memory(diffusion, train="lora")
    assert "all-linear" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [({"dtype": "float32"}, "lora --targets all-linear"), ({}, "qlora --targets all-linear")],
)
def test_the_hint_of_a_type_without_targets(
    dtype: dict[str, str], hint: str, tmp_path: Path
) -> None:
    """The command that a screen proposes is not refused for what it lacks."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"model_type": "albert", **dtype}))
    assert f"training: --train {hint}\n" in program("memory", file, columns=160).out
    done = program("memory", file, "--train", *hint.split())
    assert done.code == 0 and "fine-tuning needs at least" in done.out.splitlines()[0]


def test_the_lines_of_training_count_one_device_as_one() -> None:
    shown = program("runs", LLAMA, "--on", "24GB", "--train", "qlora", columns=120).out
    assert "GB on one device" in shown and "each of 1 " not in shown


def test_training_side_by_side_has_no_context_of_running_it() -> None:
    shown = program("memory", LLAMA, str(MODELS / "gpt2"), "--train", "lora", "--on", "4090").out
    assert "does not fit" in shown and "longest" not in shown
