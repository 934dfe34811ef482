"""The limit of what ``generate()`` takes next to what a real transformers took, recorded by
``record_transformers_workspace``: never below, and at most 1.5 times of it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError
from hfinspect.sizing.engines.pass_types import is_eager
from hfinspect.sizing.workspace import RUNTIME_BYTES
from tests.sizing.record_transformers_workspace import MODELS, encoder_tokens
from tests.some_rows import one_of

RECORD: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "oracle" / "transformers_workspace.json").read_text()
)
ROWS = [dict(zip(RECORD["columns"], row, strict=True)) for row in RECORD["rows"]]
LIMIT = 1.5
#: Models with a case further above.
WIDER: dict[str, float] = {}


def config_of(name: str) -> dict[str, Any]:
    return {"model_type": name.partition(" ")[0], "torch_dtype": "bfloat16", **MODELS[name]}


@cache
def ours(name: str, attention: str, static: bool, batch: int, tokens: int, padded: bool) -> int:
    """Bytes of the limit without the device's runtime."""
    config = config_of(name)
    kind = name.partition(" ")[0]
    of_both = "decoder_start_token_id" in config
    seen = encoder_tokens(kind, tokens, padded, config) if of_both else None
    sized = hfinspect.memory(
        config,
        engine="transformers-static" if static else "transformers",
        context=tokens,
        batch=batch,
        flash_attention=attention != "eager" or is_eager(kind),
        encoder_tokens=seen,
    )
    assert sized.workspace is not None, sized.cache_unknown
    return sized.workspace.nbytes - RUNTIME_BYTES


def ratio(row: dict[str, Any]) -> float:
    """Our limit over what was taken next to the cache."""
    keys = ("model", "attention", "static", "batch", "tokens", "padded")
    mine = ours(*(row[key] for key in keys))
    return mine / float(row["peak"] - row["cache"])


def test_the_record_is_of_these_models() -> None:
    assert RECORD["models"] == MODELS


@pytest.mark.parametrize("name", one_of(2, list(RECORD["models"])))
def test_the_limit_is_never_below_and_at_most_half_above(name: str) -> None:
    rows = [row for row in ROWS if row["model"] == name]
    assert len(rows) >= 3
    ratios = {tuple(row.values())[1:6]: ratio(row) for row in rows}
    most = WIDER.get(name, LIMIT)
    assert {case: one for case, one in ratios.items() if not 1 <= one <= most} == {}


@pytest.mark.parametrize("name", ["musicgen", "encoder-decoder", "dia", "canary"])
def test_a_type_without_a_rule_has_no_limit_and_no_yes(name: str) -> None:
    """MusicGen and Dia double their batch where a guidance is set."""
    sized, small = (
        hfinspect.memory(
            {"model_type": name, "torch_dtype": "bfloat16"},
            engine="transformers",
            context=64,
            on=card,
        )
        for card in ("B200", "0.05GB")
    )
    assert sized.workspace is None and "no rule says" in sized.workspace_unknown
    assert sized.cache is not None and sized.total is None and sized.max_context is None
    assert sized.verdict is not None and sized.fits is None
    assert sized.verdict.least >= sized.cache.nbytes
    assert small.fits is False
    assert hfinspect.memory(config_of("bart"), engine="transformers", on="B200").fits


STRANGE: list[tuple[str, str, dict[str, Any]]] = [
    ("encoder-decoder", "encoder", {"model_type": "distilbert"}),
    ("encoder-decoder", "encoder", {"model_type": "vit"}),
    ("encoder-decoder", "encoder", {"hidden_size": None}),
    ("encoder-decoder", "decoder", {"model_type": "electra"}),
    ("encoder-decoder gpt2", "decoder", {"reorder_and_upcast_attn": True}),
    ("vision-encoder-decoder", "encoder", {"model_type": "dinov2"}),
    ("vision-encoder-decoder beit", "encoder", {"use_relative_position_bias": True}),
    ("speech-encoder-decoder", "encoder", {"add_adapter": True}),
    ("speech-encoder-decoder", "encoder", {"conv_stride": [2] * 7}),
]


@pytest.mark.parametrize(("name", "side", "keys"), STRANGE)
@pytest.mark.parametrize("engine", ["transformers", "logical"])
def test_a_pair_that_was_not_compared_has_no_limit(
    name: str, side: str, keys: dict[str, Any], engine: str
) -> None:
    config = config_of(name)
    usual = hfinspect.memory(config, engine=engine, context=64, on="B200")
    assert usual.workspace is not None and usual.fits
    section = {key: value for key, value in {**config[side], **keys}.items() if value is not None}
    sized = hfinspect.memory({**config, side: section}, engine=engine, context=64, on="B200")
    assert sized.workspace is None and sized.fits is None


def test_a_picture_has_its_patches_where_nobody_names_the_encoders_tokens() -> None:
    """The cache counts as many as of the decoder; the limit has the rest."""
    rows = [row for row in ROWS if row["model"].startswith("vision-encoder-decoder")]
    assert len(rows) >= 15
    for row in rows:
        sized = hfinspect.memory(
            config_of(row["model"]),
            engine="transformers",
            context=row["tokens"],
            batch=row["batch"],
            flash_attention=row["attention"] != "eager",
        )
        assert sized.workspace is not None and sized.cache is not None
        assert sized.workspace.nbytes - RUNTIME_BYTES + sized.cache.nbytes >= row["peak"], row


@pytest.mark.parametrize("engine", ["transformers", "logical"])
def test_a_page_of_a_type_without_a_rule_is_drawn(engine: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "musicgen", "torch_dtype": "bfloat16"}')
    words = ["memory", str(tmp_path), "--engine", engine, "--format", "html"]
    page = subprocess.run(
        [sys.executable, "-m", "hfinspect", *words], capture_output=True, text=True, check=True
    ).stdout
    assert "no rule says what a pass of musicgen takes" in page


def test_the_rows_of_a_window_stay_until_the_next_token() -> None:
    """The same layers without a window: what a DynamicCache lets go is in the workspace."""
    config = config_of("mistral")
    wide, narrow = (
        hfinspect.memory({**config, "sliding_window": window}, engine="transformers", context=4096)
        for window in (4096, 64)
    )
    assert wide.cache is not None and wide.workspace is not None
    assert narrow.cache is not None and narrow.workspace is not None
    gone = wide.cache.nbytes - narrow.cache.nbytes
    assert gone == 2 * (4095 - 63) * 2 * 128 * 2
    assert narrow.workspace.nbytes - wide.workspace.nbytes == gone


def test_no_flash_attention_is_eager_attention() -> None:
    usual, eager = (
        hfinspect.memory(
            config_of("llama"), engine="transformers", context=4096, flash_attention=fused
        )
        for fused in (True, False)
    )
    assert usual.workspace is not None and eager.workspace is not None
    assert eager.workspace.nbytes - usual.workspace.nbytes > 8 * 4096**2 * 8
    assert eager.cache == usual.cache


def test_other_servers_have_no_such_setting() -> None:
    with pytest.raises(UsageError, match="flash attention off"):
        hfinspect.memory(config_of("llama"), engine="vllm", flash_attention=False)
    with pytest.raises(UsageError, match="swa full"):
        hfinspect.memory(config_of("llama"), engine="transformers", swa_full=True)
