"""Record which type llama.cpp gives to each tensor: ``python -m tests.sizing.record_gguf_types``.

Tiny models of transformers are saved, converted by llama.cpp's own converter (to 16 bits) and
quantised by the real ``llama-quantize`` (``--dry-run``, which goes through the same choice and
writes nothing). Needs torch, transformers, ``LLAMA_CPP`` (a source tree of llama.cpp) and
``LLAMA_CPP_BUILD`` (its build, with ``bin/llama-quantize``).
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .gguf_tiny_models import CASES, USUAL
from .gguf_types_record import RECORD, Recorded, packed, write

SOURCE = Path(os.environ.get("LLAMA_CPP", "llama.cpp"))
BUILD = Path(os.environ.get("LLAMA_CPP_BUILD", SOURCE / "build"))

#: Names that need an importance matrix: the record gives one.
WITH_IMATRIX = ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "Q2_K_S")
TYPES = (
    "Q2_K",
    "Q3_K_S",
    "Q3_K_M",
    "Q3_K_L",
    "Q4_0",
    "Q4_1",
    "Q4_K_S",
    "Q4_K_M",
    "Q5_0",
    "Q5_1",
    "Q5_K_S",
    "Q5_K_M",
    "Q6_K",
    "Q8_0",
    "IQ3_XS",
    "IQ3_S",
    "IQ3_M",
    "IQ4_NL",
    "IQ4_XS",
    "MXFP4_MOE",
    "TQ1_0",
    "TQ2_0",
    *WITH_IMATRIX,
    "Q4_0 imatrix",
    "IQ4_XS imatrix",
    "IQ4_NL imatrix",
    "Q5_0 imatrix",
)

#: Cases and recipes of which the files are written too, and their bytes kept.
WRITTEN = ("llama", "llama-odd", "llama-odder", "mixtral-8", "gpt2", "deepseek_v3")
WRITTEN_TYPES = ("Q8_0", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K", "IQ4_XS", "MXFP4_MOE")

#: Cases of which the file for images or sound is recorded too, and what their names end in then.
WITH_PROJECTOR = (
    "gemma3-vision",
    "mistral3",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_5",
    "kimi_vl",
    "kimi_k25",
    "llama4-scout",
    "glm4v",
    "voxtral",
    "qwen2_audio",
)
PROJECTOR = "+mmproj"


def config_of(model_type: str, given: dict[str, Any], library: Any) -> Any:
    """A config of the type: the usual sizes that it knows, then what is given."""
    made = library.AutoConfig.for_model(model_type)

    def merged(config: Any, own: dict[str, Any]) -> dict[str, Any]:
        default = config.to_dict()
        usual = {k: v for k, v in USUAL.items() if k in default or k in config.attribute_map}
        values = {**usual, **own}
        for key, value in own.items():
            section = getattr(config, key, None)
            if isinstance(value, dict) and hasattr(section, "to_dict"):
                usual_section = merged(section, value) if key == "text_config" else value
                values[key] = dict(usual_section)
        return values

    return type(made)(**merged(made, given))


#: Four layers: the converter knows the parts of a projector by numbers below that of layers.
_DEEP = dict.fromkeys(("num_hidden_layers", "depth", "encoder_layers"), 4)


def _deeper(given: dict[str, Any]) -> dict[str, Any]:
    """The same settings, with more layers for images and sound."""
    towers = {key: given[key] for key in ("vision_config", "audio_config") if given.get(key)}
    deep = {
        key: {**own, **{name: n for name, n in _DEEP.items() if name in own}}
        for key, own in towers.items()
    }
    return {**given, **deep}


def save(case: str, folder: Path) -> None:
    """A tiny random model, in bfloat16."""
    import torch
    import transformers

    model_type, name, given = CASES[case.removesuffix(PROJECTOR)]
    if case.endswith(PROJECTOR):
        given = _deeper(given)
    if "catalog" in given:
        save_from_catalog({"model_type": model_type, "architectures": [name]}, given, folder)
        return
    said = given.get("said", {})
    config = config_of(model_type, {k: v for k, v in given.items() if k != "said"}, transformers)
    torch.manual_seed(0)
    model = getattr(transformers, name)(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    if model_type == "qwen3_vl_moe":
        turn_experts(folder / "model.safetensors")
    if model_type == "gemma3":
        call_as_released(folder / "model.safetensors")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **said}))
    write_tokenizer(folder)


def write_tokenizer(folder: Path) -> None:
    words = {f"w{i}": i for i in range(320)}
    model = {
        "type": "WordPiece",
        "vocab": words,
        "unk_token": "w0",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    (folder / "tokenizer.json").write_text(json.dumps({"model": model, "added_tokens": []}))
    half = [0.5] * 3
    pixels = {"image_mean": half, "image_std": half, "size": {"height": 28, "width": 28}}
    (folder / "preprocessor_config.json").write_text(json.dumps(pixels))
    marks = {str(at): {"content": f"[IMG{end}]"} for at, end in enumerate(("", "_BREAK", "_END"))}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": marks}))


def save_from_catalog(named: dict[str, Any], given: dict[str, Any], folder: Path) -> None:
    """A model whose class is remote code, which is not run: the tensors that the catalog predicts
    of its config, in bfloat16. Of the usual sizes those that its family reads."""
    import torch
    from safetensors.torch import save_file

    from hfinspect.core.config import keys_read
    from hfinspect.trees.prediction import is_saved, predict

    own = {key: value for key, value in given.items() if key != "catalog"}
    with keys_read() as read_keys, contextlib.suppress(Exception):
        predict({**named, **USUAL, **own})
    names = {name for spelled in read_keys for name in spelled}
    usual = {key: value for key, value in USUAL.items() if key in names}
    length = {"max_position_embeddings": USUAL["max_position_embeddings"]}
    config = {**named, "torch_dtype": "bfloat16", **length, **usual, **own}
    held = [spec for spec in predict(config).tensors if is_saved(spec)]
    dense = re.compile(r"block_sparse_moe(?=\.\w+_proj\.)")  # Kimi Linear's, on the Hub
    tensors = {
        dense.sub("mlp", spec.name): torch.ones(spec.shape, dtype=torch.bfloat16) for spec in held
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    write_tokenizer(folder)


def turn_experts(path: Path) -> None:
    """Experts as the released files have them: (experts, in, out)."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    for name in [name for name in tensors if ".experts." in name]:
        tensors[name] = tensors[name].transpose(1, 2).contiguous()
    save_file(tensors, path, metadata={"format": "pt"})


def call_as_released(path: Path) -> None:
    """The vision tower of Gemma 3 under the names of its released files."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    old = "vision_tower."
    new = "vision_tower.vision_model."
    released = {
        name if new in name else name.replace(old, new): tensor for name, tensor in tensors.items()
    }
    save_file(released, path, metadata={"format": "pt"})


def convert(folder: Path, out: Path, projector: bool = False) -> None:
    """By llama.cpp's converter, without a tokenizer; ``projector`` is ``--mmproj``."""
    sys.path.insert(0, str(SOURCE))
    sys.path.insert(0, str(SOURCE / "gguf-py"))
    import gguf  # type: ignore[import-not-found, unused-ignore]
    from conversion import (
        ModelBase,
        ModelType,
        get_model_architecture,
        get_model_class,
    )

    hparams = ModelBase.load_hparams(folder, False)
    kind = ModelType.MMPROJ if projector else ModelType.TEXT
    model_class = get_model_class(get_model_architecture(hparams, kind), mmproj=projector)
    if projector:
        made = model_class(folder, gguf.LlamaFileType.MOSTLY_BF16, out)
        made.write()
        return

    class Wordless(model_class):  # type: ignore[misc, valid-type]
        model_arch = model_class.model_arch

        def set_vocab(self) -> None:
            self.gguf_writer.add_tokenizer_model("none")
            size = self.hparams.get("vocab_size", 320)
            self.gguf_writer.add_vocab_size(size)

        def modify_tensors(self, data_torch: Any, name: str, bid: int | None) -> Any:
            """Baichuan's calls itself with the name that it made, without end."""
            if model_class.__name__ == "BaichuanModel" and "W_pack" not in name:
                return ModelBase.modify_tensors(self, data_torch, name, bid)
            return super().modify_tensors(data_torch, name, bid)

    Wordless.__name__ = model_class.__name__
    Wordless.no_mtp = model_class.supports_mtp_export
    given = json.loads((folder / "config.json").read_text())
    hparams = {**given, **hparams, **{k: v for k, v in given.items() if k not in hparams}}
    eager = model_class.__name__ == "JaisModel"  # it reads a value (--no-lazy)
    made = Wordless(folder, gguf.LlamaFileType.MOSTLY_BF16, out, hparams=hparams, eager=eager)
    if hasattr(made, "impl"):  # of two converters, one does what the other is asked
        type(made.impl).set_vocab = Wordless.set_vocab
    made.write()


def read(path: Path) -> tuple[dict[str, Any], list[tuple[str, str, tuple[int, ...]]]]:
    """The key-values that matter and the tensors of a GGUF file, by the ``gguf`` package."""
    import gguf

    reader = gguf.GGUFReader(path)
    wanted = (".head_count", ".head_count_kv", ".expert_count", ".block_count")
    keys = {
        key: field.contents()
        for key, field in reader.fields.items()
        if key == "general.architecture" or key.endswith(wanted)
    }
    tensors = [
        (t.name, t.tensor_type.name, tuple(int(size) for size in reversed(t.shape)))
        for t in reader.tensors
    ]
    return keys, tensors


_LINE = re.compile(
    r"^\[ *\d+/ *\d+\] +(\S+) +- \[[^\]]*\], type = +(\S+), size = +[\d.]+ MiB"
    r"(?: -> +[\d.]+ MiB \((\S+)\))?"
)


def quantized(path: Path, name: str, imatrix: Path | None) -> dict[str, str] | str:
    """Tensor -> type, as ``llama-quantize --dry-run`` says, or its error."""
    extra = [] if imatrix is None else ["--imatrix", str(imatrix)]
    command = [str(BUILD / "bin" / "llama-quantize"), "--dry-run", *extra, str(path), name]
    env = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "bin")}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=env)
    types = {}
    text = re.sub(r"warning: (?:[^\n]*?)falling back to +\S+\n", "", done.stdout + done.stderr)
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match:
            types[match[1]] = (match[3] or match[2]).upper()
    if done.returncode or not types:
        lines = (done.stderr + done.stdout).splitlines()
        lines = [line for line in lines if "error" in line.lower() or "failed" in line.lower()]
        words = (lines or ["no tensors"])[0].replace(str(path), "")
        return re.sub(r"\S*/(?=llama\.cpp/)", "", words)[:200]  # where it was built is nobody's
    return types


def imatrix_file(path: Path) -> Path:
    """An importance matrix of one tensor that no model has: enough for the choice of types."""
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, arch="")
    writer.kv_data[0].pop("general.architecture", None)
    writer.add_string("general.type", "imatrix")
    writer.add_array("imatrix.datasets", ["none"])
    writer.add_uint32("imatrix.chunk_count", 1)
    writer.add_uint32("imatrix.chunk_size", 512)
    writer.add_tensor("none.weight.in_sum2", np.ones((1, 32), dtype=np.float32))
    writer.add_tensor("none.weight.counts", np.ones((1, 1), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def written(path: Path, name: str) -> list[int]:
    """Bytes of all tensors, and of the part of the file after its header, as llama-quantize wrote
    it."""
    import gguf

    out = path.with_suffix(".out")
    command = [str(BUILD / "bin" / "llama-quantize"), str(path), str(out), name]
    env = {**os.environ, "LD_LIBRARY_PATH": str(BUILD / "bin")}
    subprocess.run(command, capture_output=True, check=True, env=env)
    reader = gguf.GGUFReader(out)
    sizes = [sum(int(t.n_bytes) for t in reader.tensors), out.stat().st_size - reader.data_offset]
    out.unlink()
    return sizes


def record(case: str, work: Path) -> tuple[Recorded, dict[str, list[int]]]:
    """A case, and the bytes of the files of it that were really written."""
    folder = work / case
    out = work / f"{case}.gguf"
    folder.mkdir()
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        save(case, folder)
        convert(folder, out, case.endswith(PROJECTOR))
    keys, tensors = read(out)
    config = json.loads((folder / "config.json").read_text())
    imatrix = imatrix_file(work / "imatrix.gguf")
    types: dict[str, list[str] | str] = {}
    for name in TYPES:
        plain = name.removesuffix(" imatrix")
        given = imatrix if plain != name or name in WITH_IMATRIX else None
        got = quantized(out, plain, given)
        types[name] = got if isinstance(got, str) else [got.get(t[0], "?") for t in tensors]
    really = {name: written(out, name) for name in WRITTEN_TYPES} if case in WRITTEN else {}
    return Recorded(config, keys, tensors, types), really


def main(names: list[str]) -> None:
    """Record the cases of these names, or all, into the record as it is."""
    logging.disable(logging.CRITICAL)
    cases: dict[str, Any] = {}
    if RECORD.exists():
        cases = json.loads(RECORD.read_text(encoding="utf-8"))["cases"]
    for case in names or (*CASES, *(case + PROJECTOR for case in WITH_PROJECTOR)):
        with tempfile.TemporaryDirectory() as work:
            try:
                recording, really = record(case, Path(work))
            except Exception as error:  # one case does not stop the others
                print(case, "FAILED", type(error).__name__, str(error)[:200])
                continue
        errors = {v for v in recording.types.values() if isinstance(v, str)}
        print(case, recording.keys.get("general.architecture"), *errors)
        cases[case] = packed(recording) | ({"written": really} if really else {})
        write(cases)


if __name__ == "__main__":
    main(sys.argv[1:])
