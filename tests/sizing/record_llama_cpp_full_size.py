"""Records what a real llama.cpp reserves for models of full size, from headers without weights.

    python -m tests.sizing.record_llama_cpp_full_size --source LLAMA.CPP --build BUILD --work FOLDER

The key-values are those of the models' own configs, as llama.cpp's converter writes them; the
tensors are those that llama.cpp then needs. ``plan`` loads the header alone, of a sparse file,
and reserves nothing: the compute buffer is that of the graph of a whole step. (Where the graph of
one token is larger, as with block-sparse attention, only the tiny files of llama_cpp.json say it.)
A model that is in the record stays as it is, but for those of ``--only`` and with ``--fresh``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from hfinspect.formats.gguf.gguf import FORMAT
from tests.formats.gguf_files import GgufWriter
from tests.formats.readers import MeteredReader
from tests.sizing.full_size_models import MODELS, NUMBERS
from tests.sizing.llama_cpp_record import FULL_SIZE, pack, unpack, write_key
from tests.sizing.record_llama_cpp import compiled, options, run, version

#: n_ctx, n_seq_max, n_ubatch, kv_unified, swa_full, type_k, type_v, flash_attn, n_outputs_max:
#: those of a program, and those of llama-server, by default and with -np, -nkvu, --swa-full.
SETTINGS = (
    "8192,1,512,0,0,f16,f16,1",
    "8192,1,512,0,0,f16,f16,0",
    "32768,1,512,0,0,f16,f16,1",
    "32768,1,2048,0,0,f16,f16,1",
    "32768,1,2048,0,0,f16,f16,0",
    "32768,4,512,1,0,f16,f16,1,4",
    "32768,4,512,0,0,f16,f16,1,4",
    "32768,4,512,1,1,q8_0,q8_0,1,4",
    "32768,8,512,0,1,f16,f16,0,8",
    "131072,1,512,0,0,f16,f16,1",
    "2048,1,128,0,0,f16,f16,1",
    "131072,4,2048,1,0,f16,f16,0,4",
)
#: More than any of these files has: a sparse file takes no room.
_SPARSE = 3 * 2**40
_HEADER = 4 * 2**20


def main() -> None:
    asked = options()
    program = compiled(asked.source, asked.build, asked.work)
    record = {} if asked.fresh else unpack(json.loads(FULL_SIZE.read_text()))
    for name, (architecture, numbers, others) in MODELS.items():
        if name in record and name not in asked.only:
            continue
        keys = asked.work / f"{name}.keys.gguf"
        writer = GgufWriter()
        write_key(writer, "general.architecture", architecture)
        own = dict(zip(NUMBERS, numbers, strict=True)) | others
        own.setdefault("attention.layer_norm_rms_epsilon", 1e-5)
        for key, value in own.items():
            write_key(writer, f"{architecture}.{key}", value)
        write_key(writer, "tokenizer.ggml.model", "no_vocab")
        keys.write_bytes(writer.bytes(0))
        path = asked.work / f"{name}.gguf"
        subprocess.run([str(program), "header", str(keys), str(path)], check=True)
        with path.open("rb") as file:
            shard = FORMAT.read_header(MeteredReader(path.name, file.read(_HEADER)))
        os.truncate(path, _SPARSE)
        settings = {}
        for line in run([str(program), "plan", str(path), *SETTINGS]):
            setting = line.pop("setting", None)
            if setting is not None:
                sizes = [line.get(key) for key in ("model", "kv", "rs", "compute")]
                settings[setting] = line["refused"].strip() if "refused" in line else sizes
        path.unlink()
        metadata = {
            key: value for key, value in shard.metadata.items() if not key.startswith("tokenizer.")
        }
        tensors = [[tensor.name, list(tensor.shape), tensor.dtype] for tensor in shard.tensors]
        record[name] = {"keys": metadata, "tensors": tensors, "settings": settings}
        sys.stdout.write(f"{name}: {len(settings)}\n")
    FULL_SIZE.write_text(pack(record, {"llama.cpp": version(asked.source)}))
    json.loads(FULL_SIZE.read_text())


if __name__ == "__main__":
    main()
