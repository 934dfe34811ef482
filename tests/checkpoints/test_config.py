"""config.json as Python reads it, within limits and with errors that name the file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.checkpoints import one_file as config_module
from hfinspect.checkpoints.one_file import read_config
from hfinspect.errors import ConfigError, LimitError
from hfinspect.sources.local import LocalSource

from ..builders import write_config


def config_of(folder: Path, text: bytes) -> Mapping[str, object] | None:
    (folder / "config.json").write_bytes(text)
    return read_config(LocalSource(folder))


def test_config_is_read_or_absent(tmp_path: Path) -> None:
    assert read_config(LocalSource(tmp_path)) is None
    write_config(tmp_path, {"model_type": "bert", "n": 10**30})
    assert read_config(LocalSource(tmp_path)) == {"model_type": "bert", "n": 10**30}


def test_floats_that_json_lacks_are_read_in_both_spellings(tmp_path: Path) -> None:
    config = config_of(
        tmp_path, b'{"a":{"__float__":"Infinity"},"b":-Infinity,"c":{"d":[{"__float__":"NaN"}]}}'
    )
    assert config is not None
    assert config["a"] == math.inf
    assert config["b"] == -math.inf
    inner = config["c"]
    assert isinstance(inner, dict)
    assert math.isnan(inner["d"][0])
    assert config_of(tmp_path, b'{"a":{"__float__":"x"}}') == {"a": {"__float__": "x"}}
    assert config_of(tmp_path, b'{"a":{"__float__":[1]}}') == {"a": {"__float__": [1]}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "config.json: is empty"),
        (b"[]", "config.json: is not a JSON object"),
        (b'"x"', "is not a JSON object"),
        (b"<!DOCTYPE html>", "is not JSON"),
        (b'{"a":1,}', r"is not JSON: .* \(line 1, column \d+\)"),
        (b'{"a":"\xff"}', "is not UTF-8 at byte 6"),
        (
            b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
            "is nested 101 levels deep, expected at most 64 levels",
        ),
        (b"[" * 1_000_000, "is nested 1,000,000 levels deep"),
        (b'{"a":' * 500_000, "is nested 500,000 levels deep"),
        (b'{"a":' + b"9" * 5000 + b"}", "too many digits"),
    ],
)
def test_malformed_configs_are_named(tmp_path: Path, text: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_of(tmp_path, text)


def test_html_gets_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        config_of(tmp_path, b"\n<html>")
    assert error.value.hint == "it looks like an HTML page; download it again"


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_config(tmp_path, {"a": "x" * 100})
    monkeypatch.setattr(config_module, "MAX_CONFIG_BYTES", 50)
    with pytest.raises(LimitError, match=r"at most 50 \(config.json\)"):
        read_config(LocalSource(tmp_path))


@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: json.dumps({text: [text]}).encode())
)
def test_any_bytes_give_a_mapping_or_a_config_error(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        try:
            config = config_of(Path(folder), data)
        except ConfigError:
            return
    assert isinstance(config, dict)
