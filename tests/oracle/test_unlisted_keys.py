"""Which names a library's source looks up without declaring them."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import UnknownArchitectureError

from . import unlisted_keys

MODEL = """
class Attention:
    def __init__(self, config):
        self.dim = getattr(config, "head_dim", config.hidden_size // 2)
        self.wide = hasattr(config.text_config, "extra") and getattr(self, "cached", None)

    def forward(self, **kwargs):
        return kwargs.pop("input_ids", None)
"""
CONFIG = """
class Config:
    def __post_init__(self, **kwargs):
        old = kwargs.pop("n_embed", None)
        if "backbone" in kwargs or getattr(self, "legacy", False):
            self.size = kwargs.get("side")
"""


def test_names_that_are_looked_up(tmp_path: Path) -> None:
    (tmp_path / "modeling_x.py").write_text(MODEL)
    (tmp_path / "configuration_x.py").write_text(CONFIG)
    keys = unlisted_keys.read_keys(tmp_path)
    assert keys == {"head_dim", "extra", "n_embed", "backbone", "legacy", "side"}


def test_a_trace_refuses_a_key_that_its_config_class_does_not_list() -> None:
    config = {"model_type": "vit_msn", "architectures": ["ViTMSNModel"]}
    assert hfinspect.predict(config).parameters > 0
    with pytest.raises(UnknownArchitectureError, match="head_dim = 32"):
        hfinspect.predict({**config, "head_dim": 32})
