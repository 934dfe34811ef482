"""What a catalogued class reads otherwise than its kin, with the counts of transformers."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.errors import ConfigError, UnknownArchitectureError
from hfinspect.trees.prediction import predict

SWIN = {"vision_config": {"model_type": "swin"}}
STEPS = [[2], [1, 2], [2, 1, 1, 1], [2, *[1] * 13]]


@pytest.mark.parametrize(
    ("name", "config", "parameters"),
    [
        # Its last layer of the MLP has a bias, whatever mlp_bias says: the others none.
        (
            "VoxtralRealtimeForConditionalGeneration",
            {"model_type": "voxtral_realtime", "text_config": {"mlp_bias": True}},
            4_429_679_360,
        ),
        # The projector takes the width of the last stage.
        (
            "VideoLlavaForConditionalGeneration",
            {"model_type": "video_llava", **SWIN},
            6_813_385_460,
        ),
        ("VipLlavaForConditionalGeneration", {"model_type": "vipllava", **SWIN}, 6_798_456_698),
        (
            "LlavaForConditionalGeneration",
            {"model_type": "llava", "vision_config": {"model_type": "donut-swin"}},
            6_785_864_570,
        ),
        (
            "LlavaForConditionalGeneration",
            {
                "model_type": "llava",
                "vision_config": {"model_type": "swin", "depths": [2, 2], "num_heads": [3, 6]},
            },
            6_757_183_682,
        ),
        ("ApertusModel", {"model_type": "apertus", "num_hidden_layers": 2}, 905_990_660),
    ],
)
def test_parameters(name: str, config: dict[str, Any], parameters: int) -> None:
    assert predict({**config, "architectures": [name]}).parameters == parameters


def test_experts_of_a_text_part_serve_some_tokens() -> None:
    prediction = predict({"model_type": "glm4v_moe_text"})
    assert prediction.parameters == 102_860_135_744
    assert prediction.active_parameters == 9_432_014_144


@pytest.mark.parametrize("value", ["prelu", "xielu"])
@pytest.mark.parametrize(
    ("key", "model_type"), [("hidden_act", "llama"), ("hidden_act", "vit_msn"), ("act", "gpt2")]
)
def test_an_activation_with_parameters_is_counted_or_refused(
    key: str, model_type: str, value: str
) -> None:
    with pytest.raises(UnknownArchitectureError, match=f"{key}.* is '{value}'"):
        predict({"model_type": model_type, key: value})


def test_it_is_refused_in_a_section_and_behind_a_gate() -> None:
    with pytest.raises(UnknownArchitectureError, match=r"vision_config\.hidden_act"):
        predict({"model_type": "clip", "vision_config": {"hidden_act": "prelu"}})
    with pytest.raises(UnknownArchitectureError, match="'gated-prelu'"):
        predict({"model_type": "t5", "feed_forward_proj": "gated-prelu"})


def test_a_backbone_under_a_model_with_slopes_of_its_own() -> None:
    """DAB-DETR's PReLU is in its decoder: the backbone's own would be more tensors."""
    resnet = {"model_type": "resnet", "hidden_act": "prelu", "out_features": ["stage4"]}
    with pytest.raises(UnknownArchitectureError, match=r"backbone_config\.hidden_act"):
        predict({"model_type": "dab-detr", "backbone_config": resnet})


@pytest.mark.parametrize(
    ("model_type", "text", "tower", "kind"),
    [
        ("llava", "text_config", "vision_config", "clip_vision_model"),
        ("encoder-decoder", "decoder", "encoder", "bert"),
        ("apertus1p5", "text_config", "audio_config", None),  # a trace
    ],
)
def test_a_tower_next_to_a_text_model_with_activations_of_its_own(
    model_type: str, text: str, tower: str, kind: str | None
) -> None:
    """Apertus's activations are those of its own layers."""
    of_text = {} if kind is None else {"model_type": "apertus"}
    of_tower = {} if kind is None else {"model_type": kind}
    config = {"model_type": model_type, text: of_text, tower: of_tower}
    assert predict(config).parameters
    with pytest.raises(UnknownArchitectureError, match=rf"{tower}\.hidden_act.* is 'xielu'"):
        predict({**config, tower: {**of_tower, "hidden_act": "xielu"}})


@pytest.mark.parametrize("model_type", ["maskformer", "mask2former", "upernet"])
def test_stages_in_another_order(model_type: str) -> None:
    """``out_features`` would mean other maps."""
    names = ["stage1", "stem", "stage2", "stage3", "stage4"]
    swin = {"model_type": "swin", "out_features": names[2:], "stage_names": names}
    with pytest.raises(UnknownArchitectureError, match=r"backbone_config\.stage_names"):
        predict({"model_type": model_type, "backbone_config": swin})
    swin["stage_names"] = ["stem", "stage1", *names[2:]]
    assert predict({"model_type": model_type, "backbone_config": swin}).parameters


def test_strides_of_single_blocks_are_those_that_the_stages_say() -> None:
    with pytest.raises(ConfigError, match="stage_block_stride"):
        predict({"model_type": "efficientloftr", "stage_block_stride": STEPS})
