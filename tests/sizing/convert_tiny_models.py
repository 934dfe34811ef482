"""Makes tiny random models and has llama.cpp's own converter turn them into GGUF.

    PYTHON_WITH_TORCH -m tests.sizing.convert_tiny_models LLAMA.CPP FOLDER [FAMILY ...]

LLAMA.CPP is its source, with conversion/ and gguf-py/. The models are those of
fixtures/oracle/caches whose class the converter takes; FAMILY is a file's name there. No tokenizer
is needed: the converter's ``set_vocab`` writes the size of the vocabulary alone. Files that exist
are left; what is not made is listed with the reason. record_llama_cpp.py reads the folder.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracle.record import FIXTURES, _build

#: Of one class so many models: the first ones, and those that name what llama.cpp reads.
_EACH = 2
_TELLING = ("window", "layer_types", "rope_head_dim", "shared_kv", "nextn", "mtp", "interval")
#: Some converters look into it although no vocabulary is written.
_TOKENIZER = '{"model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []}'
_MAX_PARAMETERS = 60_000_000


def cases(classes: Any, families: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    counts: dict[str, int] = {}
    for path in sorted((FIXTURES / "caches").glob("*.json")):
        if families and path.stem not in families:
            continue
        for name, row in json.loads(path.read_text()).items():
            kind = row.get("architecture")
            if kind not in classes or "given" not in row or "-library-" in name:
                continue
            told = any(word in json.dumps(row["given"]) for word in _TELLING)
            group = f"{kind} {told}"
            counts[group] = counts.get(group, 0) + 1
            if counts[group] <= _EACH:
                yield f"{path.stem}+{name}", row


def without_vocabulary(self: Any) -> None:
    size = self.find_hparam(["vocab_size", "padded_vocab_size"], optional=True)
    if size is None:
        size = self.hparams["text_config"]["vocab_size"]
    self.gguf_writer.add_tokenizer_model("none")
    self.gguf_writer.add_vocab_size(size)


def convert(row: dict[str, Any], out: Path) -> None:
    import gguf
    import torch
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class

    model = _build({"model_type": row["model_type"]}, row["architecture"], row["given"])
    if sum(parameter.numel() for parameter in model.parameters()) > _MAX_PARAMETERS:
        raise ValueError("too large for a tiny model")
    if getattr(model.config, "is_encoder_decoder", False):
        model.config.decoder_start_token_id = 0  # the converter needs it
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        model.save_pretrained(folder)
        (Path(folder) / "tokenizer.json").write_text(_TOKENIZER)
        hparams = ModelBase.load_hparams(Path(folder), False)
        name = get_model_architecture(hparams, ModelType.TEXT)
        cls: Any = get_model_class(name, mmproj=False)
        for base in cls.__mro__:
            for vocabulary in ("set_vocab", "_set_vocab_gpt2", "_set_vocab_sentencepiece"):
                if vocabulary in vars(base):
                    setattr(base, vocabulary, without_vocabulary)
        made = cls(Path(folder), gguf.LlamaFileType.ALL_F32, out)
        made.write()


def main(source: str, folder: str, *families: str) -> None:
    sys.path[:0] = [source, f"{source}/gguf-py"]
    from conversion import TEXT_MODEL_MAP

    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, row in cases(TEXT_MODEL_MAP, list(families)):
        out = target / f"{name}.gguf"
        if out.exists():
            continue
        child = os.fork()  # one that runs out of memory takes no other with it
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            _try(name, row, out)
        _, status = os.waitpid(child, 0)
        if status:
            sys.stdout.write(f"{name}: it ended with status {status}\n")
            out.unlink(missing_ok=True)
        sys.stdout.flush()


def _try(name: str, row: dict[str, Any], out: Path) -> None:
    try:
        convert(row, out)
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())[:160]
        sys.stdout.write(f"{name}: {type(error).__name__}: {words}\n")
        out.unlink(missing_ok=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
