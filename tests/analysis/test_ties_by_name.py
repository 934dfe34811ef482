"""What is tied where the catalog knows nothing: only a head of the input vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect

from ..builders import write_safetensors, write_sharded

BODY = {"model.embed_tokens.weight": (64, 8), "model.layers.0.mlp.fc1.weight": (16, 8)}
TIED = {"model_type": "nobody-knows", "tie_word_embeddings": True, "vocab_size": 64}


def ties(folder: Path, shapes: dict[str, tuple[int, ...]], config: dict[str, Any]) -> Any:
    tensors = {name: ("F32", shape) for name, shape in shapes.items()}
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(config))
    return hfinspect.inspect(folder).tied


def test_a_head_of_the_input_vocabulary_is_tied(tmp_path: Path) -> None:
    wanted = {"lm_head.weight": "model.embed_tokens.weight"}
    assert ties(tmp_path, {**BODY, "lm_head.weight": (64, 8)}, TIED) == wanted
    section = {**TIED, "vocab_size": None, "text_config": {"vocab_size": 64}}
    assert ties(tmp_path, {**BODY, "lm_head.weight": (64, 8)}, section) == wanted


@pytest.mark.parametrize(
    ("shapes", "config"),
    [
        # Tables and heads of regions, boxes and answers, as wide as each other by chance.
        ({"obj_embed.weight": (4, 8), "bbox_head.weight": (4, 8)}, TIED),
        ({**BODY, "lm_head.weight": (64, 8)}, {**TIED, "vocab_size": 63}),
        ({**BODY, "lm_head.weight": (64, 8)}, {**TIED, "vocab_size": None}),
        # One head for each of two tasks: nothing says which is tied.
        ({**BODY, "lm_head.weight": (64, 8), "mlm_head.decoder.weight": (64, 8)}, TIED),
        ({**BODY, "lm_head.weight": (64, 8)}, {**TIED, "model_type": "pop2piano"}),
        # Classes that tie no head, whatever the config says; of a type that has no class here.
        (
            {**BODY, "lm_head.weight": (64, 8)},
            {**TIED, "architectures": ["BigBirdPegasusForCausalLM"]},
        ),
        (
            {**BODY, "lm_head.decoder.weight": (64, 8)},
            {**TIED, "architectures": ["LukeForMaskedLM"]},
        ),
    ],
)
def test_any_other_head_is_its_own(
    tmp_path: Path, shapes: dict[str, tuple[int, ...]], config: dict[str, Any]
) -> None:
    assert ties(tmp_path, shapes, config) == {}


def test_a_malformed_config_still_names_its_class(tmp_path: Path) -> None:
    """What is predicted of it is unknown; that its head is its own is not."""
    shapes: dict[str, tuple[int, ...]] = {**BODY, "lm_head.weight": (64, 8)}
    for name, kind in (
        ("bigbird_pegasus", "BigBirdPegasusForCausalLM"),
        ("luke", "LukeForMaskedLM"),
    ):
        config = {
            **TIED,
            "model_type": name,
            "architectures": [kind],
            "hidden_size": "wide",
            "d_model": "wide",
        }
        assert ties(tmp_path, shapes, config) == {}


def test_a_tied_copy_in_another_shard(tmp_path: Path) -> None:
    """No storage is shared between files, so the vocabulary decides here too."""
    table = "model.embed_tokens.weight"
    head = "lm_head.weight"
    for name, rows, wanted in (("a", 64, {head: table}), ("b", 32, {})):
        folder = tmp_path / name
        folder.mkdir()
        shards = [{table: ("F32", (rows, 8))}, {head: ("F32", (rows, 8))}]
        write_sharded(folder, shards)
        (folder / "config.json").write_text(json.dumps(TIED))
        assert hfinspect.inspect(folder).tied == wanted
