"""Keys of a config from which a library would load: dropped, turned off, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.errors import ConfigError, UnknownArchitectureError
from hfinspect.inspecting import meta_device
from hfinspect.inspecting.loading_keys import harmless


def test_no_weights_are_asked_for_at_any_depth() -> None:
    config = {
        "use_pretrained_backbone": True,
        "parts": [{"use_pretrained_backbone": True}, {"inner": {"pretrained": "yes"}}],
        "hidden_size": 8,
    }
    assert harmless(config) == {
        "use_pretrained_backbone": False,
        "parts": [{"use_pretrained_backbone": False}, {"inner": {"pretrained": False}}],
        "hidden_size": 8,
    }


@pytest.mark.parametrize(
    "key",
    [
        "auto_map",
        "trust_remote_code",
        "quantization_config",
        "_name_or_path",
        "attn_implementation",
        "_attn_implementation",
        "_attn_implementation_internal",
        "experts_implementation",
    ],
)
def test_what_decides_no_tensor_is_dropped_at_any_depth(key: str) -> None:
    config = {key: "plain", "sections": [{"text_config": {key: "plain", "n": 1}}]}
    assert harmless(config) == {"sections": [{"text_config": {"n": 1}}]}


def test_where_a_file_was_is_no_reason_to_refuse_it() -> None:
    assert harmless({"_name_or_path": "org/model", "n": 1}) == {"n": 1}


def test_plain_names_stay_as_they_decide_sizes() -> None:
    config = {"backbone": "resnet50.a1_in1k", "vision_config": {"architecture": "vit_base"}}
    assert harmless(config) == config


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"backbone": "someone/evil"}, "backbone"),
        ({"backbone": "hf-hub:someone/evil"}, "backbone"),
        ({"backbone": "local-dir:/home/me/model"}, "backbone"),
        ({"backbone": "C:\\models"}, "backbone"),
        ({"backbone": ".."}, "backbone"),
        ({"backbone": "~me"}, "backbone"),
        ({"backbone": ["a", "someone/evil"]}, "backbone"),
        ({"backbone_config": "someone/evil"}, "backbone_config"),
        ({"a": {"b": [{"timm_backbone": "x/y"}]}}, "a.b[0].timm_backbone"),
        ({"vision_config": {"architecture": "hf_hub:x/y"}}, "vision_config.architecture"),
        ({"vision_model_name": "x/y"}, "vision_model_name"),
        ({"text_model_id": "x/y"}, "text_model_id"),
        ({"encoder_pretrained_model_name_or_path": "x/y"}, "encoder_pretrained_model_name_or_path"),
        ({"tokenizer_name": "/etc"}, "tokenizer_name"),
        ({"audio_tokenizer": "x/y"}, "audio_tokenizer"),
        ({"processor": "x/y"}, "processor"),
        ({"attn_implementation": "someone/kernel"}, "attn_implementation"),
        ({"attn_implementation": {"text_config": "x/kernel:f"}}, "attn_implementation"),
        ({"_attn_implementation": "paged|x/kernel@v1"}, "_attn_implementation"),
        ({"experts_implementation": "someone/kernel"}, "experts_implementation"),
        ({"model_args": {"checkpoint_path": "evil.pth"}}, "model_args.checkpoint_path"),
    ],
)
def test_a_place_is_refused_by_name(config: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        harmless(config)
    error = caught.value
    assert (error.subject, error.key) == (f"config key {key}", key)
    assert error.where == "config.json"
    assert error.expected and error.hint and "would load" in error.found


def test_what_is_shown_of_a_place_is_bounded_and_clean() -> None:
    with pytest.raises(ConfigError) as caught:
        harmless({"backbone": "x/\x1b[2J" + "y" * 100_000})
    assert len(str(caught.value)) < 1_000
    assert "\x1b" not in str(caught.value)


def test_endless_nesting_is_an_error_of_ours() -> None:
    mapping: dict[str, Any] = {}
    mapping["inner"] = mapping
    rows: list[Any] = []
    rows.append(rows)
    for config in (mapping, {"rows": rows}):
        with pytest.raises(ConfigError, match="too deeply"):
            harmless(config)


def test_a_refused_config_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")  # to start it would be an error
    unknown = UnknownArchitectureError("model_type 'x'", "is not in the catalog")
    with pytest.raises(ConfigError, match="config key backbone"):
        meta_device.build({"model_type": "x", "backbone": "someone/evil"}, unknown)
    with pytest.raises(ConfigError, match="no process can be started"):
        meta_device.build({"model_type": "x"}, unknown)


def test_a_value_of_python_is_no_config() -> None:
    unknown = UnknownArchitectureError("model_type 'x'", "is not in the catalog")
    with pytest.raises(ConfigError, match="JSON"):
        meta_device.build({"model_type": "x", "dtype": object()}, unknown)
