"""timm's own config.json: an architecture by name, and what its loader passes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hfinspect.errors import HfinspectError
from hfinspect.trees.prediction import predict

from ..cli.program import hfinspect

#: config.json of timm/convnext_atto.d2_in1k, less what is for images alone.
PUBLISHED: dict[str, Any] = {
    "architecture": "convnext_atto",
    "num_classes": 1000,
    "num_features": 320,
    "global_pool": "avg",
    "pretrained_cfg": {
        "tag": "d2_in1k",
        "custom_load": False,
        "input_size": [3, 224, 224],
        "fixed_input_size": False,
        "num_classes": 1000,
        "pool_size": [7, 7],
        "first_conv": "stem.0",
        "classifier": "head.fc",
    },
}
#: The same of a model whose image has a size of its own.
SWIN: dict[str, Any] = {
    "architecture": "swin_tiny_patch4_window7_224",
    "num_classes": 1000,
    "pretrained_cfg": {"input_size": [3, 224, 224], "fixed_input_size": True},
}


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {t.name: tuple(map(int, t.shape)) for t in predict(config).tensors}


def test_a_published_config_is_answered() -> None:
    assert predict(PUBLISHED).parameters == 3_695_520
    assert predict(SWIN).parameters == 28_288_354  # Liu et al. 2021, table 1: 28M


def test_classes_come_from_the_root_then_from_the_published_config() -> None:
    inner = {**PUBLISHED["pretrained_cfg"], "num_classes": 7}
    assert shapes({**PUBLISHED, "num_classes": 5, "pretrained_cfg": inner})["head.fc.bias"] == (5,)
    without = {k: v for k, v in PUBLISHED.items() if k != "num_classes"}
    assert shapes({**without, "pretrained_cfg": inner})["head.fc.bias"] == (7,)
    given = {**PUBLISHED, "model_args": {"num_classes": 3}}
    assert shapes(given)["head.fc.bias"] == (3,)
    assert shapes({"architecture": "convnext_atto"})["head.fc.bias"] == (1000,)


def test_no_classes_is_no_classifier() -> None:
    shape_of = shapes({**PUBLISHED, "num_classes": 0})
    assert "head.fc.weight" not in shape_of
    assert "head.norm.weight" in shape_of


def test_channels_come_from_the_images_size() -> None:
    inner = {**PUBLISHED["pretrained_cfg"], "input_size": [1, 224, 224]}
    assert shapes({**PUBLISHED, "pretrained_cfg": inner})["stem.0.weight"] == (40, 1, 4, 4)
    assert shapes({**PUBLISHED, "model_args": {"in_chans": 6}})["stem.0.weight"] == (40, 6, 4, 4)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({**PUBLISHED, "model_args": {"depths": [1, 1, 1, 1]}}, "model_args.depths"),
        ({**PUBLISHED, "model_args": {"global_pool": "max"}}, "global_pool"),
        ({**PUBLISHED, "model_args": {"img_size": [224, 192]}}, "img_size"),
        ({**PUBLISHED, "model_args": {"in_chans": 0}}, "in_chans"),
        ({**PUBLISHED, "pretrained_cfg": {"input_size": [3, 4]}}, "input_size"),
        ({**PUBLISHED, "pretrained_cfg": 7}, "pretrained_cfg"),
        ({**SWIN, "model_args": {"img_size": 384}}, "img_size"),
        ({**SWIN, "pretrained_cfg": {"input_size": [3, 224, 224]}}, "fixed_input_size"),
        ({"architecture": "resnet_of_tomorrow"}, "resnet_of_tomorrow"),
    ],
)
def test_what_was_not_recorded_is_refused_by_its_name(config: dict[str, Any], key: str) -> None:
    with pytest.raises(HfinspectError, match=key):
        predict(config)


def test_a_name_that_is_no_architecture_of_timm_is_no_timm_model() -> None:
    """A class of another library may have the name."""
    with pytest.raises(HfinspectError, match="not in the catalog"):
        predict({"architectures": ["convnext_atto"]})
    with pytest.raises(HfinspectError, match="not in the catalog"):
        predict({"_class_name": "convnext_atto"})


def test_transformers_wrapper_has_the_model_inside() -> None:
    config = {"model_type": "timm_wrapper", "architecture": "convnext_atto", "num_classes": 5}
    named = {**config, "architectures": ["TimmWrapperForImageClassification"]}
    shape_of = shapes(named)
    assert shape_of["timm_model.head.fc.weight"] == (5, 320)
    assert not any(
        "head.fc" in n for n in shapes({**config, "architectures": ["TimmWrapperModel"]})
    )
    with pytest.raises(HfinspectError, match="resnet_of_tomorrow"):
        predict({**named, "architecture": "resnet_of_tomorrow"})


@pytest.mark.parametrize("command", [[], ["tree"], ["explain"]])
def test_every_command_answers(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED))
    done = hfinspect(*command, str(tmp_path))
    assert done.code == 0, done.out
    assert "3.70 M" in done.out or "3,695,520" in done.out
