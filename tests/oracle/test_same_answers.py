"""A trace that has the tensors of a written family and says less of them takes no file's place."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from hfinspect.core.library_versions import TRANSFORMERS
from hfinspect.trees import catalog

from ..architectures import recordings
from ..sameness.asking import Judge, room
from ..sameness.packages import Package, checked_out
from ..sameness.questions import chosen
from ..sameness.subjects import Subject, naming
from .replace import _tensors, answers_otherwise
from .same_answers import with_traces

pytestmark = pytest.mark.posix  # folders of one user

NAME = "ArceeForCausalLM"
_HEADS: Any = ["*", "num_key_value_heads", ["//", "hidden_size", "num_attention_heads"]]


def linear(kind: str, rows: Any, columns: Any) -> dict[str, Any]:
    return {"class": "Linear", "kind": kind, "in": {"weight": [rows, columns]}}


def norm(size: str) -> dict[str, Any]:
    return {"class": "ArceeRMSNorm", "as": "norm", "in": {"weight": [size]}}


#: Arcee's decoder without biases, its tensors as in ``architectures/arcee.py``; no class of it has
#: shown what its layers keep between tokens.
_LAYER: dict[str, Any] = {
    "class": "ArceeDecoderLayer",
    "in": {
        "self_attn": {
            "class": "ArceeAttention",
            "as": "attention",
            "in": {
                "q_proj": linear("query", "hidden_size", "hidden_size"),
                "k_proj": linear("key", _HEADS, "hidden_size"),
                "v_proj": linear("value", _HEADS, "hidden_size"),
                "o_proj": linear("output", "hidden_size", "hidden_size"),
            },
        },
        "mlp": {
            "class": "ArceeMLP",
            "as": "mlp",
            "in": {
                "up_proj": linear("up", "intermediate_size", "hidden_size"),
                "down_proj": linear("down", "hidden_size", "intermediate_size"),
            },
        },
        "input_layernorm": norm("hidden_size"),
        "post_attention_layernorm": norm("hidden_size"),
    },
}
TRACE: dict[str, Any] = {
    "format": 1,
    "library": "transformers",
    "version": TRANSFORMERS,
    "model_type": "arcee",
    "category": "text decoder",
    "base": None,
    "base_prefix": "model",
    "classes": {"ArceeForCausalLM": {"root": 0, "guards": 0}},
    "guards": [{}],
    "defaults": {},
    "nodes": [
        {
            "class": "ArceeForCausalLM",
            "in": {
                "model": {
                    "class": "ArceeModel",
                    "in": {
                        "embed_tokens": {
                            "class": "Embedding",
                            "as": "embedding",
                            "kind": "token",
                            "in": {"weight": ["vocab_size", "hidden_size"]},
                        },
                        "layers": {
                            "class": "ModuleList",
                            "count": "num_hidden_layers",
                            "pick": [[None, _LAYER]],
                            "layers": True,
                        },
                        "norm": norm("hidden_size"),
                    },
                },
                "lm_head": {
                    "class": "Linear",
                    "as": "head",
                    "kind": "lm_head",
                    "in": {"weight": ["vocab_size", "hidden_size"]},
                },
            },
        }
    ],
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The package with the trace in place of the file."""
    return with_traces("arcee", {"arcee": TRACE}, tmp_path_factory.mktemp("traced"))


def differing(traced: Package, subject: Subject, place: Path) -> set[str]:
    """The questions about a config that are answered otherwise."""
    questions = chosen(["memory vllm", "explain cache", "audit"])
    (one,) = Judge(checked_out(), traced, questions, room(place)).compared([subject])
    return {question.name for question, _, _ in one.differing}


def test_the_same_tensors_are_not_the_same_answers(traced: Package, tmp_path: Path) -> None:
    known = {subject.name: subject for subject in naming({"arcee", "llama"})}
    assert differing(traced, known["recorded/arcee/arcee-default"], tmp_path) == {
        "memory vllm",
        "explain cache",
    }
    assert not differing(traced, known["recorded/llama/llama-default"], tmp_path)


def test_replace_says_what_a_trace_would_change_and_refuses_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = catalog.builder(NAME)
    config = recordings.spellings(recordings.of("arcee")["arcee-default"])["saved"]
    trace = catalog.traced_family(TRACE).classes[NAME]
    assert _tensors(trace, config) == _tensors(written, config)

    family = dataclasses.replace(catalog.families()[0], model_types=(), classes={NAME: written})
    questions = chosen(["memory llama.cpp", "explain cache"])
    assert answers_otherwise("arcee", [family], {"arcee": {"trace": TRACE}}, questions)
    lines = capsys.readouterr().out.splitlines()
    named = [line for line in lines if line.startswith("arcee: ANSWERS OTHERWISE ")]
    assert any("memory llama.cpp: " in line for line in named)
    assert any("explain cache: " in line and " x recorded/arcee/arcee-" in line for line in named)
    assert "    -cache   128 B per token; 4.19 MB at 32,768 tokens" in "\n".join(lines)
