"""GGUF files that llama.cpp refuses, and why; and those that it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.results import Inspection
from hfinspect.core.wholeness import Problem

from ..cli.program import hfinspect as run
from ..formats.gguf_files import GgufWriter
from ..formats.whole_gguf import Parts, llama, splits


def inspected(folder: Path, parts: Parts) -> Inspection:
    parts.write(folder)
    made = hfinspect.inspect(str(folder))
    assert isinstance(made, Inspection)
    return made


def errors(one: Inspection) -> list[Problem]:
    return [problem for problem in one.problems if problem.stops_loading]


@pytest.mark.parametrize(
    "parts",
    [
        llama(),
        llama(tied=True),
        llama(experts=4),
        llama(5).shaped({"rope_freqs.weight": (4,), "blk.1.attn_q.bias": (32,)}),
        llama().without("blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight").shaped(
            {"blk.0.attn_qkv.weight": (64, 32)}
        ),
        llama().shaped({"blk.0.ffn_up.scale": (1,)}),
    ],
)  # fmt: skip
def test_what_llama_cpp_loads_is_whole(parts: Parts, tmp_path: Path) -> None:
    one = inspected(tmp_path, parts)
    assert one.whole is True
    assert one.problems == ()


@pytest.mark.parametrize(
    ("parts", "kind", "example", "cause"),
    [
        (llama().without("token_embd.weight"), "missing_tensors", "token_embd.weight", ""),
        (llama().without("output_norm.weight"), "missing_tensors", "output_norm.weight", ""),
        (llama().without("blk.1.attn_k.weight"), "missing_tensors", "blk.1.attn_k.weight", ""),
        (
            llama(3).keyed(block_count=4), "missing_tensors", "blk.3.attn_norm.weight",
            "llama.block_count says 4, and the file has layers 0 to 2",
        ),
        (
            llama(3).keyed(block_count=2), "broken_contract", "blk.2.attn_norm.weight",
            "llama.block_count says 2",
        ),
        (
            llama().keyed(attention__head_count_kv=4), "wrong_shapes", "blk.0.attn_k.weight",
            "llama.attention.head_count_kv says 4",
        ),
        (
            llama().keyed(embedding_length=64), "wrong_shapes", "token_embd.weight",
            "llama.embedding_length says 64",
        ),
        (
            llama().keyed(feed_forward_length=64), "wrong_shapes", "blk.0.ffn_gate.weight",
            "llama.feed_forward_length says 64",
        ),
        (
            llama().shaped({"token_embd.weight": (66, 32), "output.weight": (66, 32)}),
            "wrong_shapes", "token_embd.weight", "tokenizer.ggml.tokens has 64 tokens",
        ),
        (llama().keyed(vocab_size=70), "wrong_shapes", "token_embd.weight",
         "llama.vocab_size says 70"),
        (llama().keyed(context_length=None), "broken_contract", "llama.context_length", ""),
        (llama().keyed(block_count=None), "broken_contract", "llama.block_count", ""),
        (
            llama().keyed(attention__layer_norm_rms_epsilon=None), "broken_contract",
            "llama.attention.layer_norm_rms_epsilon", "",
        ),
        (llama().keyed(tokenizer__ggml__model="other"), "broken_contract",
         "tokenizer.ggml.model", ""),
        (llama().keyed(tokenizer__ggml__tokens=None), "broken_contract",
         "tokenizer.ggml.tokens", ""),
        (llama().keyed(tokenizer__ggml__pre="other"), "broken_contract", "tokenizer.ggml.pre", ""),
        (llama().shaped({"blk.0.attn_rot_embd": (4,)}), "broken_contract", "blk.0.attn_rot_embd",
         "it loads a file only if it uses every tensor"),
        (llama(experts=4).keyed(expert_count=8), "wrong_shapes", "blk.0.ffn_gate_inp.weight",
         "llama.expert_count says 8"),
        (llama().keyed(feed_forward_length=[48, 48, 48]), "broken_contract",
         "llama.feed_forward_length", "llama.block_count says 2"),
    ],
)  # fmt: skip
def test_what_llama_cpp_refuses_is_named(
    parts: Parts, kind: str, example: str, cause: str, tmp_path: Path
) -> None:
    one = inspected(tmp_path, parts)
    assert one.whole is False
    (problem,) = errors(one)
    assert (problem.kind, problem.example, problem.cause) == (kind, example, cause)
    result = run("audit", str(tmp_path))
    assert result.code == 1
    assert result.out.count("error    HI345") == 1


def test_experts_without_their_number(tmp_path: Path) -> None:
    parts = llama(experts=4).keyed(expert_count=None, expert_used_count=None)
    one = inspected(tmp_path, parts)
    (missing, more) = errors(one)
    assert missing.kind == "missing_tensors"
    assert "no llama.expert_count" in missing.cause
    assert more.kind == "broken_contract"


def test_a_number_of_experts_without_experts(tmp_path: Path) -> None:
    one = inspected(tmp_path, llama().keyed(expert_count=4, expert_used_count=2))
    assert "blk.0.ffn_gate_inp.weight" in {problem.example for problem in errors(one)}


def test_no_tokenizer(tmp_path: Path) -> None:
    keys = {key: v for key, v in llama().keys.items() if not key.startswith("tokenizer.")}
    one = inspected(tmp_path, llama()._replace(keys=keys))
    assert [problem.example for problem in errors(one)] == ["tokenizer.ggml.model"]


def test_splits(tmp_path: Path) -> None:
    for number, parts in enumerate(splits(llama(), 3), 1):
        parts.write(tmp_path, f"m-{number:05}-of-00003.gguf")
    one = hfinspect.inspect(str(tmp_path))
    assert isinstance(one, Inspection)
    assert (one.whole, one.problems) == (True, ())
    first = (tmp_path / "m-00002-of-00003.gguf").read_bytes()
    (tmp_path / "m-00003-of-00003.gguf").write_bytes(first)
    twice = hfinspect.inspect(str(tmp_path))
    assert isinstance(twice, Inspection)
    assert twice.whole is False
    assert "split.no" in {problem.example for problem in errors(twice)}


def test_one_split_under_another_name(tmp_path: Path) -> None:
    one = inspected(tmp_path, splits(llama(), 2)[0])
    assert one.whole is False
    assert errors(one)[0].kind == "missing_files"


def test_an_unknown_architecture_runs_nowhere(tmp_path: Path) -> None:
    writer = GgufWriter().text("general.architecture", "llamax").u32("llamax.block_count", 1)
    writer.tensor("blk.0.attn_q.weight", (2, 4), 0, 0)
    (tmp_path / "model.gguf").write_bytes(writer.bytes(32))
    one = hfinspect.inspect(str(tmp_path))
    assert isinstance(one, Inspection)
    assert one.whole is None
    result = run("runs", str(tmp_path))
    assert result.code == 1
    assert "llama.cpp has no architecture llamax" in " ".join(result.out.split())


@pytest.mark.parametrize("kind", ["imatrix", "vocab", "adapter", "controlvector", "other"])
def test_other_files_are_no_models(kind: str, tmp_path: Path) -> None:
    writer = GgufWriter().text("general.architecture", "llama").text("general.type", kind)
    writer.tensor("blk.0.attn_q.weight.counts", (1, 1), 0, 0)
    (tmp_path / "model.gguf").write_bytes(writer.bytes(32))
    one = hfinspect.inspect(str(tmp_path))
    assert isinstance(one, Inspection)
    assert (one.whole, one.problems) == (None, ())
    result = run("runs", str(tmp_path))
    assert result.code == 1
    assert "no model: the file is" in " ".join(result.out.split())
