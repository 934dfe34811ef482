"""Record what engines load, for ``hfinspect/running/engine_lists.json``, and which flags their
programs take, for ``fixtures/running/flags.json``.

    pip download --no-deps vllm sglang mlx-lm optimum-onnx accelerate     # and unpack the wheels
    pip download --no-deps --no-binary :all: llama-cpp-python   # its source has llama.cpp's
    pip download --no-deps transformers==4.40.2   # and other releases, in one folder
    python -m tests.oracle record engine-lists vllm=FOLDER sglang=FOLDER mlx_lm=FOLDER \\
        optimum_onnx=FOLDER accelerate=FOLDER llama_cpp=FOLDER transformers=FOLDER_OF_WHEELS \\
        tensorrt_llm=FOLDER  # of the files that tensorrt_lists.py names

Nothing of the engines is imported: their sources are parsed. What is not named stays as it was
recorded. The classes of vLLM, SGLang and llama.cpp are in ``sizing/engine_classes.json``
(``record engine-classes``).
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from .record_engine_classes import literals, version_of
from .tensorrt_lists import click_flags, of_tensorrt_llm

_TOP = Path(__file__).resolve().parents[2]
FILE = _TOP / "hfinspect" / "running" / "engine_lists.json"
FLAGS = _TOP / "fixtures" / "running" / "flags.json"

#: Formats of linear layers, and where vLLM lists its kernels for each.
_FORMATS = {
    "fp8": "_POSSIBLE_FP8_KERNELS",
    "fp8_block": "_POSSIBLE_FP8_BLOCK_KERNELS",
    "int8": "_POSSIBLE_INT8_KERNELS",
    "wna16": "_POSSIBLE_KERNELS",
    "nvfp4": "_POSSIBLE_NVFP4_KERNELS",
    "mxfp4": "_POSSIBLE_MXFP4_KERNELS",
    "mxfp8": "_POSSIBLE_MXFP8_KERNELS",
}
#: Functions that kernels call and that are compiled: the least compute capability that they
#: accept, and the place that says so.
_COMPILED = {
    "cutlass_scaled_mm_supports_fp8": 89,  # csrc: quantization/w8a8/cutlass/scaled_mm_entry.cu
    "cutlass_scaled_mm_supports_block_fp8": 90,  # the same file
    "cutlass_scaled_mm_supports_fp4": 100,  # csrc: quantization/fp4/nvfp4_scaled_mm_entry.cu
}

#: Functions whose answer for CUDA does not depend on the card.
_NOT_FOLLOWED = {"is_supported", "can_implement", "get_device_capability", "is_cuda", "get"}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def strings(node: ast.AST) -> list[str]:
    """The texts in a literal, in order."""
    return [
        item.value
        for item in ast.walk(node)
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]


def assigned(tree: ast.Module, name: str) -> ast.expr:
    """What a module assigns to a name."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if value is not None and any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return value  # type: ignore[no-any-return]
    raise LookupError(f"no assignment to {name}")


def classes_in(folder: Path) -> dict[str, ast.ClassDef]:
    classes = {}
    for path in sorted(folder.rglob("*.py")):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
    return classes


def functions_in(paths: Sequence[Path]) -> dict[str, ast.FunctionDef]:
    functions: dict[str, ast.FunctionDef] = {}
    for path in paths:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                functions.setdefault(node.name, node)
    return functions


def method_of(
    name: str, cls: ast.ClassDef, classes: dict[str, ast.ClassDef]
) -> ast.FunctionDef | None:
    """A method of a class, or of its nearest base."""
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    for base in cls.bases:
        other = classes.get(ast.unparse(base).partition("[")[0].rpartition(".")[2])
        made = method_of(name, other, classes) if other and other is not cls else None
        if made is not None:
            return made
    return None


def least_capability(
    cls: ast.ClassDef, classes: dict[str, ast.ClassDef], method: str = ""
) -> int | None:
    """The number that ``get_min_capability`` returns on CUDA, for a ``method`` of quantisation
    where the class is that of several; None where it returns no number of its own."""
    made = method_of("get_min_capability", cls, classes)
    last = made.body[-1] if made is not None else None
    if isinstance(last, ast.If) and last.orelse:  # what comes first is another platform's
        last = last.orelse[-1]
    value = last.value if isinstance(last, ast.Return) else None
    if isinstance(value, ast.IfExp):
        test = ast.unparse(value.test)
        first = "mxfp8" in method if "mxfp8" in test else test.startswith("not ")
        value = value.body if first else value.orelse
    number = value.value if isinstance(value, ast.Constant) else None
    return number if isinstance(number, int) else None


def widths(cls: ast.ClassDef) -> list[Any]:
    """The keys of a class's TYPE_MAP: bits, or bits and whether the packing is symmetric."""
    value = assigned(ast.Module(cls.body, []), "TYPE_MAP")
    assert isinstance(value, ast.Dict)
    return [ast.literal_eval(key) for key in value.keys if key is not None]


# ---- vLLM


def of_vllm(folder: Path) -> dict[str, Any]:
    root = folder / "vllm"
    layers = root / "model_executor/layers/quantization"
    methods = strings(assigned(tree_of(layers / "__init__.py"), "QuantizationMethods"))
    configs = next(
        node.value
        for node in ast.walk(tree_of(layers / "__init__.py"))
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "method_to_config"
    )
    assert isinstance(configs, ast.Dict)
    named = {
        ast.literal_eval(key): ast.unparse(value)
        for key, value in zip(configs.keys, configs.values, strict=True)
        if key is not None
    }
    classes = classes_in(layers)
    return {
        "version": version_of(folder),
        "maps": implementing(root / "model_executor/models/registry.py"),
        "methods": {
            name: least_capability(classes[named[name]], classes)
            for name in methods
            if named.get(name) in classes
        },
        "gptq": widths(classes["AutoGPTQConfig"]),
        "awq": widths(classes["AutoAWQConfig"]),
        "online": [name for name in methods if named.get(name) not in classes],
        "deprecated": strings(
            assigned(tree_of(layers / "__init__.py"), "DEPRECATED_QUANTIZATION_METHODS")
        ),
        "rocm": strings(assigned(tree_of(root / "platforms/rocm.py"), "supported_quantization")),
        "platforms": sorted(
            path.stem
            for path in (root / "platforms").glob("*.py")
            if path.stem not in ("__init__", "interface", "zen_cpu")
        ),
        "kernels": kernels(root),
    }


def implementing(path: Path) -> dict[str, str]:
    """Class of a config -> the class of vLLM that runs it, where that has another name."""
    classes = {}
    for name, held in literals(path):
        if name.endswith("_MODELS"):
            for architecture, place in held.items():
                if isinstance(place, tuple) and place[1] != architecture:
                    classes[architecture] = place[1]
    return dict(sorted(classes.items()))


#: Kernels that only choose between others, by the size of a batch.
_CHOOSE = {"FlashInferFp8DeepGEMMDynamicBlockScaledKernel"}


def kernels(root: Path) -> dict[str, list[list[Any]]]:
    """Format -> the kernels of CUDA in the order in which vLLM tries them, each with the least
    compute capability and the only families that have it, as far as the source says."""
    folder = root / "model_executor/kernels/linear"
    tree = tree_of(folder / "__init__.py")
    classes = classes_in(folder)
    paths = [root / "platforms/cuda.py", root / "utils/deep_gemm.py", root / "utils/flashinfer.py"]
    paths += sorted((root / "model_executor/layers/quantization/utils").glob("*.py"))
    asked = functions_in([*paths, *sorted(folder.rglob("*.py"))])
    by_type = {}
    for name, table in _FORMATS.items():
        value = assigned(tree, table)
        assert isinstance(value, ast.Dict)
        cuda = next(
            item
            for key, item in zip(value.keys, value.values, strict=True)
            if key is not None and ast.unparse(key).endswith("CUDA")
        )
        assert isinstance(cuda, ast.List)
        by_type[name] = [
            [_short(kernel), *where(classes[kernel], classes, asked)]
            for kernel in map(ast.unparse, cuda.elts)
            if kernel not in _CHOOSE
        ]
    return by_type


def _short(name: str) -> str:
    return re.sub(r"(ScaledMM)?Linear(Kernel)?$|(BlockScaledMM|ScaledMM)?Kernel$", "", name)


def where(
    cls: ast.ClassDef, classes: dict[str, ast.ClassDef], asked: dict[str, ast.FunctionDef]
) -> tuple[int, list[int]]:
    """The least compute capability of a kernel and the only families that have it; 0 and none
    where its source names none."""
    least = least_capability(cls, classes) or 0
    families = set[int]()
    todo: list[ast.AST] = [
        made
        for name in ("is_supported", "can_implement")
        if (made := method_of(name, cls, classes)) is not None
    ]
    seen: set[str] = set()
    while todo:
        top = todo.pop()
        least = max(least, *(_refused_below(node) for node in ast.walk(top)))
        families.update(number for node in ast.walk(top) for number in _compared_with(node))
        for name, number in _asked_of(top):
            if name == "has_device_capability":
                least = max(least, number)
            elif name in ("is_device_capability", "is_device_capability_family") and number:
                families.add(number)
            elif name in _COMPILED:
                least = max(least, _COMPILED[name])
            elif name in asked and name not in seen and name not in _NOT_FOLLOWED:
                seen.add(name)
                todo.append(asked[name])
    return least, sorted(families)


def _asked_of(top: ast.AST) -> Iterator[tuple[str, int]]:
    """The functions that a function calls, each with its first argument where that is a number;
    a constant that a module made of a function (``CUTLASS_FP8_SUPPORTED``) stands for it."""
    for node in ast.walk(top):
        if isinstance(node, ast.Name) and node.id.endswith("_SUPPORTED"):
            yield node.id.lower(), 0
        elif isinstance(node, ast.Call):
            first = node.args[0] if node.args else None
            number = first.value if isinstance(first, ast.Constant) else 0
            name = ast.unparse(node.func).rpartition(".")[2]
            yield name, number if isinstance(number, int) else 0


def _refused_below(node: ast.AST) -> int:
    """The number of ``if ... compute_capability < 100: return False``, else 0."""
    if not isinstance(node, ast.If):
        return 0
    tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return max(
        (
            int(str(right.value))
            for test in tests
            if isinstance(test, ast.Compare)
            and ast.unparse(test.left) == "compute_capability"
            and isinstance(test.ops[0], ast.Lt)
            and isinstance(right := test.comparators[0], ast.Constant)
        ),
        default=0,
    )


def _compared_with(node: ast.AST) -> Iterator[int]:
    """The families of ``compute_capability not in (100, 103)`` and ``... >= 120``."""
    if isinstance(node, ast.Compare) and ast.unparse(node.left) == "compute_capability":
        right = ast.literal_eval(node.comparators[0])
        if isinstance(node.ops[0], ast.NotIn):
            yield from {number // 10 * 10 for number in right}
        elif isinstance(node.ops[0], (ast.GtE, ast.Eq)):
            yield right


# ---- the others


def of_sglang(folder: Path) -> dict[str, Any]:
    layers = folder / "sglang/srt/layers/quantization"
    classes = classes_in(layers)
    tree = tree_of(layers / "__init__.py")
    tables = [assigned(tree, "BASE_QUANTIZATION_METHODS")]
    tables += [  # of CUDA: what is_cuda() adds
        node.args[0]
        for top in tree.body
        if isinstance(top, ast.If) and "is_cuda()" in ast.unparse(top.test)
        for node in ast.walk(top)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".update")
    ]
    methods = {}
    for table in tables:
        assert isinstance(table, ast.Dict)
        for key, value in zip(table.keys, table.values, strict=True):
            name = ast.literal_eval(key)  # type: ignore[arg-type]
            methods[name] = least_capability(classes[ast.unparse(value)], classes, name)
    verify = tree_of(folder / "sglang/srt/configs/model_config.py")
    return {
        "version": version_of(folder),
        "methods": methods,
        "gptq": widths(classes["GPTQMarlinConfig"]),
        "awq": widths(classes["AWQMarlinConfig"]),
        "rocm": strings(assigned(verify, "rocm_supported_quantization")),
    }


def of_mlx_lm(folder: Path) -> dict[str, Any]:
    tree = tree_of(folder / "mlx_lm/utils.py")
    types = []
    own_caches = []
    for path in sorted((folder / "mlx_lm/models").glob("*.py")):
        classes = {node.name: node for node in tree_of(path).body if isinstance(node, ast.ClassDef)}
        if {"Model", "ModelArgs"} <= classes.keys():
            types.append(path.stem)
            methods_of = {getattr(node, "name", "") for node in classes["Model"].body}
            own_caches += [path.stem] if "make_cache" in methods_of else []
    load = next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "load_model"
    )
    methods: set[str] = set()
    for node in ast.walk(load):
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "quant_method":
            methods.update(strings(node.comparators[0]))
    formats = next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "_compressed_tensors_quantization"
    )
    return {
        "version": version_of(folder),
        "types": types,
        "own_caches": own_caches,
        "renamed": ast.literal_eval(assigned(tree, "MODEL_REMAPPING")),
        "methods": sorted(methods),
        "compressed": [
            text
            for node in ast.walk(formats)
            if isinstance(node, ast.Compare) and ast.unparse(node.left) == "fmt"
            for text in strings(node.comparators[0])
        ],
    }


def of_llama_cpp(folder: Path) -> dict[str, Any]:
    """The methods of quantisation that the converter unpacks or repacks, and for
    compressed-tensors the formats."""
    tree = tree_of(folder / "vendor/llama.cpp/conversion/base.py")
    methods: dict[str, set[str]] = {"quant_method": set(), "quant_format": set()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.In)):
            name = ast.unparse(node.left)
            if name in methods:
                methods[name].update(strings(node.comparators[0]))
    changes = (folder / "CHANGELOG.md").read_text()
    return {
        "version": changes.partition("llama.cpp@")[2].split()[0],
        "methods": sorted(methods["quant_method"]),
        "compressed": sorted(methods["quant_format"]),
    }


def of_optimum_onnx(folder: Path) -> dict[str, Any]:
    """Type -> the tasks that it is exported for; COMMON_TEXT_TASKS and the like are looked up."""
    tree = tree_of(folder / "optimum/exporters/onnx/model_configs.py")
    lists = {
        ast.unparse(node.targets[0]): strings(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Tuple))
    }
    types: dict[str, list[str]] = {}
    for node in tree.body:
        for call in getattr(node, "decorator_list", ()):
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call.func) == "register_tasks_manager_onnx"
            ):
                kind, *tasks = call.args
                own = types.setdefault(ast.literal_eval(kind), [])
                for task in tasks:
                    names = [n.id for n in ast.walk(task) if isinstance(n, ast.Name)]
                    own += [one for name in names for one in lists.get(name, [])] + strings(task)
    return {
        "version": version_of(folder),
        "types": {kind: sorted(set(tasks)) for kind, tasks in sorted(types.items())},
    }


def of_transformers(folder: Path) -> dict[str, Any]:
    """The types that each release knows, as the first and the last of the releases that were read;
    and what the newest reads: methods of quantisation, architectures of GGUF."""
    releases: dict[tuple[int, ...], set[str]] = {}
    newest: tuple[tuple[int, ...], Path] = ((), folder)
    for path in folder.glob("transformers-*.whl"):
        version = tuple(int(part) for part in path.name.split("-")[1].split("."))
        with zipfile.ZipFile(path) as wheel:
            releases[version] = set(_types(wheel))
        newest = max(newest, (version, path))
    versions = sorted(releases)
    first: dict[str, list[int]] = {}
    for at, version in enumerate(versions):
        for kind in releases[version]:
            first.setdefault(kind, [at, at])[1] = at
    with zipfile.ZipFile(newest[1]) as wheel:
        quantizers = ast.parse(wheel.read("transformers/quantizers/auto.py"))
        gguf = ast.parse(wheel.read("transformers/integrations/ggml.py"))
    table = assigned(quantizers, "AUTO_QUANTIZATION_CONFIG_MAPPING")
    mapping = assigned(gguf, "GGUF_CONFIG_MAPPING")
    assert isinstance(table, ast.Dict) and isinstance(mapping, ast.Dict)
    return {
        "version": ".".join(map(str, newest[0])),
        "versions": [".".join(map(str, version)) for version in versions],
        "types": {
            f"{low}-{high}": sorted(k for k, span in first.items() if span == [low, high])
            for low, high in sorted({tuple(span) for span in first.values()})
        },
        "methods": [ast.literal_eval(key) for key in table.keys if key is not None],
        "gguf": [
            name
            for key in mapping.keys
            if key is not None and (name := ast.literal_eval(key)) not in ("general", "tokenizer")
        ],
    }


def _types(wheel: zipfile.ZipFile) -> Iterator[str]:
    """The keys of CONFIG_MAPPING_NAMES: a literal, in newer releases of another file, and what is
    added to it."""
    for name in ("auto_mappings.py", "configuration_auto.py"):
        path = f"transformers/models/auto/{name}"
        if path not in wheel.namelist():
            continue
        for node in ast.walk(ast.parse(wheel.read(path))):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            made = target is not None and ast.unparse(target) == "CONFIG_MAPPING_NAMES"
            added = (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "CONFIG_MAPPING_NAMES.update"
            )
            if made or added:
                for item in ast.walk(node):
                    if isinstance(item, ast.Tuple) and len(texts := strings(item)) == 2:
                        yield texts[0]
                    elif isinstance(item, ast.Dict):
                        yield from (ast.literal_eval(key) for key in item.keys if key is not None)


# ---- flags


def argparse_flags(path: Path) -> set[str]:
    """The names that ``add_argument`` is given anywhere in a file."""
    flags: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("add_argument"):
            flags.update(text for arg in node.args for text in strings(arg) if text[:1] == "-")
    return flags


def sglang_flags(folder: Path) -> set[str]:
    """A flag for each annotated field (arg_groups/arg_utils.py), and its second names."""
    root = folder / "sglang/srt"
    flags = argparse_flags(root / "server_args.py")
    for path in sorted((root / "arg_groups/fields").glob("*.py")):
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.AnnAssign) or not ast.unparse(node.annotation).startswith(
                "A["
            ):
                continue
            if node.target.id[:1] == "_":  # type: ignore[union-attr]
                continue  # kept next to the flags, and no flag
            flags.add("--" + ast.unparse(node.target).replace("_", "-"))
            for keyword in ast.walk(node.annotation):
                if isinstance(keyword, ast.keyword) and keyword.arg == "aliases":
                    flags.update(strings(keyword.value))
    return flags


def llama_flags(folder: Path) -> set[str]:
    """The names in braces that each option of common/arg.cpp begins with."""
    text = (folder / "vendor/llama.cpp/common/arg.cpp").read_text()
    flags: set[str] = set()
    for names in re.findall(r"\{((?:\s*\"-[\w-]+\"\s*,?)+)\}", text):
        flags.update(re.findall(r'"(-[\w-]+)"', names))
    return flags


def quantize_words(folder: Path) -> set[str]:
    """The flags of llama-quantize, and the types that it writes."""
    text = (folder / "vendor/llama.cpp/tools/quantize/quantize.cpp").read_text()
    types = re.findall(r'\{\s*"(\w+)",\s*LLAMA_FTYPE_', text)
    return {*re.findall(r'"(--[\w-]+)"', text), *types}


def converter_flags(folder: Path) -> set[str]:
    return argparse_flags(folder / "vendor/llama.cpp/convert_hf_to_gguf.py")


#: Program -> the folder that it is read from, and how.
_PROGRAMS: dict[str, tuple[str, Callable[[Path], set[str]]]] = {
    "vllm": ("vllm", lambda folder: argparse_flags(folder / "vllm/engine/arg_utils.py")),
    "sglang": ("sglang", sglang_flags),
    "llama-server": ("llama_cpp", llama_flags),
    "convert_hf_to_gguf.py": ("llama_cpp", converter_flags),
    "llama-quantize": ("llama_cpp", quantize_words),
    "mlx_lm.server": ("mlx_lm", lambda folder: argparse_flags(folder / "mlx_lm/server.py")),
    "mlx_lm.generate": ("mlx_lm", lambda folder: argparse_flags(folder / "mlx_lm/generate.py")),
    "trtllm-serve": ("tensorrt_llm", click_flags),
    "optimum-cli": (
        "optimum_onnx",
        lambda folder: argparse_flags(folder / "optimum/commands/export/onnx.py"),
    ),
    "accelerate": (
        "accelerate",
        lambda folder: argparse_flags(folder / "accelerate/commands/launch.py"),
    ),
}
_LISTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "vllm": of_vllm,
    "sglang": of_sglang,
    "mlx_lm": of_mlx_lm,
    "optimum_onnx": of_optimum_onnx,
    "transformers": of_transformers,
    "llama_cpp": of_llama_cpp,
    "tensorrt_llm": of_tensorrt_llm,
}


def main(folders: dict[str, Path]) -> None:
    lists: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    flags: dict[str, list[str]] = json.loads(FLAGS.read_text()) if FLAGS.exists() else {}
    today = date.today().isoformat()
    for name, read in _LISTS.items():
        if name in folders:
            lists[name] = {"read": today, **read(folders[name])}
    for program, (name, names) in _PROGRAMS.items():
        if name in folders:
            flags[program] = sorted(names(folders[name]))
    FILE.write_text(json.dumps(lists, separators=(",", ":")) + "\n")
    FLAGS.write_text(json.dumps(flags, indent=1) + "\n")


if __name__ == "__main__":
    given = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
    known = {*_LISTS, *(name for name, _ in _PROGRAMS.values())}
    if not given or not given.keys() <= known:
        sys.exit(f"give NAME=FOLDER, of {', '.join(sorted(known))}")
    main({name: Path(folder) for name, folder in given.items()})
