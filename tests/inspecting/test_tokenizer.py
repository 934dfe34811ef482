"""``hfinspect tokenizer``: what is read, at which price, and what is said of what cannot be."""

from __future__ import annotations

import base64
import csv
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.errors import NothingToInspectError, RepoNotFoundError, UsageError
from hfinspect.inspecting.token_types import texts_of

from ..auditing.sound import CONFIG, made, write
from ..builders import write_config
from ..cli.program import hfinspect as run
from ..formats.gguf_files import GgufWriter
from ..hub_server import HubServer
from ..schemas import conforms
from .test_tokenizer_recorded import FOLDER, facts_of

REPO = "org/small-chat"
TEMPLATE = "{% for m in messages %}{{ m.role + m.content }}{% endfor %}"


def rules(facts: hfinspect.TokenizerFacts) -> list[str]:
    return [finding.rule for finding in facts.findings]


def folder_of(directory: Path, **files: Any) -> Path:
    """A sound checkpoint, with JSON files changed: ``generation_config={...}``."""
    write(made("single"), directory)
    for name, content in files.items():
        (directory / f"{name}.json").write_text(json.dumps(content))
    return directory


def test_rows_are_those_of_the_header(tmp_path: Path) -> None:
    vocabulary = hfinspect.tokenizer(folder_of(tmp_path)).vocabulary
    assert (vocabulary.tokens, vocabulary.highest, vocabulary.rows, vocabulary.head_rows) == (
        32,
        31,
        32,
        32,
    )
    assert vocabulary.rows_by == "rows of model.embed_tokens.weight"
    assert (vocabulary.padding, vocabulary.ids_without_row, vocabulary.unused) == (0, 0, 0)
    by_config = hfinspect.tokenizer(tmp_path, source="config").vocabulary
    assert (by_config.rows, by_config.head_rows) == (32, 32)


def test_ids_beyond_the_table(tmp_path: Path) -> None:
    facts = hfinspect.tokenizer(folder_of(tmp_path, added_tokens={"<a>": 32, "<b>": 40}))
    assert (facts.vocabulary.highest, facts.vocabulary.ids_without_row) == (40, 2)
    assert rules(facts) == ["tokenizer-beyond-vocabulary"]
    assert facts.findings[0].severity == "error"
    assert "HI314" in {one.code for one in hfinspect.audit(tmp_path).findings}


@pytest.mark.parametrize(
    ("generation", "tokenizer", "differ"),
    [
        ({"eos_token_id": [2, 3]}, {}, False),
        ({"eos_token_id": 3}, {}, True),
        ({"eos_token_id": [2, 5]}, {"eos_token": "t5"}, False),
        ({"eos_token_id": [2, 5]}, {"eos_token": {"content": "t6"}}, True),
        ({}, {"eos_token": "t5"}, True),
        ({"pad_token_id": -1}, {"pad_token": "t5"}, False),
        ({"pad_token_id": 4}, {"pad_token": "t5"}, True),
        ({"eos_token_id": "2"}, {"eos_token": 7}, False),
    ],
)
def test_special_ids(
    tmp_path: Path, generation: dict[str, Any], tokenizer: dict[str, Any], differ: bool
) -> None:
    folder_of(tmp_path, generation_config=generation, tokenizer_config=tokenizer)
    assert rules(hfinspect.tokenizer(tmp_path)) == ["special-ids-differ"] * differ


@pytest.mark.parametrize(
    ("config", "severities"),
    [
        ({"max_position_embeddings": 256}, {"rope-context": "warning"}),
        ({"max_position_embeddings": 128}, {}),
        ({"max_position_embeddings": 64}, {"rope-context": "note", "context-lengths": "note"}),
        ({"max_position_embeddings": 32}, {}),
        ({"max_position_embeddings": 256, "type": "llama3"}, {}),
        ({"max_position_embeddings": 256, "factor": "4"}, {}),
        ({"max_position_embeddings": 256, "factor": 8}, {}),
        ({"max_position_embeddings": 256, "nested": True}, {"rope-context": "warning"}),
    ],
)
def test_the_context_that_positions_reach(
    tmp_path: Path, config: dict[str, Any], severities: dict[str, str]
) -> None:
    rope: dict[str, Any] = {
        "rope_type": config.pop("type", "yarn"),
        "factor": config.pop("factor", 4.0),
        "original_max_position_embeddings": 32,
    }
    if config.pop("nested", False):
        rope = {"full_attention": rope, "sliding_attention": {"rope_type": "default"}}
    length = 129 if config["max_position_embeddings"] == 64 else 16
    folder_of(
        tmp_path,
        config={**CONFIG, **config, "rope_scaling": rope},
        tokenizer_config={"model_max_length": length},
    )
    facts = hfinspect.tokenizer(tmp_path, source="config")
    assert {one.rule: one.severity for one in facts.findings} == severities
    assert facts.context.config == config["max_position_embeddings"]


def test_a_request_for_each_file_that_is_there(hub: HubServer, tmp_path: Path) -> None:
    files = made("single")
    access: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    hub.add(REPO, {**files, "chat_template.jinja": TEMPLATE.encode()})
    hub.meter.clear()
    hfinspect.inspect(REPO, **access)
    before = len(hub.meter.requests)
    hub.meter.clear()
    facts = hfinspect.tokenizer(REPO, **access)
    read = {
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
    }
    assert set(facts.files) == read
    assert len(hub.meter.requests) == before + len(read)
    assert facts.origin.commit is not None
    assert [one.any_role for one in facts.templates] == [True]
    assert "no-chat-template" not in rules(facts)


def test_a_chat_model_of_the_hub_without_a_template(hub: HubServer) -> None:
    hub.add(REPO, made("single"))
    hub.add("org/chatter", made("single"))
    access: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    assert rules(hfinspect.tokenizer(REPO, **access)) == ["no-chat-template"]
    assert rules(hfinspect.tokenizer("org/chatter", **access)) == []
    with pytest.raises(RepoNotFoundError):
        hfinspect.tokenizer("org/none", **access)


def test_a_gguf_file_that_its_own_writer_wrote(tmp_path: Path) -> None:
    """Written by gguf's writer from the files of the same tokenizer (tests/oracle)."""
    content = json.loads((FOLDER / "bpe-chatml.json").read_text(encoding="utf-8"))
    (tmp_path / "vocabulary.gguf").write_bytes(base64.b64decode(content["gguf"]))
    facts = hfinspect.tokenizer(tmp_path / "vocabulary.gguf")
    (tmp_path / "files").mkdir()
    other, library = facts_of("bpe-chatml", tmp_path / "files")
    assert (facts.vocabulary.tokens, facts.vocabulary.kind) == (library["tokens"], "gpt2")
    added = len(library["added"])
    normal = library["tokens"] - added
    assert facts.vocabulary.types == {"normal": normal, "control": added}
    assert (facts.vocabulary.added, facts.vocabulary.special) == (added, added)
    assert {one.role: one.tokenizer for one in facts.special} == {
        one.role: one.tokenizer for one in other.special
    }
    (template,) = facts.templates
    (same,) = other.templates
    assert (template.roles, template.tools, template.thinking, template.tokens) == (
        same.roles,
        same.tools,
        same.thinking,
        same.tokens,
    )


def test_a_gguf_file_with_more_tokens_than_rows(tmp_path: Path) -> None:
    writer = GgufWriter().text("general.architecture", "llama").u32("llama.block_count", 1)
    writer.u32("llama.context_length", 4096).text("tokenizer.ggml.model", "llama")
    writer.texts("tokenizer.ggml.tokens", [f"t{n}" for n in range(100)])
    writer.u32("tokenizer.ggml.eos_token_id", 2).u32("tokenizer.ggml.eot_token_id", 7)
    writer.text("tokenizer.chat_template.tool_use", TEMPLATE).text(
        "llama.rope.scaling.type", "yarn"
    )
    writer.u32("llama.rope.scaling.factor", 2)
    writer.u32("llama.rope.scaling.original_context_length", 1024)
    writer.tensor("token_embd.weight", (96, 16), 0, 0)
    (tmp_path / "m.gguf").write_bytes(writer.bytes(96 * 16 * 4))
    facts = hfinspect.tokenizer(tmp_path / "m.gguf")
    assert (facts.vocabulary.rows, facts.vocabulary.ids_without_row) == (96, 4)
    assert rules(facts) == ["tokenizer-beyond-vocabulary", "rope-context"]
    assert {one.role: one.tokenizer for one in facts.special} == {"eos": (2,), "eot": (7,)}
    assert [(one.name, one.file) for one in facts.templates] == [("tool_use", "m.gguf")]


def big_gguf(order: str = "<") -> bytes:
    """2,000 tokens: too many for their types to be in the metadata."""
    types = [1] * 1900 + [3] * 40 + [4] * 30 + [5] * 28 + [2, 6]
    writer = GgufWriter(order).text("general.architecture", "llama").u32("llama.block_count", 1)
    writer.text("tokenizer.ggml.model", "llama")
    writer.texts("tokenizer.ggml.tokens", [f"t{n}" for n in range(2000)])
    writer.u32("tokenizer.ggml.eos_token_id", 2500).u32("tokenizer.ggml.bos_token_id", 1)
    array = writer.pack("IQ", 5, len(types)) + writer.pack(f"{len(types)}i", *types)
    writer.raw_key("tokenizer.ggml.token_type", 9, array)
    return writer.tensor("token_embd.weight", (1995, 16), 0, 0).bytes(1995 * 16 * 4)


@pytest.mark.parametrize("order", ["<", ">"])
def test_types_of_a_gguf_files_tokens(tmp_path: Path, order: str) -> None:
    (tmp_path / "m.gguf").write_bytes(big_gguf(order))
    facts = hfinspect.tokenizer(tmp_path / "m.gguf")
    tokens = facts.vocabulary
    assert tokens.types == {
        "normal": 1900,
        "unknown": 1,
        "control": 40,
        "user_defined": 30,
        "unused": 28,
        "byte": 1,
    }
    assert (tokens.added, tokens.special, tokens.unused, tokens.ids_without_row) == (70, 40, 28, 5)
    assert rules(facts) == ["tokenizer-beyond-vocabulary", "token-id"]
    codes = {one.code: one.text for one in hfinspect.audit(tmp_path / "m.gguf").findings}
    assert codes["HI314"] == "its highest id is 1,999"
    assert codes["HI321"] == "the id of eos is 2,500, expected below 2,000"


def test_types_cost_one_request_of_their_size(hub: HubServer) -> None:
    access: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    hub.add("org/gguf", {"m.gguf": big_gguf()})
    hub.meter.clear()
    hfinspect.inspect("org/gguf", **access)
    before = len(hub.meter.requests)
    hub.meter.clear()
    assert hfinspect.tokenizer("org/gguf", **access).vocabulary.types["control"] == 40
    assert len(hub.meter.requests) <= before + 1


def gguf_with_added(count: int, added: list[str], order: str = "<") -> bytes:
    writer = GgufWriter(order).text("general.architecture", "llama").u32("llama.block_count", 1)
    writer.text("tokenizer.ggml.model", "gpt2")
    writer.texts("tokenizer.ggml.tokens", [f"t{n}" for n in range(count - 2)] + ["<é>", "t0"])
    writer.texts("tokenizer.ggml.added_tokens", added)
    return writer.tensor("token_embd.weight", (count, 16), 0, 0).bytes(count * 16 * 4)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("count", [30, 2000])
@pytest.mark.parametrize("more", [0, 90])
def test_tokens_that_a_gguf_file_lists_as_added(
    tmp_path: Path, order: str, count: int, more: int
) -> None:
    """Few are in the metadata, of many only their place: both are looked up."""
    added = ["<é>", "t0", *[f"<gone {n}>" for n in range(more)]]
    (tmp_path / "m.gguf").write_bytes(gguf_with_added(count, added, order))
    facts = hfinspect.tokenizer(tmp_path / "m.gguf")
    assert (facts.vocabulary.tokens, facts.vocabulary.added) == (count, len(added))
    ids = [(one.content, one.id, one.file) for one in facts.added_tokens]
    assert ids == [("<é>", count - 2, "m.gguf"), ("t0", 0, "m.gguf")]
    assert rules(facts) == ["added-token-without-id"] * bool(more)
    if more:
        assert facts.findings[0].text == (
            "90 of tokenizer.ggml.added_tokens are not in tokenizer.ggml.tokens, where llama.cpp "
            "takes all ids from: <gone 0>"
        )


def test_added_tokens_of_a_gguf_file_cost_a_request_each_array(hub: HubServer) -> None:
    access: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    hub.add("org/gguf", {"m.gguf": gguf_with_added(30_000, ["<é>"])})
    hub.meter.clear()
    hfinspect.inspect("org/gguf", **access)
    before = len(hub.meter.requests)
    hub.meter.clear()
    assert hfinspect.tokenizer("org/gguf", **access).added_tokens[0].id == 29_998
    assert len(hub.meter.requests) <= before + 1


@given(st.lists(st.text(), max_size=20), st.sampled_from("<>"), st.binary(max_size=30))
def test_texts_of_an_array_come_back(texts: list[str], order: str, junk: bytes) -> None:
    raw = [text.encode("utf-8", "backslashreplace") for text in texts]
    data = b"".join(struct.pack(f"{order}Q", len(one)) + one for one in raw)
    assert texts_of(data, len(texts), order) == [one.decode() for one in raw]
    assert texts_of(data + b"\0", len(texts), order) is None
    assert texts_of(data[:-1], len(texts), order) is None or not texts
    assert len(texts_of(junk, 3, order) or "abc") == 3


def pipeline() -> dict[str, bytes]:
    """Two tokenizers, the second a model of SentencePiece, each with the config of an encoder."""
    spiece = json.loads((FOLDER.parent / "vocabularies" / "pieces.json").read_text("utf-8"))
    encoder: dict[str, Any] = {
        "model_type": "clip_text_model",
        "vocab_size": 4,
        "max_position_embeddings": 77,
        "eos_token_id": 2,
    }
    config = {"eos_token": "<e>", "model_max_length": 77, "tokenizer_class": "CLIPTokenizer"}
    content: dict[str, Any] = {
        "model_index.json": {"_class_name": "StableDiffusion3Pipeline"},
        "tokenizer/vocab.json": {"a": 0, "b": 1, "c": 2, "<e>": 3},
        "tokenizer/tokenizer_config.json": config,
        "text_encoder/config.json": encoder,
        "tokenizer_3/tokenizer_config.json": {"tokenizer_class": "T5Tokenizer"},
        "text_encoder_3/config.json": {"model_type": "t5", "vocab_size": 150},
    }
    files = {path: json.dumps(value).encode() for path, value in content.items()}
    files["tokenizer/merges.txt"] = b"#version: 0.2\n"
    return {**files, "tokenizer_3/spiece.model": base64.b64decode(spiece["t5"]["data"])}


def test_each_tokenizer_of_a_pipeline(tmp_path: Path) -> None:
    write(pipeline(), tmp_path)
    facts = hfinspect.tokenizer(tmp_path)
    first, third = facts.parts
    assert [one.component for one in facts.parts] == ["tokenizer", "tokenizer_3"]
    assert (first.vocabulary.tokens, first.vocabulary.rows, first.vocabulary.kind) == (4, 4, "BPE")
    assert first.vocabulary.rows_by == "vocab_size of text_encoder/config.json"
    assert first.context.config == first.context.model_max_length == 77
    assert [(one.rule, one.severity, one.file) for one in first.findings] == [
        ("special-ids-differ", "note", "text_encoder/config.json")
    ]
    assert (third.vocabulary.tokens, third.vocabulary.ids_without_row) == (154, 4)
    assert rules(third) == ["tokenizer-beyond-vocabulary"]
    alone = hfinspect.tokenizer(tmp_path, file="tokenizer_3")
    assert (alone.component, alone.vocabulary) == ("tokenizer_3", third.vocabulary)
    screen = run("tokenizer", tmp_path)
    assert screen.code == 0
    assert "Tokenizers of" in screen.out
    document = json.loads(run("tokenizer", tmp_path, "-f", "json").out)
    conforms(document, "tokenizer")
    assert [one["component"] for one in document["parts"]] == ["tokenizer", "tokenizer_3"]
    findings = {(one.code, one.file) for one in hfinspect.audit(tmp_path).findings}
    assert ("HI314", "tokenizer_3/spiece.model") in findings


def test_a_pipeline_of_the_hub_costs_its_small_files(hub: HubServer) -> None:
    hub.add("org/pipe", pipeline())
    hub.meter.clear()
    facts = hfinspect.tokenizer("org/pipe", endpoint=hub.endpoint, token=False)
    assert [one.vocabulary.tokens for one in facts.parts] == [4, 154]
    paths = [path.partition("/resolve/")[2] for path in hub.meter.paths() if "/resolve/" in path]
    read = {path.partition("/")[2] for path in paths}
    assert read == set(pipeline()) - {"model_index.json", "tokenizer/merges.txt"}
    assert len(paths) == len(read)


def test_a_processor_of_a_pipeline_is_for_its_text_encoder(tmp_path: Path) -> None:
    write(pipeline(), tmp_path)
    encoder = {"model_type": "chatglm", "padded_vocab_size": 9}
    write({"processor/tokenizer.json": made("single")["tokenizer.json"]}, tmp_path)
    (tmp_path / "text_encoder" / "config.json").write_text(json.dumps(encoder))
    first = hfinspect.tokenizer(tmp_path).parts[0]
    assert (first.component, first.vocabulary.tokens, first.vocabulary.rows) == ("processor", 32, 9)


@pytest.mark.parametrize(
    ("rows", "expected"), [(56, {}), (55, {"HI314"}), (60, {"HI316"}), (None, {})]
)
def test_an_audit_counts_the_pieces_as_the_class_does(
    tmp_path: Path, rows: int | None, expected: set[str]
) -> None:
    spiece = json.loads((FOLDER.parent / "vocabularies" / "pieces.json").read_text("utf-8"))
    config = {"model_type": "xlm-roberta", "vocab_size": rows}
    name = "XLMRobertaTokenizer" if rows else "SomeTokenizer"
    files = {
        "sentencepiece.bpe.model": base64.b64decode(spiece["unigram"]["data"]),
        "tokenizer_config.json": json.dumps({"tokenizer_class": name}).encode(),
        "config.json": json.dumps(config if rows else {**config, "vocab_size": 9}).encode(),
    }
    write(files, tmp_path)
    codes = {one.code for one in hfinspect.audit(tmp_path).findings}
    assert codes & {"HI314", "HI316"} == set(expected)


def test_a_named_token_that_no_list_has_needs_a_row(tmp_path: Path) -> None:
    folder_of(tmp_path, tokenizer_config={"pad_token": "<new>"})
    facts = hfinspect.tokenizer(tmp_path)
    assert [(one.content, one.given, one.file) for one in facts.added_tokens] == [
        ("<new>", 32, "tokenizer_config.json")
    ]
    assert rules(facts) == ["tokenizer-beyond-vocabulary"]
    (finding,) = [one for one in hfinspect.audit(tmp_path).findings if one.code == "HI314"]
    assert (finding.file, finding.text) == ("tokenizer_config.json", "its highest id is 32")


def test_more_tokenizers_than_are_read(tmp_path: Path) -> None:
    for number in range(20):
        write({f"tokenizer_{number}/vocab.json": b"{}"}, tmp_path)
    (tmp_path / "model_index.json").write_text("{}")
    facts = hfinspect.tokenizer(tmp_path)
    assert len(facts.parts) == 16
    assert [one.text for one in facts.findings] == ["4 more tokenizers are not read"]


@pytest.mark.parametrize(
    ("config", "model", "base", "tokens"),
    [
        ({"tokenizer_class": "LlamaTokenizer"}, {}, 330, 330),
        ({"tokenizer_class": "LlamaTokenizerFast"}, {}, 330, 330),
        ({}, {"model_type": "mistral", "vocab_size": 330}, 330, 330),
        ({}, {}, 330, 330),
        ({"tokenizer_class": "BaichuanTokenizer"}, {"model_type": "baichuan"}, 330, None),
        ({"auto_map": {"AutoTokenizer": ["x.Y", None]}}, {}, 330, None),
        ({"tokenizer_class": "XLMRobertaTokenizer", "mask_token": "<M>"}, {}, 330, None),
        ({"tokenizer_class": "T5Tokenizer", "extra_ids": 10**9}, {}, 330, None),
        ({"tokenizer_class": "T5Tokenizer", "extra_ids": 7}, {}, 337, 338),
    ],
)
def test_the_class_decides_on_the_ids_of_pieces(
    tmp_path: Path, config: dict[str, Any], model: dict[str, Any], base: int, tokens: int | None
) -> None:
    spiece = json.loads((FOLDER.parent / "vocabularies" / "pieces.json").read_text("utf-8"))
    (tmp_path / "tokenizer.model").write_bytes(base64.b64decode(spiece["llama"]["data"]))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    if model:
        (tmp_path / "config.json").write_text(json.dumps(model))
    facts = hfinspect.tokenizer(tmp_path)
    assert (facts.vocabulary.base, facts.vocabulary.tokens) == (base, tokens)
    assert ("unread" in rules(facts)) == (tokens is None)
    assert (facts.vocabulary.highest is None) == (tokens is None)


@pytest.mark.parametrize(
    ("lines", "tokens"),
    [("a 9\nb 8\n", 7), ("a\nb 8\n", None), ("a 9\na 8\n", None), ("<s> 9\n", None)],
)
def test_a_class_that_numbers_its_list_in_code(
    tmp_path: Path, lines: str, tokens: int | None
) -> None:
    folder_of(tmp_path, tokenizer_config={"tokenizer_class": "PhobertTokenizer"})
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text(lines)
    facts = hfinspect.tokenizer(tmp_path)
    count = lines.count("\n")
    assert facts.vocabulary.tokens == tokens
    assert facts.vocabulary.base == (count if tokens is None else tokens)
    text = "which ids PhobertTokenizer gives them is unknown"
    assert any(text in one.text for one in facts.findings) == (tokens is None)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert hfinspect.tokenizer(tmp_path).vocabulary.tokens == count


@pytest.mark.parametrize("rows", [300, 200])
def test_what_code_adds_to_ranks_is_unknown(tmp_path: Path, rows: int) -> None:
    lines = (base64.b64encode(bytes([number])) + b" %d" % number for number in range(256))
    (tmp_path / "qwen.tiktoken").write_bytes(b"\n".join(lines))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "x", "vocab_size": rows}))
    facts = hfinspect.tokenizer(tmp_path)
    tokens = facts.vocabulary
    assert (tokens.kind, tokens.base, tokens.highest) == ("tiktoken", 256, 255)
    assert (tokens.tokens, tokens.padding, tokens.unused) == (None, None, None)
    assert tokens.ids_without_row == max(256 - rows, 0)
    assert ("tokenizer-beyond-vocabulary" in rules(facts)) == (rows == 200)


def test_a_template_of_a_processor(tmp_path: Path) -> None:
    folder_of(tmp_path, processor_config={"chat_template": TEMPLATE})
    facts = hfinspect.tokenizer(tmp_path)
    assert [(one.name, one.file) for one in facts.templates] == [
        ("default", "processor_config.json")
    ]


def test_a_tokenizer_in_a_folder_of_a_pipeline(tmp_path: Path) -> None:
    files = made("single")
    write({f"tokenizer/{name}": files[name] for name in ("tokenizer.json",)}, tmp_path)
    with pytest.raises(NothingToInspectError) as caught:
        hfinspect.tokenizer(tmp_path)
    assert "tokenizer" in (caught.value.hint or "")
    facts = hfinspect.tokenizer(tmp_path, file="tokenizer")
    assert (facts.vocabulary.tokens, facts.vocabulary.rows) == (32, None)


def test_what_has_none(tmp_path: Path) -> None:
    write_config(tmp_path, CONFIG)
    with pytest.raises(NothingToInspectError, match="has no tokenizer"):
        hfinspect.tokenizer(tmp_path)
    with pytest.raises(UsageError):
        hfinspect.tokenizer(CONFIG)
    with pytest.raises(UsageError):
        hfinspect.tokenizer(tmp_path, overrides={"vocab_size": 3})


def test_a_model_that_is_not_known_hides_no_tokenizer(tmp_path: Path) -> None:
    folder_of(tmp_path, config={"model_type": "nothing", "vocab_size": 30})
    (tmp_path / "model.safetensors").unlink()
    facts = hfinspect.tokenizer(tmp_path)
    assert (facts.vocabulary.rows, facts.vocabulary.ids_without_row) == (30, 2)
    assert rules(facts) == ["tokenizer-beyond-vocabulary", "no-model"]


def test_files_that_cannot_be_read_are_findings(tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(b"[" * 200_000)
    (tmp_path / "tokenizer_config.json").write_bytes(b"{")
    (tmp_path / "chat_template.jinja").write_text("{% for %}")
    facts = hfinspect.tokenizer(tmp_path)
    assert [(one.rule, one.file) for one in facts.findings] == [
        ("unread", "tokenizer_config.json"),
        ("unread", "tokenizer.json"),
        ("template-unread", "chat_template.jinja"),
    ]
    assert facts.vocabulary.tokens is None


def test_what_is_no_model_of_sentencepiece_is_a_finding(tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer.model").write_bytes(b"\x0a\x0e")
    facts = hfinspect.tokenizer(tmp_path)
    assert [one.text for one in facts.findings if one.file == "tokenizer.model"]
    assert facts.vocabulary.padding is None


def test_the_usual_formats(tmp_path: Path) -> None:
    folder_of(tmp_path, generation_config={"eos_token_id": 9}, added_tokens={"\x1b[2J<a>": 40})
    table = run("tokenizer", tmp_path)
    assert table.code == 0
    assert "\x1b" not in table.out
    assert "eos is 9, and 2 by config.json" in table.out
    conforms(json.loads(run("tokenizer", tmp_path, "-f", "json").out), "tokenizer")
    (row,) = csv.DictReader(io.StringIO(run("tokenizer", tmp_path, "-f", "csv").out))
    assert (row["id"], row["file"]) == ("40", "added_tokens.json")
    for form in ("markdown", "html"):
        assert "eos is 9, and 2 by config" in run("tokenizer", tmp_path, "-f", form).out


def test_the_page_of_a_model_has_a_chapter(tmp_path: Path) -> None:
    folder_of(tmp_path, generation_config={"eos_token_id": 9})
    page = run("inspect", tmp_path, "-f", "html").out
    assert 'id="tokenizer"' in page
    assert "eos is 9, and 2 by config.json" in page
    write_config(tmp_path / "bare", CONFIG)
    assert 'id="tokenizer"' not in run("inspect", tmp_path / "bare", "-f", "html").out


def test_the_first_screen_says_that_files_disagree(tmp_path: Path) -> None:
    folder_of(tmp_path, generation_config={"eos_token_id": 9, "bos_token_id": 8})
    (finding,) = hfinspect.inspect(tmp_path).findings
    assert (finding.rule, finding.file, finding.severity) == (
        "tokenizer",
        "generation_config.json",
        "warning",
    )
    assert finding.text.startswith("bos is 8, and 1 by config.json; 1 more (")
    folder_of(tmp_path)
    assert hfinspect.inspect(tmp_path).findings == ()


def test_the_first_screen_asks_the_hub_for_nothing_more(hub: HubServer) -> None:
    files = made("single")
    access: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    requests = []
    for name, generation in (("org/agree", 2), ("org/differ", 9)):
        content = json.dumps({"eos_token_id": generation}).encode()
        hub.add(name, {**files, "generation_config.json": content})
        hub.meter.clear()
        assert hfinspect.inspect(name, **access).findings == ()
        read = (path.rpartition("/")[2] for path in hub.meter.paths() if "/resolve/" in path)
        requests.append(sorted(read))
    assert requests[0] == requests[1] == ["config.json", "model.safetensors"]


def test_a_list_of_two_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    folder_of(tmp_path)
    with (tmp_path / "tokenizer.json").open("r+b") as file:
        file.truncate(2 * 1024**3)
    facts = hfinspect.tokenizer(tmp_path)
    assert [(one.rule, one.file) for one in facts.findings] == [("unread", "tokenizer.json")]
    assert facts.vocabulary.tokens is None
