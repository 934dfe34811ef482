"""Record which classes each engine has, for ``hfinspect/sizing/engine_classes.json``.

    pip download --no-deps vllm sglang               # and unpack the wheels; nothing is installed
    pip download --no-deps --no-binary :all: llama-cpp-python   # its source has llama.cpp's
    python -m tests.oracle record engine-classes VLLM_FOLDER SGLANG_FOLDER LLAMA_CPP_FOLDER
    python -m tests.oracle record engine-classes --through   # only what transformers runs

Nothing of the engines is imported: their lists are literals in vLLM's model_executor/models/
registry.py and llama.cpp's conversion/__init__.py, and the names in ``EntryClass`` of SGLang's
srt/models. ``through`` are the classes of transformers that vLLM and SGLang may run by the
library's own code: those whose attention can be replaced, as they ask it themselves.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hfinspect.sizing.own_cache import GENERATES
from hfinspect.trees.catalog import index

FILE = Path(__file__).resolve().parents[2] / "hfinspect" / "sizing" / "engine_classes.json"
#: vLLM's lists that are of no class in a config.json: drafts of speculation, names of its own.
_NOT_OF_CONFIGS = ("_SPECULATIVE_DECODING_MODELS", "_TRANSFORMERS_BACKEND_MODELS")
_DROPPED = "_PREVIOUSLY_SUPPORTED_MODELS"


def literals(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and keys of each dict that a module assigns, with the values that are literals."""
    for node in ast.parse(path.read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Dict):
            yield (
                target.id,
                {
                    str(key.value): ast.literal_eval(item)
                    for key, item in zip(value.keys, value.values, strict=True)
                    if isinstance(key, ast.Constant) and isinstance(item, (ast.Constant, ast.Tuple))
                },
            )


def version_of(folder: Path) -> str:
    """Of the wheel that was unpacked there."""
    names = [path.name for path in folder.glob("*.dist-info")]
    return names[0].removesuffix(".dist-info").rpartition("-")[2] if names else ""


def of_vllm(folder: Path) -> dict[str, Any]:
    lists = dict(literals(folder / "vllm/model_executor/models/registry.py"))
    names = {
        name
        for key, held in lists.items()
        if key.endswith("_MODELS") and key not in (*_NOT_OF_CONFIGS, _DROPPED)
        for name in held
    }
    dropped = {name: last for name, last in lists[_DROPPED].items() if name not in names}
    return {
        "version": version_of(folder),
        "source": "vllm/model_executor/models/registry.py",
        "classes": sorted(names),
        "dropped": dict(sorted(dropped.items())),
        "suffixes": suffixes(folder / "vllm/config/model.py"),
    }


def suffixes(path: Path) -> dict[str, str]:
    """End of a class's name -> ``generate`` or ``pooling``: a class that pools is made of one with
    another end where vLLM lists none."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_SUFFIX_TO_DEFAULTS":
            assert node.value is not None
            return {end: runner for end, (runner, _) in ast.literal_eval(node.value)}
    raise LookupError("_SUFFIX_TO_DEFAULTS")


def of_sglang(folder: Path) -> dict[str, Any]:
    class_names: set[str] = set()
    for path in sorted((folder / "sglang/srt/models").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EntryClass":
                value = node.value
                items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
                class_names.update(ast.unparse(item) for item in items)
    names = sorted(name for name in class_names if not name.startswith("Transformers"))
    return {
        "version": version_of(folder),
        "source": "sglang/srt/models, EntryClass",
        "classes": names,
        "dropped": {},
    }


def of_llama_cpp(folder: Path) -> dict[str, Any]:
    changes = (folder / "CHANGELOG.md").read_text()
    lists = dict(literals(folder / "vendor/llama.cpp/conversion/__init__.py"))
    return {
        "version": changes.partition("llama.cpp@")[2].split()[0],
        "source": "conversion/__init__.py, TEXT_MODEL_MAP; src/llama-arch.cpp, LLM_ARCH_NAMES",
        "classes": sorted(lists["TEXT_MODEL_MAP"]),
        "dropped": {},
        "architectures": architectures(folder / "vendor/llama.cpp/src/llama-arch.cpp"),
        "converts": converts(folder / "vendor/llama.cpp", set(lists["TEXT_MODEL_MAP"])),
    }


def converts(source: Path, classes: set[str]) -> dict[str, str]:
    """The architecture of llama.cpp that the converter makes of a class: ``model_arch`` of what
    registers it, or of its nearest base. Where a converter changes it by what the config says, it
    is the one that it starts from."""
    constants = (source / "gguf-py/gguf/constants.py").read_text()
    names = dict(re.findall(r'MODEL_ARCH\.(\w+):\s*"([^"]+)"', constants))
    made: dict[str, ast.ClassDef] = {}
    for path in sorted((source / "conversion").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                made[node.name] = node
    arch_of: dict[str, str] = {}
    for node in made.values():
        arch = names.get(_model_arch(node, made), "")
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("register"):
                given = {ast.literal_eval(argument) for argument in call.args}
                known = given & classes if arch not in ("", "clip") else set()
                arch_of |= dict.fromkeys(known, arch)
    return dict(sorted(arch_of.items()))


def _model_arch(node: ast.ClassDef, made: dict[str, ast.ClassDef]) -> str:
    for item in node.body:
        targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
        value = getattr(item, "value", None)
        if value is not None and any(ast.unparse(t) == "model_arch" for t in targets if t):
            return ast.unparse(value).rpartition(".")[2]
    bases = [made.get(ast.unparse(base).rpartition(".")[2]) for base in node.bases]
    return next((arch for base in bases if base and (arch := _model_arch(base, made))), "")


def architectures(source: Path) -> list[str]:
    """The names that ``general.architecture`` may have."""
    names = re.findall(r'\{ LLM_ARCH_\w+,\s*"([^"(]+)"\s*\}', source.read_text())
    return sorted(set(names))


def through_transformers() -> list[str]:
    import transformers

    names = []
    for name in sorted(index().classes):
        cls = getattr(transformers, name, None)
        if (
            cls is not None
            and name.endswith(GENERATES)
            and (cls.is_backend_compatible() or cls._can_set_attn_implementation())
        ):
            names.append(name)
    return names


def through() -> dict[str, Any]:
    import transformers

    return {"version": transformers.__version__, "classes": through_transformers()}


def write_through() -> None:
    """Record only what runs by the code of transformers; the engines' own lists stay."""
    whole = json.loads(FILE.read_text())
    FILE.write_text(json.dumps({**whole, "through": through()}, indent=1) + "\n")


def main(vllm: str, sglang: str, llama_cpp: str) -> None:
    whole = {
        "vllm": of_vllm(Path(vllm)),
        "sglang": of_sglang(Path(sglang)),
        "llama.cpp": of_llama_cpp(Path(llama_cpp)),
        "through": through(),
    }
    FILE.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--through"]:
        write_through()
    elif len(sys.argv) == 4:
        main(*sys.argv[1:])
    else:
        sys.exit("give the unpacked folders of vllm, sglang and llama-cpp-python, or --through")
