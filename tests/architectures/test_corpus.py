"""Real configs and real indexes from public repos, where the folder is at hand.

``HFINSPECT_CORPUS`` names it; without it ``../shared/corpus`` next to the project is looked at.
Each folder is a Hub id with config.json and, for some, index.json (all tensor names, total_size).
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hfinspect.analysis.labels.lookup import spec_finder
from hfinspect.core.tensor import DTYPE_BITS
from hfinspect.errors import ConfigError, UnknownArchitectureError
from hfinspect.trees.prediction import Prediction, predict

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("HFINSPECT_CORPUS") or ROOT.parent / "shared" / "corpus")
MANIFEST = CORPUS / "manifest.tsv"

#: Folders whose config alone says too little, or whose class has no public description: refused.
REFUSED = {
    "FacebookAI--roberta-base@pre-model_type": "neither model_type nor architectures",
}

#: Counts that differ from the manifest's, and why ours is the file's.
OTHER_COUNT = {
    "EleutherAI--gpt-j-6B": "the manifest counts a GPT-Neo; the index holds a GPT-J",
}

#: Tensors of an index that a fresh save does not write, and why: last segments.
EXTRA = {
    "EleutherAI--gpt-j-6B": ("attn.bias", "attn.masked_bias"),  # causal masks
    "decapoda-research--llama-7b-hf": ("rotary_emb.inv_freq",),  # rotary frequencies
    "togethercomputer--RedPajama-INCITE-7B-Base": (
        "attention.bias",
        "attention.masked_bias",
        "rotary_emb.inv_freq",
    ),  # masks and rotary frequencies
    "tiiuae--falcon-40b": ("lm_head.weight",),  # stored although the class ties it
    "jri-advtechlab--layoutlm-wikipedia-ja": (
        "predictions.decoder.bias",
        "predictions.decoder.weight",
        "embeddings.position_ids",
    ),  # both ends of ties, positions
}

#: Indexes whose names or bytes a prediction is not meant to give.
OTHER_NAMES = {
    "nuxwork--llama-7b-hf@291": "an early conversion with names of its own",
    "Qwen--Qwen-7B-Chat-Int4": "packed by GPTQ: qweight, qzeros, scales, g_idx",
}
OTHER_BYTES = {
    "togethercomputer--RedPajama-INCITE-7B-Base": "booleans counted at an eighth of a byte",
}
#: Configs that name no dtype: the files' own, from their total size.
DTYPE = {
    "EleutherAI--gpt-j-6B": "F32",
    "bigscience--bloom": "BF16",
    "Tele-AI--TeleChat-52B": "BF16",
    "black-forest-labs--FLUX.1-dev--transformer": "BF16",
    "stabilityai--stable-diffusion-3.5-large--transformer": "BF16",
}
#: A file's dtype where config.json says another.
OTHER_DTYPE = {"jri-advtechlab--layoutlm-wikipedia-ja": "F16"}


def rows() -> dict[str, dict[str, str]]:
    if not MANIFEST.exists():
        return {}
    with MANIFEST.open(newline="") as lines:
        return {row["id"]: row for row in csv.DictReader(lines, delimiter="\t")}


def config(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((CORPUS / name / "config.json").read_text())
    return values


ROWS = {name: row for name, row in rows().items() if (CORPUS / name / "config.json").exists()}
INDEXED = [name for name in ROWS if (CORPUS / name / "index.json").exists()]
pytestmark = pytest.mark.skipif(not ROWS, reason="the corpus folder is not here")


@pytest.mark.parametrize("name", ROWS)
def test_unique_parameters(name: str) -> None:
    """What transformers counts, or a refusal that is expected."""
    if name in REFUSED:
        with pytest.raises((ConfigError, UnknownArchitectureError)):
            predict(config(name))
        return
    prediction = predict(config(name))
    expected = ROWS[name]["transformers_unique_parameters"]
    if expected and name not in OTHER_COUNT:
        assert prediction.parameters == int(expected)
    else:
        assert prediction.parameters > 0


@pytest.mark.parametrize("name", [name for name in INDEXED if name not in OTHER_NAMES])
def test_names_and_bytes_of_the_index(name: str) -> None:
    prediction = predict(config(name))
    index = json.loads((CORPUS / name / "index.json").read_text())
    names = list(index["weight_map"])
    find = spec_finder(prediction)
    specs = {stored: find(stored) for stored in names}
    unknown = [stored for stored, spec in specs.items() if spec is None]
    assert unknown == []
    held = {spec.name for spec in specs.values() if spec is not None}
    missing = [spec.name for spec in prediction.tensors if spec.name not in held]
    fresh = {spec.name for spec in prediction.tensors}
    extra = {
        stored
        for stored, spec in specs.items()
        if spec is not None and spec.name not in fresh and not stored.endswith(EXTRA.get(name, ()))
    }
    assert (missing, extra) == ([], set())
    if name not in OTHER_BYTES:
        assert total(name, prediction, specs) == int(index["metadata"]["total_size"])


def total(name: str, prediction: Prediction, document: dict[str, Any]) -> int:
    """Bytes of the index's tensors in the config's dtype, buffers in their own; a tie that is
    listed twice is one tensor to whoever wrote the total."""
    dtype = OTHER_DTYPE.get(name) or prediction.dtype or DTYPE[name]
    counted = 0
    for spec in document.values():
        if spec.tied_to is not None and name in OTHER_DTYPE and spec.tied_to.endswith("weight"):
            continue
        bits = DTYPE_BITS[spec.dtype or dtype]
        counted += spec.elements * bits // 8
    return counted
