"""A text model's class with the config of the composite that it is a part of."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.errors import ConfigError
from hfinspect.trees.prediction import predict

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 99,
    "head_dim": 8,
}
VISION = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}

CASES = [
    ("llama4", "Llama4ForCausalLM", "text_config", "llama4_text"),
    ("gemma3", "Gemma3ForCausalLM", "text_config", "gemma3_text"),
    ("gemma4", "Gemma4ForCausalLM", "text_config", "gemma4_text"),
    ("mistral3", "MistralForCausalLM", "text_config", "mistral"),
    ("internvl_chat", "InternLM2ForCausalLM", "llm_config", "internlm2"),
    ("kimi_k25", "DeepseekV3ForCausalLM", "text_config", "deepseek_v3"),
    # no section of the class's own type, and no size outside the section
    ("qwen2_5_vl", "Qwen2ForCausalLM", "text_config", "qwen2_5_vl_text"),
]


@pytest.mark.parametrize(("model_type", "class_name", "key", "part"), CASES)
def test_the_section_describes_it(model_type: str, class_name: str, key: str, part: str) -> None:
    section: dict[str, Any] = {"model_type": part, **SIZES}
    whole = {
        "model_type": model_type,
        "architectures": [class_name],
        key: section,
        "vision_config": VISION,
    }
    alone = {**section, "architectures": [class_name]}
    assert predict(whole).tensors == predict(alone).tensors


def test_errors_name_the_key_in_its_section() -> None:
    section = {"model_type": "gemma3_text", **SIZES, "hidden_size": "wide"}
    with pytest.raises(ConfigError, match=r"text_config\.hidden_size"):
        predict(
            {"model_type": "gemma3", "architectures": ["Gemma3ForCausalLM"], "text_config": section}
        )


def test_sizes_beside_the_section_count() -> None:
    """Qwen2-VL's first configs are flat."""
    flat = {"model_type": "qwen2_vl", "architectures": ["Qwen2ForCausalLM"], **SIZES}
    assert predict({**flat, "text_config": {}}).parameters == predict(flat).parameters


COUNTED = [
    (50_350_080, "musicgen", "MusicgenForCausalLM", {"decoder": {"num_hidden_layers": 2}}),
    (
        41_957_376,
        "musicgen_melody",
        "MusicgenMelodyForCausalLM",
        {"decoder": {"num_hidden_layers": 2}},
    ),
    (63_133_696, "llama4", "Llama4VisionModel", {"vision_config": {"num_hidden_layers": 2}}),
    (
        108_412_165,
        "mllama",
        "MllamaVisionModel",
        {"vision_config": {"num_hidden_layers": 2, "num_global_layers": 1}},
    ),
]


@pytest.mark.parametrize(("parameters", "model_type", "class_name", "sections"), COUNTED)
def test_a_section_need_not_name_its_type(
    parameters: int, model_type: str, class_name: str, sections: dict[str, Any]
) -> None:
    """Which class reads a section is known from the composite's."""
    config = {"model_type": model_type, "architectures": [class_name], **sections}
    assert predict(config).parameters == parameters
    (key,) = sections
    alone = {"architectures": [class_name], **sections[key]}
    assert predict(alone).parameters == parameters


def test_a_class_that_no_section_describes_is_refused() -> None:
    config = {"model_type": "clip", "architectures": ["BertModel"], "text_config": {}}
    with pytest.raises(ConfigError, match="no section for BertModel"):
        predict(config)


def test_a_class_that_two_sections_describe_is_refused() -> None:
    one = {"model_type": "bert", "num_hidden_layers": 1}
    two = {"model_type": "bert"}
    config = {"model_type": "encoder-decoder", "architectures": ["BertModel"], "encoder": one}
    with pytest.raises(ConfigError, match="sizes of encoder and decoder for BertModel"):
        predict({**config, "decoder": two})
    alone = predict({**one, "architectures": ["BertModel"]})
    assert predict({**config, "decoder": one}).parameters == alone.parameters


def test_numbers_as_keys() -> None:
    """What ``config.to_dict()`` gives, before JSON makes text of them."""
    table = "projector_patch_to_query_dict"
    counts = [
        predict({"model_type": "aria", table: {key: 12}}).parameters for key in (1225, "1225")
    ]
    assert counts[0] == counts[1]
