"""Keys that config classes know by a second name, as those classes weigh the two."""

from __future__ import annotations

import pytest

from hfinspect.core.config_keys import keys_of
from hfinspect.errors import ConfigError
from hfinspect.trees.prediction import predict

from . import recordings


def layers(config: dict[str, object]) -> dict[str | None, int]:
    layers_of: dict[str | None, set[int | None]] = {}
    for spec in predict(config).tensors:
        if spec.layer is not None:
            layers_of.setdefault(spec.name.split(".")[0], set()).add(spec.layer)
    return {stack: len(numbers) for stack, numbers in layers_of.items()}


@pytest.mark.parametrize("model_type", ["t5", "mt5", "umt5", "switch_transformers"])
def test_t5s_second_name_for_layers_is_the_encoders(model_type: str) -> None:
    """Where both are given it wins, and the decoder follows the first name."""
    config = {"model_type": model_type, "num_hidden_layers": 2, "num_decoder_layers": 3}
    assert layers(config) == {"encoder": 2, "decoder": 3}
    both = {"model_type": model_type, "num_hidden_layers": 2, "num_layers": 4}
    assert layers({**both, "num_decoder_layers": None}) == {"encoder": 2, "decoder": 4}


def test_switch_spaces_experts_by_the_first_name() -> None:
    """A step of 12 // 3 = 4, and so one sparse layer among the first three."""
    config = {"model_type": "switch_transformers", "num_hidden_layers": 3}
    experts = {
        spec.layer
        for spec in predict(config).tensors
        if spec.name.startswith("encoder.") and ".experts." in spec.name
    }
    assert experts == {1}


COUNTED: list[tuple[int, dict[str, object]]] = [
    (
        280_329_216,
        {
            "model_type": "bart",
            "architectures": ["BartForConditionalGeneration"],
            "encoder_layers": 12,
            "num_hidden_layers": 2,
        },
    ),
    (67_736_832, {"model_type": "gpt2", "n_layer": 2, "num_hidden_layers": 4}),
    # without a model_type it is the class that knows its keys
    (67_736_832, {"architectures": ["GPT2Model"], "n_layer": 2, "num_hidden_layers": 4}),
]


@pytest.mark.parametrize(("parameters", "config"), COUNTED)
def test_an_alias_replaces_the_own_key(parameters: int, config: dict[str, object]) -> None:
    assert predict(config).parameters == parameters


def test_dbrx_hands_on_its_width_before_aliases() -> None:
    """To the experts, whose config is another; recorded from transformers."""
    config = {"model_type": "dbrx", "d_model": 32, "hidden_size": 24, "n_heads": 4, "n_layers": 1}
    shapes = {spec.name: spec.shape for spec in predict(config).tensors}
    assert shapes["transformer.wte.weight"][1] == 24
    assert shapes["transformer.blocks.0.ffn.router.layer.weight"][1] == 32


def test_in_a_section_too() -> None:
    """The section's class is known from its composite, whether or not it names its type."""
    sections: list[dict[str, int]] = [{"depth": 3, "num_hidden_layers": 1}, {"depth": 1}]
    for section in sections:
        config: dict[str, object] = {"model_type": "qwen2_vl", "vision_config": section}
        assert layers(config)["visual"] == 1


#: Keys from whose field the class computes other sizes before aliases are set, by model_type.
ALSO_READ = {
    # Heads of another size are an error, and their size is computed before there are aliases.
    "xlnet": ("d_model", "n_head"),
    **dict.fromkeys(
        ("t5", "mt5", "umt5", "longt5", "switch_transformers", "udop"), ("num_layers",)
    ),
    "dbrx": ("d_model",),
    "fastspeech2_conformer": ("encoder_layers", "encoder_num_attention_heads"),
}


def test_every_familys_aliases_come_first() -> None:
    """A recorded config of each type with aliases, and the same with every size that has an alias
    under the alias, next to twice the size under the own key."""
    compared: set[str] = set()
    for _, label, record in recordings.everything():
        kind = record["model_type"]
        own = keys_of(kind).key_of
        if recordings.is_default(record) or kind in compared or not own:
            continue
        given = recordings.spellings(record)["given"]
        if own.keys() & given.keys():
            continue  # a case of its own for a key under both names
        sizes = {
            alias: given[key]
            for alias, key in own.items()
            if type(given.get(key)) is int and key not in ALSO_READ.get(kind, ())
        }
        doubled = {own[alias]: 2 * size for alias, size in sizes.items()}
        compared.add(kind)
        assert predict({**given, **doubled, **sizes}).tensors == predict(given).tensors, label
    assert len(compared) > 100


def shapes(config: dict[str, object], word: str) -> set[tuple[int, ...]]:
    return {tuple(map(int, t.shape)) for t in predict(config).tensors if word in t.name}


def test_a_name_that_is_a_field_before_the_key_has_no_effect() -> None:
    """Step 3.7's class sets ``n_routed_experts`` after ``num_local_experts``, be it by default."""
    text = {"num_hidden_layers": 4, "hidden_size": 16, "n_routed_experts": 6}
    for given in (text, {**text, "num_local_experts": 3}):
        config: dict[str, object] = {"model_type": "step3p7", "architectures": ["Step3p7Model"]}
        assert shapes({**config, "text_config": given}, ".moe.gate.") == {(6, 16)}


def test_a_section_of_a_class_without_a_model_type_knows_its_sections() -> None:
    """Qwen3-Omni's talker_config is read by a class of no name; its text_config has a second name
    for ``num_experts``."""
    text = {"num_hidden_layers": 1, "hidden_size": 16, "num_experts": 4, "num_local_experts": 3}
    text["shared_expert_intermediate_size"] = 8
    config: dict[str, object] = {
        "model_type": "qwen3_omni_moe",
        "architectures": ["Qwen3OmniMoeForConditionalGeneration"],
        "talker_config": {"text_config": text},
    }
    assert shapes(config, "talker.model.layers.0.mlp.gate.") == {(3, 16)}


def test_of_three_names_for_the_experts_the_alias_comes_first() -> None:
    """GLM-5's and DeepSeek-V3.2's config classes put num_experts in the place of n_routed_experts,
    and then the alias num_local_experts in its place."""
    for model_type in ("glm_moe_dsa", "deepseek_v32"):
        counts = {}
        names: tuple[dict[str, int], ...] = (
            {},
            {"num_experts": 3},
            {"num_experts": 3, "num_local_experts": 4},
        )
        for more in names:
            config = {"model_type": model_type, "n_routed_experts": 2, "num_hidden_layers": 4}
            prediction = predict({**config, **more})
            gates = [t for t in prediction.tensors if t.name.endswith("mlp.gate.weight")]
            counts[len(more)] = gates[0].shape[0]
        assert counts == {0: 2, 1: 3, 2: 4}


def test_a_filter_of_one_axis_is_refused() -> None:
    config = {"model_type": "sam2_vision_model", "backbone_config": {"patch_kernel_size": [3]}}
    with pytest.raises(ConfigError, match="patch_kernel_size"):
        predict(config)
