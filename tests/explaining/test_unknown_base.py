"""A family whose base class is a name alone: no modules of it are known."""

from __future__ import annotations

import hfinspect

COGVLM = {
    "architectures": ["CogVLMVideoForCausalLM"],
    "vocab_size": 32,
    "hidden_size": 64,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_multi_query_heads": 2,
    "vision_config": {
        "hidden_size": 32,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_heads": 4,
        "image_size": 28,
        "patch_size": 14,
        "num_positions": 5,
        "in_channels": 3,
    },
}


def test_it_is_explained_without_a_pooler_of_the_base() -> None:
    explanation = hfinspect.explain(COGVLM, against=1)
    assert explanation.parameters == hfinspect.inspect(COGVLM).parameters
