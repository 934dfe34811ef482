"""What TensorRT-LLM's source lists, for ``record_engine_lists``: no wheel of it installs here.

The folder has the files below as the repository has them, and a file ``COMMITS`` with a line for
each: path and commit. Nothing of it is imported.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

#: Classes by the module that registers them, for its PyTorch backend.
ARCHITECTURES = "tensorrt_llm/_torch/models/_arch_index.py"
#: What it makes of a ``quantization_config``.
QUANTIZED = "tensorrt_llm/_torch/model_config.py"
SERVE = "tensorrt_llm/commands/serve.py"
#: Packings by generation of cards, and the classes of the backend AutoDeploy.
CARDS = "docs/source/features/quantization.md"
SUPPORTED = "docs/source/models/supported-models.md"
#: Names of generations on its page -> compute capabilities.
_CAPABILITIES = {
    "Blackwell(sm120)": (120, 121),
    "Blackwell(sm100/103)": (100, 103),
    "Hopper": (90,),
    "Ada Lovelace": (89,),
    "Ampere": (80, 86),
}
_NO_WEIGHTS = "FP8 KV Cache"


def _tree(folder: Path, path: str) -> ast.Module:
    return ast.parse((folder / path).read_text(encoding="utf-8"))


def of_tensorrt_llm(folder: Path) -> dict[str, Any]:
    commits = dict(line.split() for line in (folder / "COMMITS").read_text().splitlines())
    return {
        "version": commits[ARCHITECTURES],
        "files": commits,
        "classes": _classes(_tree(folder, ARCHITECTURES)),
        "autodeploy": _of_autodeploy((folder / SUPPORTED).read_text(encoding="utf-8")),
        "methods": _methods(_tree(folder, QUANTIZED)),
        "gptq": _gptq(_tree(folder, QUANTIZED)),
        "cards": _by_card((folder / CARDS).read_text(encoding="utf-8")),
    }


def _classes(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODEL_ARCH_TO_MODULE":
            return sorted(ast.literal_eval(node.value))
    raise LookupError("no MODEL_ARCH_TO_MODULE")


def _of_autodeploy(page: str) -> list[str]:
    """Rows whose footnote says that AutoDeploy runs them."""
    notes = re.findall(r"^(\[\^\d+\]):.*\[AutoDeploy\]", page, re.MULTILINE)
    rows = re.findall(r"^\| `([A-Za-z0-9_]+)` ?(\[\^\d+\])", page, re.MULTILINE)
    return sorted({name for name, note in rows if note in notes})


def _compared(tree: ast.AST, key: str) -> list[ast.Compare]:
    """Comparisons of ``hf_quant_config.get(key)``."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and ast.unparse(node.left).startswith(f"hf_quant_config.get('{key}'")
    ]


def _methods(tree: ast.Module) -> list[str]:
    names = [ast.literal_eval(node.comparators[0]) for node in _compared(tree, "quant_method")]
    return sorted({*names, "modelopt"})  # ModelOpt's has a function of its own


def _gptq(tree: ast.Module) -> dict[str, list[int]]:
    """Bits and sizes of groups that are not refused."""
    (bits,) = _compared(tree, "bits")
    groups = next(n for n in _compared(tree, "group_size") if isinstance(n.ops[0], ast.NotIn))
    return {
        "bits": [ast.literal_eval(bits.comparators[0])],
        "groups": list(ast.literal_eval(groups.comparators[0])),
    }


def _by_card(page: str) -> dict[str, list[int]]:
    """Packing -> compute capabilities that have it."""
    table = page.partition("## Hardware Support Matrix")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("|") and ":--" not in line
    ]
    (_, *names), *generations = rows
    cards: dict[str, list[int]] = {name: [] for name in names if name != _NO_WEIGHTS}
    for generation, *cells in generations:
        for name, cell in zip(names, cells, strict=True):
            if cell == "Y" and name in cards:
                cards[name] += _CAPABILITIES[generation]
    return {name: sorted(numbers) for name, numbers in cards.items()}


def click_flags(folder: Path) -> set[str]:
    """The options of ``trtllm-serve serve``."""
    (serve,) = (
        node
        for node in ast.walk(_tree(folder, SERVE))
        if isinstance(node, ast.FunctionDef) and node.name == "serve"
    )
    return {
        name
        for call in serve.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "click.option"
        for argument in call.args
        if (name := ast.literal_eval(argument)).startswith("-")
    }
