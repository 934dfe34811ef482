"""What runs code without a pickle: class names, kernels, templates, graphs of other libraries."""

from __future__ import annotations

import contextlib
import io
import json
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
        ("model_index.json", {"unet": ["diffusers", "UNet2DConditionModel"], "x": [None, None],
                              "checker": ["stable_diffusion", "SafetyChecker"]}, []),
        ("adapter_config.json", {"auto_mapping": {"parent_library": "os"}}, ["error"]),
        ("adapter_config.json", {"auto_mapping": {"parent_library": "transformers_modules.a.b"}},
         ["warning"]),
        ("adapter_config.json", {"auto_mapping": None}, []),
    ],
)  # fmt: skip
def test_classes_by_name(name: str, value: Any, expected: list[str], tmp_path: Path) -> None:
    assert severities(with_json(tmp_path, name, value), "HI416") == expected


def test_auto_map_in_a_section(tmp_path: Path) -> None:
    config = json.loads(made("single")["config.json"])
    config["vision_config"] = {"inner": [{"auto_map": {"AutoModel": "other/repo--m.M"}}]}
    assert severities(with_json(tmp_path, "config.json", config), "HI406") == ["warning"]


DANGEROUS = [
    "{{ x.__class__ }}", "{{ x['__class__'] }}", "{{ x|attr('__class__') }}",
    "{% set a = cycler.__init__ %}", "{{ x['\\x5f\\x5fclass\\x5f\\x5f'] }}",
    "{{ x|attr('__cl' ~ 'ass__') }}", "{{ x|attr(name) }}", "{{ [x]|map(attribute='__class__') }}",
    "{%- if x . __mro__ -%}{% endif %}", "{{ '}' ~ x.__class__ }}",
]  # fmt: skip
HARMLESS = [
    "if __name__ == '__main__':", "{# x.__class__ #}", "{{ 'def __init__(self):' }}",
    "{{ m['role_name'] }}", "{{ x|replace('_', ' ') }}", "{{ x|attr('name') }}",
    "{{ messages|selectattr('role', 'equalto', 'user') }}", "{{ '<|im_start|>' + m.role }}",
]  # fmt: skip


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
    assert severities(gguf, "HI419") == ["warning"]
    extra = tmp_path / "extra" / "additional_chat_templates"
    write(made("single"), extra.parent)
    extra.mkdir()
    (extra / "tool.jinja").write_text(evil)
    assert severities(extra.parent, "HI419") == ["error"]


KERAS = [
    '{"class_name": "Lambda"}', '{"class_name":"Lambda"}', '{"class_name" :\n\t"Lambda"}',
    '{"class_name": "\\u004cambda"}', '{"\\u0063lass_name": "Lambda"}',
    '{"class_name": "__lambda__", "config": {}}', '{"function_type": "lambda"}',
    '{"class_name": "Dense", "class_name": "Lambda"}', '{"module": "os", "class_name": "function"}',
    '{"module": "builtins.x", "module": "subprocess"}', '{"module": "keras.src.utils.file_utils"}',
    '{"module": "keras.src.saving.saving_api"}', '{"class_name": "TorchModuleWrapper"}',
]  # fmt: skip
SOUND_KERAS = [
    '{"class_name": "Dense", "module": "keras.layers", "registered_name": null}',
    '{"module": "keras.src.models.functional", "class_name": "Functional"}',
    '{"module": "builtins", "class_name": "function", "config": "relu"}', '{"name": "Lambda"}',
]  # fmt: skip


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


@settings(max_examples=80, derandomize=True)
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
    found = {(f.code, f.file) for f in hfinspect.audit(tmp_path).findings}
    assert ("HI410", "chat_template.jinja") in found
