"""Records what llama.cpp's loaders ask of a file, as a table of facts.

    python -m tests.sizing.record_llama_cpp_contract --source LLAMA.CPP

LLAMA.CPP is its source. The table is hfinspect/analysis/gguf/llama_cpp_contract.json: for each
architecture the keys, the tensors with their sizes, and what makes its loader give up. Sizes and
conditions are numbers of ``nodes``, each an operation on others.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.sizing.cpp_statements import Tree
from tests.sizing.llama_cpp_loaders import UNKNOWN, Asked, Source, asked_by_all
from tests.sizing.record_llama_cpp import version

TABLE = Path(__file__).parents[2] / "hfinspect" / "analysis" / "gguf" / "llama_cpp_contract.json"

#: Operations whose first parts are words and not expressions.
_WORDS = {"key": 1, "keys": 1, "haskey": 1, "count": 1, "text": 1, "var": 1, "map": 1, "has": 1}


class Nodes:
    """Every expression once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[str, int] = {}

    def of(self, tree: Tree) -> int:
        if isinstance(tree, (bool, int, float)):
            return self.line(["value", tree])
        if tree == UNKNOWN or tree[0] == "unknown":
            return self.line(["unknown"])
        name = tree[0]
        words = _WORDS.get(name, 0)
        if name == "has":
            parts = [tree[1], *map(self.of, tree[2])]
            return self.line([name, *parts])
        return self.line([name, *tree[1 : 1 + words], *map(self.of, tree[1 + words :])])

    def line(self, parts: list[Any]) -> int:
        text = json.dumps(parts, separators=(",", ":"))
        if text not in self.numbers:
            self.numbers[text] = len(self.lines)
            self.lines.append(text)
        return self.numbers[text]

    def loops(self, loops: list[list[Tree]]) -> list[list[Any]]:
        return [[var, self.of(start), self.of(end)] for var, start, end in loops]


def table_of(asked: Asked, nodes: Nodes) -> dict[str, Any]:
    tensors: list[list[Any] | None] = []
    for name, index, sizes, when, required, reshape, loops in asked.tensors:
        if name is None:
            tensors.append(None)
            continue
        shape = None if sizes == UNKNOWN else [nodes.of(size) for size in sizes]
        tensors.append(
            [
                name, [nodes.of(one) for one in index], shape, nodes.of(when), nodes.of(required),
                nodes.of(reshape), nodes.loops(loops),
            ]
        )  # fmt: skip
    return {
        "keys": [[name, nodes.of(when), nodes.loops(loops)] for name, when, loops in asked.keys],
        "refusals": [[nodes.of(when), nodes.loops(loops)] for when, loops in asked.refusals],
        "tensors": [row for place, row in enumerate(tensors) if row not in tensors[:place]],
    }


def tokenizers(source: Path) -> dict[str, list[str]]:
    """The names of tokenizers and of what comes before their merges that a vocabulary may have."""
    text = (source / "src" / "llama-vocab.cpp").read_text()
    return {
        "models": sorted(set(re.findall(r'tokenizer_model == "([^"]+)"', text))),
        "pre": sorted(set(re.findall(r'tokenizer_pre == "([^"]+)"', text))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_args().source
    nodes = Nodes()
    tables = {
        name: table_of(asked, nodes) for name, asked in sorted(asked_by_all(Source(source)).items())
    }
    rows = ",\n".join(
        f'"{name}": {json.dumps(table, separators=(",", ":"))}' for name, table in tables.items()
    )
    TABLE.write_text(
        f'{{"llama.cpp": {json.dumps(version(source))},\n'
        f'"tokenizers": {json.dumps(tokenizers(source))},\n'
        f'"nodes": [\n{",".join(nodes.lines)}\n],\n"architectures": {{\n{rows}\n}}}}\n'
    )
    sys.stdout.write(f"{len(tables)} architectures, {len(nodes.lines)} expressions\n")


if __name__ == "__main__":
    main()
