"""A pipeline's tokenizers next to its text encoders: whose rows count, and what the first screen
says where they disagree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect

from ..builders import write_config
from ..cli.program import hfinspect as run
from ..hub_server import HubServer
from .test_pipelines import TEXT, hub_files, write_pipeline


def with_tokenizers(root: Path, *, highest: int = 99, weights: bool = True) -> Path:
    """Two tokenizers, for encoders of 100 rows; the second adds the id ``highest``."""
    write_pipeline(root, weights=weights)
    for name, number in (("tokenizer", 99), ("tokenizer_2", highest)):
        folder = root / name
        folder.mkdir(exist_ok=True)
        ids = {f"t{n}": n for n in range(99)}
        (folder / "vocab.json").write_text(json.dumps(ids))
        (folder / "merges.txt").write_text("#version: 0.2\n")
        added = {"added_tokens_decoder": {str(number): {"content": "<end>", "special": True}}}
        (folder / "tokenizer_config.json").write_text(json.dumps(added))
    return root


def rows_of(target: Path | str, **options: Any) -> list[tuple[int | None, str]]:
    parts = hfinspect.tokenizer(target, **options).parts
    return [(one.vocabulary.rows, one.vocabulary.rows_by) for one in parts]


NAME = "embeddings.token_embedding.weight"
HEADERS = [(100, f"rows of {NAME}"), (100, f"rows of text_model.{NAME}")]


def test_rows_of_a_local_pipeline_are_those_of_the_headers(tmp_path: Path) -> None:
    with_tokenizers(tmp_path)
    assert rows_of(tmp_path) == HEADERS
    alone = hfinspect.tokenizer(tmp_path, file="tokenizer_2").vocabulary
    assert (alone.rows, alone.rows_by) == HEADERS[1]
    config = [
        (100, f"vocab_size of {name}/config.json") for name in ("text_encoder", "text_encoder_2")
    ]
    assert rows_of(tmp_path, source="config") == config
    for path in tmp_path.glob("text_encoder*/*.safetensors"):
        path.unlink()
    assert rows_of(tmp_path) == config


def test_rows_that_only_the_header_knows(tmp_path: Path) -> None:
    with_tokenizers(tmp_path)
    config = {key: value for key, value in TEXT.items() if key != "vocab_size"}
    write_config(tmp_path / "text_encoder", config)
    assert rows_of(tmp_path)[0] == HEADERS[0]


def test_rows_of_a_pipeline_of_the_hub_are_the_configs(hub: HubServer, tmp_path: Path) -> None:
    hub.add("org/pipe", hub_files(with_tokenizers(tmp_path)))
    access: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    assert rows_of("org/pipe", **access)[0] == (100, "vocab_size of text_encoder/config.json")
    assert not any(path.endswith(".safetensors") for path in hub.meter.paths())
    assert rows_of("org/pipe", source="checkpoint", **access) == HEADERS


def test_the_first_screen_says_that_they_disagree(tmp_path: Path) -> None:
    assert hfinspect.inspect(with_tokenizers(tmp_path / "sound")).findings == ()
    for weights in (True, False):
        odd = with_tokenizers(tmp_path / f"odd-{weights}", highest=104, weights=weights)
        (finding,) = hfinspect.inspect(odd).findings
        assert (finding.rule, finding.file, finding.severity) == (
            "tokenizer",
            "tokenizer_2",
            "warning",
        )
        text = "1 id has no row; the highest is 104, expected below 100, the vocab_size of "
        assert finding.text == f"{text}text_encoder_2/config.json (the command tokenizer shows all)"
        assert text in " ".join(run("inspect", odd).out.split())
        assert text in run("inspect", odd, "-f", "html").out
        assert hfinspect.inspect(odd, file="unet").findings == ()


@pytest.mark.parametrize("weights", [True, False])
def test_the_first_screen_asks_the_hub_for_no_tokenizer(
    hub: HubServer, tmp_path: Path, weights: bool
) -> None:
    hub.add("org/odd", hub_files(with_tokenizers(tmp_path, highest=104, weights=weights)))
    assert hfinspect.inspect("org/odd", endpoint=hub.endpoint, token=False).findings == ()
    assert not any("tokenizer" in path for path in hub.meter.paths())


def test_rows_that_only_a_config_predicts_are_said_to_be_its(tmp_path: Path) -> None:
    write_config(tmp_path, {**TEXT, "hidden_act": "gelu"})
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    tokens = hfinspect.tokenizer(tmp_path).vocabulary
    assert (tokens.rows, tokens.rows_by) == (100, "vocab_size of config.json")
