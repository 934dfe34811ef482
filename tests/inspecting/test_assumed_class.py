"""A config that names no class: which one is taken is said, and what the other one counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.trees.prediction import predict

from ..builders import write_config, write_safetensors
from ..cli.program import hfinspect as program
from ..schemas import conforms

BERT = (
    "config.json names no class: BertForMaskedLM is assumed, the most common class of the "
    "model_type; BertModel has 109,482,240 parameters"
)


@pytest.mark.parametrize("named", [{}, {"architectures": []}, {"architectures": None}])
def test_bert(named: dict[str, Any], tmp_path: Path) -> None:
    config = {"model_type": "bert", **named}
    inspection = hfinspect.inspect(config)
    assert inspection.parameters == 109_514_298
    assert inspection.assumed is not None
    assert (inspection.assumed.other, inspection.assumed.other_parameters) == (
        "BertModel",
        109_482_240,
    )
    assert [f.text for f in inspection.findings if f.rule == "assumed-class"] == [BERT]
    document = inspection.to_dict()
    conforms(document)
    assert document["assumed"]["architecture"] == "BertForMaskedLM"
    derived = hfinspect.explain(config).to_dict()
    conforms(derived, "explanation")
    assert derived["assumed"] == document["assumed"]
    write_config(tmp_path, config)
    for command in ((), ("explain",)):
        assert BERT in " ".join(program(*command, tmp_path).out.split())


def test_a_class_that_is_named_is_not_assumed() -> None:
    inspection = hfinspect.inspect({"model_type": "bert", "architectures": ["BertModel"]})
    assert inspection.assumed is None
    assert inspection.to_dict()["assumed"] is None
    assert not [f for f in inspection.findings if f.rule == "assumed-class"]


def test_an_equal_count_of_the_other_class_is_not_said() -> None:
    """GPT-2's head is its embedding."""
    inspection = hfinspect.inspect({"model_type": "gpt2"})
    (text,) = [f.text for f in inspection.findings if f.rule == "assumed-class"]
    assert text.endswith("GPT2LMHeadModel is assumed, the most common class of the model_type")


def test_with_weights(tmp_path: Path) -> None:
    config = {
        "model_type": "llama",
        "vocab_size": 16,
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    write_config(tmp_path, config)
    tensors = {t.name: ("F32", t.shape) for t in predict(config).tensors}
    write_safetensors(tmp_path / "model.safetensors", tensors)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.assumed is not None
    assert inspection.assumed.architecture == "LlamaForCausalLM"
    assert (
        inspection.assumed.other_parameters
        == predict({**config, "architectures": ["LlamaModel"]}).parameters
    )
    assert "LlamaModel has" in " ".join(program(tmp_path).out.split())


def test_every_answer_says_which_class_was_assumed(tmp_path: Path) -> None:
    """Whoever asks: memory, tree, tensors, compare, and a prediction in a notebook."""
    write_config(tmp_path, {"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64})
    for command in (["memory"], ["tree"], ["tensors"], ["compare", str(tmp_path)]):
        shown = " ".join(program(*command, tmp_path).out.split())
        assert "names no class: LlamaForCausalLM is assumed" in shown, command
    for shown in (
        predict({"model_type": "bert"}).to_markdown(),
        predict({"model_type": "bert"})._repr_html_() or "",
    ):
        assert "BertForMaskedLM is assumed" in shown.replace("\\", "")
    named = predict({"model_type": "bert", "architectures": ["BertForMaskedLM"]})
    assert "is assumed" not in named.to_markdown()
