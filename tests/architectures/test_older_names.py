"""Class names that released configs give and transformers has no more."""

from __future__ import annotations

import pytest

from hfinspect.trees.prediction import Prediction, predict

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99}


def named(model_type: str, class_name: str, **more: object) -> Prediction:
    return predict({"model_type": model_type, "architectures": [class_name], **SMALL, **more})


@pytest.mark.parametrize(
    ("model_type", "older", "newer"),
    [
        ("gpt_bigcode", "GPTBigCodeLMHeadModel", "GPTBigCodeForCausalLM"),
        ("ernie4_5", "Ernie4_5_ForCausalLM", "Ernie4_5ForCausalLM"),
    ],
)
def test_an_older_name_means_the_same_tensors(model_type: str, older: str, newer: str) -> None:
    old = named(model_type, older)
    new = named(model_type, newer)
    assert [(t.name, t.shape, t.tied_to) for t in old.tensors] == [
        (t.name, t.shape, t.tied_to) for t in new.tensors
    ]


@pytest.mark.parametrize("bias", [False, True])
def test_nomics_own_head_has_the_biases_of_its_mlp(bias: bool) -> None:
    """Its matrix is the table of words."""
    shapes = {
        spec.name: tuple(spec.shape)
        for spec in named("nomic_bert", "NomicBertForPreTraining", mlp_fc1_bias=bias).tensors
        if spec.name.startswith("cls.")
    }
    head = "cls.predictions"
    biases = {}
    if bias:
        biases = {f"{head}.transform.dense.bias": (32,), f"{head}.decoder.bias": (99,)}
    assert shapes == {
        f"{head}.transform.dense.weight": (32, 32),
        f"{head}.transform.layer_norm.weight": (32,),
        f"{head}.transform.layer_norm.bias": (32,),
        **biases,
    }
