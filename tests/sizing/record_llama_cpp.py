"""Records what a real llama.cpp reserves, for every architecture that it loads.

    python -m tests.sizing.record_llama_cpp --source LLAMA.CPP --build BUILD --work FOLDER
        [--models FOLDER] [--only NAME ...]

LLAMA.CPP is its source with tests/test-llama-archs.cpp, BUILD what cmake made of it (bin/ with
libllama.so and libllama-common.so). The key-values of a tiny model of each architecture are those
of llama.cpp's own test. ``--models`` adds GGUF files: tiny models of transformers as llama.cpp's
converter writes them (convert_tiny_models.py makes them). The record has each file's header without
the vocabulary, and for each setting the bytes of weights, keys and values, recurrent states and
compute buffer, or the words with which llama.cpp refused.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hfinspect.formats.gguf.gguf import FORMAT
from tests.formats.readers import metered
from tests.sizing.llama_cpp_record import RECORD, pack, unpack

PROGRAM = Path(__file__).with_name("llama_cpp_buffers.cpp")

#: n_ctx, n_seq_max, n_ubatch, kv_unified, swa_full, type_k, type_v, flash_attn
SETTINGS = (
    "4096,1,512,0,0,f16,f16,1",
    "4096,1,512,0,0,f16,f16,0",
    "8192,4,512,1,0,f16,f16,1",
    "8192,4,128,0,0,q8_0,q8_0,1",
    "5000,2,2048,0,1,f16,f16,0",
    "5000,3,256,1,0,q8_0,f16,0",
    "32768,1,512,0,0,f16,f16,0",
    "32768,1,2048,0,0,f16,f16,1",
    "512,8,64,0,0,bf16,bf16,1",
)


def _ranks(name: str) -> tuple[str, ...]:
    parts = ("decay", "iclr", "value_residual_mix", "gate")
    return tuple(f"{name}.attention.{part}_lora_rank=32" for part in parts)


#: What the test's key-values lack for some architectures: name -> other key-values.
OTHER_KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v3"),
        ("tokenizer.ggml.token_type_count=2",),
    ),
    "gemma4": ("gemma4.attention.sliding_window_pattern=[1:1:1:1:0]",),
    "rwkv6qwen2": ("rwkv6qwen2.token_shift_count=1",),
    "rwkv7": _ranks("rwkv7"),
    "arwkv7": (*_ranks("arwkv7"), "arwkv7.token_shift_count=1"),
}
_DEFAULT_PATTERN = """afmoe cohere2 cohere2moe exaone-moe gemma2 gemma3 laguna llama4 mellum
    muse-glimmer olmo2 gpt-oss plamo3 smallthinker""".split()
_OPTIONAL_WINDOW = "afmoe gemma2 gemma3 laguna llama4 mellum olmo2 plamo3 smallthinker".split()
_PREDICTING = """llama gemma3 llama4 gpt-oss falcon-h1 minimax-m3 hy_v4 minimax-01 deepseek4 mamba
    qwen3moe""".split()
_WINDOW = "attention.sliding_window"
_PATTERN = "attention.sliding_window_pattern"
#: More tiny files: (architecture, what differs, other key-values without their prefix).
VARIANTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    *(
        (n, "pattern", ("block_count=7", f"{_PATTERN}=-", f"{_WINDOW}=100"))
        for n in _DEFAULT_PATTERN
    ),
    *((n, "no-window", (f"{_WINDOW}=-",)) for n in _OPTIONAL_WINDOW),
    *((n, "zero-window", (f"{_WINDOW}=0",)) for n in _OPTIONAL_WINDOW),
    *((n, "mtp", ("block_count=3", "nextn_predict_layers=1")) for n in _PREDICTING),
    ("exaone4", "large", ("block_count=64", f"{_PATTERN}=-", f"{_WINDOW}=-")),
    (
        "gemma4",
        "shared",
        (
            f"{_PATTERN}=[1:0:1:1:0]",
            "attention.shared_kv_layers=2",
            "attention.key_length_swa=32",
            "attention.value_length_swa=32",
        ),
    ),
    ("gemma4", "wide", (f"{_PATTERN}=[1:0:1:1:0]", "attention.head_count_kv=[1:2:1:1:2]")),
    ("nanbeige", "loops", ("num_loops=3",)),
    ("glm-dsa", "types", ("attention.indexer.types=[1:0]",)),
    ("hy_v4", "no-indexer", ("attention.indexer.top_k=0",)),
    ("lfm2", "window", (f"{_WINDOW}=40",)),
    ("lfm2", "no-window", (f"{_WINDOW}=-",)),
    ("qwen35", "listed", ("attention.recurrent_layers=[1:1]",)),
    ("qwen3next", "interval", ("full_attention_interval=-", "block_count=5")),
    ("qwen4exp", "no-ngrams", ("ple.layers=-",)),
    (
        "mimo2",
        "wide",
        (
            "attention.key_length_swa=64",
            "attention.value_length_swa=32",
            "attention.value_length=96",
        ),
    ),
    ("step35", "values", ("attention.value_length=64", "attention.key_length=96")),
    ("rwkv6", "heads", ("wkv.head_size=64",)),
    ("openelm", "by-layer", ("attention.head_count=[2:4]", "attention.head_count_kv=[1:2]")),
)
#: Kinds with experts although the test has them without, and those it skips.
ALSO_EXPERTS = frozenset({"deepseek2-ocr"})

_SECONDS = 300


def main() -> None:
    asked = options()
    program = compiled(asked.source, asked.build, asked.work)
    record = {} if asked.fresh or not RECORD.exists() else unpack(json.loads(RECORD.read_text()))
    files = [] if asked.no_tiny else tiny_files(program, asked.work, asked.only)
    files += [] if asked.no_variants else variant_files(program, asked.work, asked.only)
    if asked.models:
        files += sorted(asked.models.glob("*.gguf"))
    for path in files:
        entry = one(program, path)
        if entry is not None:
            record[path.stem] = entry
    RECORD.write_text(pack(record, {"llama.cpp": version(asked.source)}))
    sys.stdout.write(
        f"{len({e['keys']['general.architecture'] for e in record.values()})} architectures\n"
    )


def version(source: Path) -> str:
    """The version in CMakeLists.txt, the package it came in and the commit that this names."""
    text = (source / "CMakeLists.txt").read_text()
    numbers = re.findall(r"LLAMA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)[:3]
    folder = next((one for one in source.parents if one.name.startswith("llama_cpp_python")), None)
    if folder is None:
        return ".".join(numbers)
    commit = (folder / "CHANGELOG.md").read_text().partition("llama.cpp@")[2].split()[0]
    return f"{'.'.join(numbers)}, commit {commit} in {folder.name}"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--no-tiny", action="store_true")
    parser.add_argument("--no-variants", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="forget what was recorded before")
    return parser.parse_args()


def compiled(source: Path, build: Path, work: Path) -> Path:
    work.mkdir(parents=True, exist_ok=True)
    out = work / "llama_cpp_buffers"
    if out.exists() and out.stat().st_mtime > PROGRAM.stat().st_mtime:
        return out
    folders = [source / part for part in ("", "include", "src", "common", "ggml/include", "vendor")]
    libraries = ("llama", "llama-common", "ggml", "ggml-base", "ggml-cpu")
    subprocess.run(
        [
            "g++",
            "-w",
            "-O0",
            "-std=c++17",
            *(f"-I{folder}" for folder in folders),
            str(PROGRAM),
            "-o",
            str(out),
            f"-L{build / 'bin'}",
            *(f"-l{name}" for name in libraries),
            f"-Wl,-rpath,{build / 'bin'}",
        ],
        check=True,
    )
    return out


def run(command: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode < 0 or (done.returncode and not lines):
        words = [line for line in done.stderr.splitlines() if "GGML_ASSERT" in line]
        why = " ".join(words).rpartition("/")[2][-120:] or "it ended by itself"
        loaded = [line for line in lines if "loaded" in line]
        lines.append({"refused": f"aborted: {why}", "loaded": bool(loaded)})
    return [line for line in lines if len(line) > 1 or "refused" in line]


def tiny_files(program: Path, work: Path, only: tuple[str, ...]) -> list[Path]:
    names = subprocess.run([str(program), "names"], capture_output=True, text=True, check=True)
    files = []
    for line in names.stdout.splitlines():
        name, needed, possible = line.rsplit(" ", 2)
        if only and name not in only:
            continue
        if name in ALSO_EXPERTS:
            needed = possible = "1"
        for experts in ("0", "1"):
            if (experts, needed) == ("0", "1") or (experts, possible) == ("1", "0"):
                continue
            path = work / f"{name}{'-moe' if experts == '1' != needed else ''}.gguf"
            said = run([str(program), "tiny", name, experts, str(path), *OTHER_KEYS.get(name, ())])
            if said:
                sys.stdout.write(f"{path.stem}: not made: {said[0]['refused'].strip()}\n")
                path.unlink(missing_ok=True)
            else:
                files.append(path)
    return files


def variant_files(program: Path, work: Path, only: tuple[str, ...]) -> list[Path]:
    names = subprocess.run([str(program), "names"], capture_output=True, text=True, check=True)
    needed = {line.rsplit(" ", 2)[0]: line.rsplit(" ", 2)[1] for line in names.stdout.splitlines()}
    files = []
    for name, label, keys in VARIANTS:
        if only and name not in only:
            continue
        path = work / f"{name}+{label}.gguf"
        others = [*OTHER_KEYS.get(name, ()), *(f"{name}.{key}" for key in keys)]
        said = run([str(program), "tiny", name, needed[name], str(path), *others])
        if said:
            sys.stdout.write(f"{path.stem}: not made: {said[0]['refused'].strip()}\n")
            path.unlink(missing_ok=True)
        else:
            files.append(path)
    return files


def one(program: Path, path: Path) -> dict[str, Any] | None:
    """None where llama.cpp does not load the file, or aborts at every setting: then it is none that
    it can run. Settings at which it aborts are left out."""
    results: dict[str, Any] = {}
    aborted: set[str] = set()
    while left := [one for one in SETTINGS if one not in results and one not in aborted]:
        for line in run([str(program), "run", str(path), *left]):
            setting = line.pop("setting", None)
            if setting is not None and "refused" not in line:
                results[setting] = [line[key] for key in ("model", "kv", "rs", "compute")]
            elif setting is not None:
                results[setting] = line["refused"].strip()
            elif line.get("loaded"):  # and then it aborted
                aborted.add(next(one for one in left if one not in results))
            else:
                sys.stdout.write(f"{path.stem}: {line['refused']}\n")
                return None
    if not any(isinstance(sizes, list) for sizes in results.values()):
        sys.stdout.write(f"{path.stem}: aborted at every setting\n")
        return None
    shard = FORMAT.read_header(metered(path))
    keys = {
        key: value
        for key, value in shard.metadata.items()
        if not key.startswith(("tokenizer.", "general.")) or key == "general.architecture"
    }
    tensors = [[tensor.name, list(tensor.shape), tensor.dtype] for tensor in shard.tensors]
    return {"keys": keys, "tensors": tensors, "settings": results}


if __name__ == "__main__":
    main()
