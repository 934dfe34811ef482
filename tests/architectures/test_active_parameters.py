"""Parameters that are used per token: all but the routed experts not chosen, exactly."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.trees.prediction import predict


def sparse(layers: int, unused: int, expert: int) -> int:
    """What a token leaves out: ``unused`` experts of ``expert`` parameters in every layer."""
    return layers * unused * expert


PUBLIC: dict[str, tuple[dict[str, Any], int, int]] = {
    "Qwen3-30B-A3B": (
        {"model_type": "qwen3_moe", "num_hidden_layers": 48, "head_dim": 128},
        30_532_122_624,
        sparse(48, 128 - 8, 3 * 2048 * 768),
    ),
    "DeepSeek-V3: its first three layers are dense, one expert is shared": (
        {"model_type": "deepseek_v3"},
        671_026_404_352,
        sparse(58, 256 - 8, 3 * 7168 * 2048),
    ),
    "gpt-oss-20b: experts lie in one tensor and have biases": (
        {"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32},
        20_914_757_184,
        sparse(24, 32 - 4, 3 * 2880 * 2880 + 2 * 2880 + 2880),
    ),
    "Mixtral-8x7B": (
        {"model_type": "mixtral"},
        46_702_792_704,
        sparse(32, 8 - 2, 3 * 4096 * 14336),
    ),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_models(name: str) -> None:
    config, total, unused = PUBLIC[name]
    prediction = predict(config)
    assert (prediction.parameters, prediction.active_parameters) == (total, total - unused)


def test_a_tensor_that_does_not_divide_by_the_number_of_experts() -> None:
    """5 x 7 weights, 2 of 3 experts: 70/3 of each tensor, 70 of the three together."""
    prediction = predict(
        {
            "model_type": "mixtral",
            "vocab_size": 11,
            "hidden_size": 5,
            "intermediate_size": 7,
            "num_attention_heads": 1,
            "num_key_value_heads": 1,
            "num_hidden_layers": 2,
            "num_local_experts": 3,
            "num_experts_per_tok": 2,
        }
    )
    assert prediction.parameters - prediction.active_parameters == sparse(2, 1, 3 * 5 * 7)


def test_without_experts_all_parameters_serve() -> None:
    prediction = predict({"model_type": "llama"})
    assert prediction.active_parameters == prediction.parameters


def test_more_chosen_than_there_are_serves_all() -> None:
    prediction = predict({"model_type": "mixtral", "num_experts_per_tok": 99})
    assert prediction.active_parameters == prediction.parameters
