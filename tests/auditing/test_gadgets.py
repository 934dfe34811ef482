"""What runs code without a pickle: class names, kernels, templates, graphs of other libraries."""

from __future__ import annotations

import contextlib
import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.auditing.facts.graphs import keras_text_gadgets, onnx_gadgets, saved_model_gadgets
from hfinspect.auditing.facts.templates import danger_in
from hfinspect.errors import HfinspectError
from hfinspect.formats.base import BytesReader

from ..examples import examples
from ..formats.gguf_files import GgufWriter
from .sound import made, write


def severities(folder: Path, code: str) -> list[str]:
    return [f.severity for f in hfinspect.audit(folder).findings if f.code == code]


def with_json(folder: Path, name: str, value: Any) -> Path:
    files = made("single")
    files[name] = json.dumps(value).encode()
    return write(files, folder)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("modules.json", [{"path": "", "type": "custom_st.Transformer"}], ["warning"]),
        ("modules.json", [{"path": "", "type": "sentence_transformers.models.Transformer"}], []),
        ("model_index.json", {"unet": ["my_unet", "MyUNet"]}, ["warning"]),
        ("model_index.json", {"_class_name": ["pipeline", "Mine"]}, ["warning"]),
        (
            "model_index.json",
            {
                "unet": ["diffusers", "UNet2DConditionModel"],
                "x": [None, None],
                "checker": ["stable_diffusion", "SafetyChecker"],
            },
            [],
        ),
        ("adapter_config.json", {"auto_mapping": {"parent_library": "os"}}, ["error"]),
        (
            "adapter_config.json",
            {"auto_mapping": {"parent_library": "transformers_modules.a.b"}},
            ["warning"],
        ),
        ("adapter_config.json", {"auto_mapping": None}, []),
    ],
)
def test_classes_by_name(name: str, value: Any, expected: list[str], tmp_path: Path) -> None:
    assert severities(with_json(tmp_path, name, value), "HI416") == expected


def test_auto_map_in_a_section(tmp_path: Path) -> None:
    config = json.loads(made("single")["config.json"])
    config["vision_config"] = {"inner": [{"auto_map": {"AutoModel": "other/repo--m.M"}}]}
    assert severities(with_json(tmp_path, "config.json", config), "HI406") == ["warning"]


DANGEROUS = [
    "{{ x.__class__ }}",
    "{{ x['__class__'] }}",
    "{{ x|attr('__class__') }}",
    "{% set a = cycler.__init__ %}",
    "{{ x['\\x5f\\x5fclass\\x5f\\x5f'] }}",
    "{{ x|attr('__cl' ~ 'ass__') }}",
    "{{ x|attr(name) }}",
    "{{ [x]|map(attribute='__class__') }}",
    "{%- if x . __mro__ -%}{% endif %}",
    "{{ '}' ~ x.__class__ }}",
]
HARMLESS = [
    "if __name__ == '__main__':",
    "{# x.__class__ #}",
    "{{ 'def __init__(self):' }}",
    "{{ m['role_name'] }}",
    "{{ x|replace('_', ' ') }}",
    "{{ x|attr('name') }}",
    "{{ messages|selectattr('role', 'equalto', 'user') }}",
    "{{ '<|im_start|>' + m.role }}",
]


def test_templates() -> None:
    assert [t for t in DANGEROUS if danger_in(t) is None] == []
    assert [t for t in HARMLESS if danger_in(t) is not None] == []


def test_templates_wherever_they_lie(tmp_path: Path) -> None:
    evil = DANGEROUS[0]
    for name, value in {
        "tokenizer_config.json": {"chat_template": [{"name": "tool", "template": evil}]},
        "chat_template.json": {"chat_template": evil},
        "processor_config.json": {"chat_template": {"default": evil}},
    }.items():
        assert severities(with_json(tmp_path / name, name, value), "HI419") == ["error"], name
    gguf = tmp_path / "gguf"
    gguf.mkdir()
    writer = GgufWriter().text("general.architecture", "llama")
    (gguf / "m.gguf").write_bytes(writer.text("tokenizer.chat_template.rag", evil).bytes(0))
    assert severities(gguf, "HI419") == ["error"]
    long = GgufWriter().text("tokenizer.chat_template", "x" * 100_000 + evil)
    (gguf / "m.gguf").write_bytes(long.bytes(0))
    assert severities(gguf, "HI419") == ["error"]
    extra = tmp_path / "extra" / "additional_chat_templates"
    write(made("single"), extra.parent)
    extra.mkdir()
    (extra / "tool.jinja").write_text(evil)
    assert severities(extra.parent, "HI419") == ["error"]


KERAS = [
    '{"class_name": "Lambda"}',
    '{"class_name":"Lambda"}',
    '{"class_name" :\n\t"Lambda"}',
    '{"class_name": "\\u004cambda"}',
    '{"\\u0063lass_name": "Lambda"}',
    '{"class_name": "__lambda__", "config": {}}',
    '{"function_type": "lambda"}',
    '{"class_name": "Dense", "class_name": "Lambda"}',
    '{"module": "os", "class_name": "function"}',
    '{"module": "builtins", "module": "subprocess"}',
    '{"module": "keras.src.utils.file_utils"}',
    '{"module": "keras.src.saving.saving_api"}',
    '{"class_name": "TorchModuleWrapper"}',
]
SOUND_KERAS = [
    '{"class_name": "Dense", "module": "keras.layers", "registered_name": null}',
    '{"module": "keras.src.models.functional", "class_name": "Functional"}',
    '{"module": "builtins", "class_name": "function", "config": "relu"}',
    '{"name": "Lambda"}',
]


SOUND_TEMPLATES = [
    "{{ messages[0]['content'] + '\n' }}{{ m['content'].split('</think>')[-1].lstrip('\n') }}",
    "{% set roles = ['user' ~ x, 'tool'] %}{% if r in ['a' + b] %}{% endif %}{% set y=['a' ~ b] %}",
    "{{ tools[loop.index0 + 1] }}{{ x['role_' ~ name] }}{{ m[m|length - 1]['role'] }}",
    "{% raw %}{{ x.__class__ }}{% endraw %}{# {{ x.__class__ }} #}text __init__ {{ x }}",
    "{{ {'a': {'b': 1}}|tojson }}{{ '}}' }}{{ '{#' }}{%- for m in messages[1:] -%}{%- endfor -%}",
    "{{ namespace(found=false) }}{% set c = cycler('a', 'b') %}{{ '<__media__>' }}{{ '__' }}",
    "{{ 'write def __init__(self):' }}",
]


@pytest.mark.parametrize("text", SOUND_TEMPLATES)
def test_sound_templates(text: str) -> None:
    assert danger_in(text) is None


@pytest.mark.parametrize(
    "text", ["'", '"', "{{'", "{{(", "{{ '\\", "{#", "{% raw %}", "''[", "[''~"]
)
def test_a_template_of_one_thing_again_and_again_takes_no_time(text: str) -> None:
    begun = time.perf_counter()
    danger_in("{{ x" + text * 30_000)
    danger_in(text * 30_000)
    assert time.perf_counter() - begun < 5


def _onnx(entry: bytes, nested: int = 0) -> bytes:
    """A model with one tensor whose data is elsewhere, in as many graphs inside of each other."""

    def field(number: int, value: bytes) -> bytes:
        length = b""
        size = len(value)
        while size > 127:
            length = length + bytes([size & 127 | 128])
            size = size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + value

    graph = field(5, b"\x6a" + bytes([len(entry)]) + entry)
    for _ in range(nested):
        graph = field(1, field(5, field(6, graph)))
    return field(7, graph)


@pytest.mark.parametrize(
    "data",
    [
        _onnx(b"\x12\x04../a\x0a\x08location"),  # the value before its key
        _onnx(b"\x0a\x01x\x12\x04../a\x0a\x08location"),
        b"\x9b\x06\x9b\x06\x08\x01\x9c\x06\x9c\x06" + _onnx(b"\x0a\x08location\x12\x04../a"),
        _onnx(b"\x0a\x08location\x12\x04../a", 9),
    ],
)
def test_onnx_in_every_spelling(data: bytes, tmp_path: Path) -> None:
    files = made("single")
    files["m.onnx"] = data
    assert severities(write(files, tmp_path), "HI420") == ["error"]


@pytest.mark.parametrize(
    "module",
    [
        "tensorflow.io.gfile",
        "tensorflow.python.lib.io.file_io",
        "keras.src.utils.file_utils",
        "keras.utils",
        "keras.src.backend.common.global_state",
        "\u00e9vil",
        "e" * 400,
        "builtins.x",
        "keras.layers.io",
        "keras_hub.src.utils.preset_utils",
        "torch",
        "keras_evil",
    ],
)
def test_modules_that_no_keras_config_names(module: str, tmp_path: Path) -> None:
    """Behind more findings than are listed; with escapes for what is not ASCII."""
    many = [{"class_name": "TextVectorization", "vocabulary": f"/etc/{n}"} for n in range(60)]
    config = {"class_name": "Sequential", "config": [*many, {"module": module, "class_name": "x"}]}
    files = made("single")
    files["model.json"] = json.dumps(config).encode()
    assert "error" in severities(write(files, tmp_path), "HI414")


def test_a_gguf_template_that_goes_on_behind_what_is_kept(tmp_path: Path) -> None:
    """Whatever else the header has findings about."""
    writer = GgufWriter().text("general.architecture", "llama")
    for number in range(300):
        writer = writer.text(f"key.{number}", "x" * 20)
    long = "{{ x }}" + " " * 70_000 + "{{ x.__class__ }}"
    (tmp_path / "m.gguf").write_bytes(writer.text("tokenizer.chat_template", long).bytes(0))
    assert severities(tmp_path, "HI419") == ["error"]


@pytest.mark.parametrize(
    "module",
    [
        "keras",
        "keras.layers",
        "keras.src.models.functional",
        "keras.src.engine.sequential",
        "tensorflow.keras.layers",
        "keras_hub.src.models.bert.bert_backbone",
        "builtins",
        "keras.src.layers.core.tf_op_layer",
        "keras.initializers",
        "keras.src.ops.numpy",
    ],
)
def test_modules_that_keras_writes(module: str, tmp_path: Path) -> None:
    files = made("single")
    config = {"class_name": "Sequential", "config": {}, "module": module}
    files["model.json"] = json.dumps(config).encode()
    assert severities(write(files, tmp_path), "HI414") == []


@pytest.mark.parametrize(
    ("path", "content", "code", "severity"),
    [
        ("saved_model.pbtxt", b'node { op: "Write" "File" }', "HI421", "error"),
        ("saved_model.pbtxt", b'node { op: "Write\\106ile" }', "HI422", "warning"),
        ("saved_model.cpb", b"x", "HI422", "warning"),
        ("m.dat", b"\x89HDF\r\n\x1a\n" + bytes(90) + b'"class_name": "Lambda"', "HI414", "error"),
        ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(90), "HI422", "warning"),
        ("evil.so", b"\x7fELF", "HI405", "note"),
        ("sentence_bert_config.json", b'{"a": [{"trust_remote_code": true}]}', "HI404", "warning"),
        ("a.zst", b"\x28\xb5\x2f\xfd" + bytes(9), "HI403", "error"),
    ],
)
def test_what_else_is_looked_at(
    path: str, content: bytes, code: str, severity: str, tmp_path: Path
) -> None:
    files = made("single")
    files[path] = content
    assert severity in severities(write(files, tmp_path), code)


@pytest.mark.parametrize("text", KERAS)
def test_keras_in_every_spelling(text: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("config.json", text)
    files = made("single")
    files["m.keras"] = out.getvalue()
    files["m.h5"] = b"\x89HDF\r\n\x1a\n" + bytes(90) + text.encode()
    files["keras_metadata.pb"] = b"\x0a\x50" + text.encode()
    assert severities(write(files, tmp_path), "HI414") == ["error"] * 3


def test_plain_keras_is_silent() -> None:
    assert [t for t in SOUND_KERAS if keras_text_gadgets("x", t.encode())] == []


@settings(max_examples=examples(80), derandomize=True)
@given(st.binary(max_size=200))
def test_any_bytes_are_graphs_or_errors(data: bytes) -> None:
    for read in (onnx_gadgets, saved_model_gadgets):
        with contextlib.suppress(HfinspectError):
            read(BytesReader("x", data), len(data))
    keras_text_gadgets("x", data)
    danger_in(data.decode("latin1"))


@pytest.mark.parametrize("location", ["/etc/passwd", "../x", "a/../../b", "C:\\x", "a\\..\\b"])
def test_onnx_takes_nothing_from_outside(location: str) -> None:
    def field(number: int, value: bytes) -> bytes:
        return bytes([number << 3 | 2, len(value)]) + value

    entry = field(1, b"location") + field(2, location.encode())
    tensor = field(8, b"w") + field(13, entry)
    in_attribute = field(7, field(1, field(5, field(5, tensor))))
    for data in (field(7, field(5, tensor)), in_attribute):
        (gadget,) = onnx_gadgets(BytesReader("m.onnx", data), len(data))
        assert (gadget.rule, gadget.severity) == ("onnx-outside", "error")


@pytest.mark.parametrize("mark", ["\u202e", r"\u202E", "\u2066"])
def test_marks_that_turn_text_in_a_template_of_its_own(mark: str, tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ '" + mark + "x' }}", encoding="utf-8")
    findings = {(f.code, f.file) for f in hfinspect.audit(tmp_path).findings}
    assert ("HI410", "chat_template.jinja") in findings
