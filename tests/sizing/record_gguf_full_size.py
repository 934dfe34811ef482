"""Record what full-size models weigh: ``python -m tests.sizing.record_gguf_full_size``.

Of each config a checkpoint is made whose data is a hole in the file (the header is real);
llama.cpp's converter turns it into the header of a GGUF file, whose data is a hole too; and
``llama-quantize --dry-run`` says the type and size of each tensor. Nothing is computed, so that 671
billion parameters need no disk. Needs what record_gguf_types.py needs.
"""

from __future__ import annotations

import json
import logging
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hfinspect.trees.prediction import is_saved, predict

from .record_gguf_types import (
    BUILD,
    SOURCE,
    WITH_IMATRIX,
    imatrix_file,
    quantized,
    write_tokenizer,
)

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "fixtures" / "models"
RECORD = ROOT / "fixtures" / "oracle" / "gguf_full_size.json"
NAMES = ("llama-3-8b", "mixtral-8x7b", "deepseek-v3", "gpt2", "mamba-2.8b", "bloom-1b4-zh")
TYPES = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K", "IQ4_XS", "IQ2_XXS")
#: Configs that the project has for its size alone.
OTHERS: dict[str, dict[str, Any]] = {
    "qwen2.5-32b": {
        "model_type": "qwen2",
        "architectures": ["Qwen2ForCausalLM"],
        "hidden_size": 5120,
        "intermediate_size": 27648,
        "num_hidden_layers": 64,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "vocab_size": 152064,
        "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": False,
    },
    "t5-11b": {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "d_model": 1024,
        "d_kv": 128,
        "d_ff": 65536,
        "num_layers": 24,
        "num_decoder_layers": 24,
        "num_heads": 128,
        "n_positions": 512,
        "vocab_size": 32128,
        "feed_forward_proj": "relu",
        "layer_norm_epsilon": 1e-6,
        "relative_attention_num_buckets": 32,
        "decoder_start_token_id": 0,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "tie_word_embeddings": True,
    },
}


def sparse_checkpoint(config: dict[str, Any], folder: Path) -> None:
    """The tensors that the config predicts, in bfloat16, without data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for spec in predict(config).tensors:
        if is_saved(spec):
            start = end
            end = end + 2 * spec.elements
            header[spec.name] = {
                "dtype": "BF16",
                "shape": list(spec.shape),
                "data_offsets": [start, end],
            }
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    (folder / "config.json").write_text(json.dumps(config))
    write_tokenizer(folder)


def sparse_gguf(folder: Path, out: Path) -> None:
    """The converter's file, without data."""
    import gguf  # type: ignore[import-not-found, unused-ignore]
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class

    hparams = ModelBase.load_hparams(folder, False)
    model_class = get_model_class(get_model_architecture(hparams, ModelType.TEXT))

    class Wordless(model_class):  # type: ignore[misc, valid-type]
        model_arch = model_class.model_arch

        def set_vocab(self) -> None:
            self.gguf_writer.add_tokenizer_model("none")
            self.gguf_writer.add_vocab_size(self.hparams["vocab_size"])

    Wordless.__name__ = model_class.__name__
    Wordless.no_mtp = model_class.supports_mtp_export
    given = json.loads((folder / "config.json").read_text())
    made = Wordless(
        folder, gguf.LlamaFileType.MOSTLY_BF16, out, hparams={**given, **hparams}, eager=False
    )
    made.prepare_tensors()
    made.prepare_metadata(vocab_only=False)
    writer = made.gguf_writer
    writer.write_header_to_file(path=out)
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    sizes = [info.nbytes for shard in writer.tensors for info in shard.values()]
    writer.close()
    data = sum(-(-size // 32) * 32 for size in sizes)
    with out.open("r+b") as file:
        file.truncate(-(-out.stat().st_size // 32) * 32 + data)


def total(path: Path, name: str, imatrix: Path | None) -> str:
    """``4685.30``: MiB of all tensors, as the program prints the sum."""
    extra = [] if imatrix is None else ["--imatrix", str(imatrix)]
    command = [str(BUILD / "bin" / "llama-quantize"), "--dry-run", *extra, str(path), name]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
    match = re.search(r"quant size += +([\d.]+) MiB", done.stdout + done.stderr)
    if match is None:
        raise ValueError("the program printed no sum")
    return match[1]


def record(config: dict[str, Any], work: Path) -> dict[str, Any]:
    """Bytes and printed MiB by recipe; bytes are those of ggml's own table of types."""
    import gguf

    folder = work / "model"
    out = work / "model.gguf"
    folder.mkdir()
    sparse_checkpoint(config, folder)
    sparse_gguf(folder, out)
    imatrix = imatrix_file(work / "imatrix.gguf")
    shapes = {t.name: int(t.n_elements) for t in gguf.GGUFReader(out).tensors}
    cases: dict[str, Any] = {}
    for name in TYPES:
        given = imatrix if name in WITH_IMATRIX else None
        types = quantized(out, name, given)
        if isinstance(types, str):
            cases[name] = types
            continue
        nbytes = 0
        for tensor, kind in types.items():
            block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
            nbytes += shapes[tensor] // block * size
        cases[name] = [nbytes, total(out, name, given)]
    return {"config": config, "sizes": cases}


def main(names: list[str]) -> None:
    sys.path[:0] = [str(SOURCE), str(SOURCE / "gguf-py")]
    logging.disable(logging.CRITICAL)
    configs = {n: json.loads((MODELS / n / "config.json").read_text()) for n in NAMES} | OTHERS
    kept = json.loads(RECORD.read_text())["models"] if RECORD.exists() else {}
    for name in names or configs:
        with tempfile.TemporaryDirectory() as work:
            try:
                kept[name] = record(configs[name], Path(work))
            except Exception as error:  # one model does not stop the others
                print(name, "FAILED", type(error).__name__, str(error)[:200])
                continue
        print(name, kept[name]["sizes"])
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(kept[n])}" for n in sorted(kept))
    RECORD.write_text(f'{{"llama.cpp": "0c1e57098", "models": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main(sys.argv[1:])
