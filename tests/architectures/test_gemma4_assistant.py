"""Gemma 4's assistants, which transformers has but cannot build (it refuses layers that all
share their keys and values): counted by hand from its code."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.errors import UnknownArchitectureError
from hfinspect.trees.prediction import predict

TEXT: dict[str, Any] = {
    "vocab_size": 98,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "global_head_dim": 16,
    "hidden_size_per_layer_input": 0,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
}
#: Query, its norm and output; gate, up and down; four norms.
SLIDING = 2 * 32 * 4 * 8 + 8 + 3 * 32 * 48 + 4 * 32
FULL = 2 * 32 * 4 * 16 + 16 + 3 * 32 * 48 + 4 * 32
BODY = 98 * 32 + 2 * SLIDING + FULL + 32
#: From two states of the large model to one's own and back.
BRIDGE = 2 * 40 * 32 + 32 * 40


@pytest.mark.parametrize("model_type", ["gemma4_assistant", "gemma4_unified_assistant"])
@pytest.mark.parametrize(
    ("changed", "parameters"),
    [
        ({}, BODY + BRIDGE),
        ({"tie_word_embeddings": False}, BODY + BRIDGE + 98 * 32),
        ({"use_ordered_embeddings": True, "num_centroids": 7}, BODY + BRIDGE + 7 * 32),
    ],
)
def test_layers_have_no_keys_of_their_own(
    model_type: str, changed: dict[str, Any], parameters: int
) -> None:
    config = {"model_type": model_type, "text_config": TEXT, "backbone_hidden_size": 40, **changed}
    prediction = predict(config)
    assert prediction.parameters == parameters
    assert not [t.name for t in prediction.tensors if "k_proj" in t.name or "v_proj" in t.name]
    assert prediction.buffers == 3 + (98 if "num_centroids" in changed else 0)


def test_a_text_model_of_another_kind_is_refused() -> None:
    """The class would be built around it, with other names."""
    text = {**TEXT, "model_type": "phi3"}
    with pytest.raises(UnknownArchitectureError, match="model_type"):
        predict({"model_type": "gemma4_unified_assistant", "text_config": text})
