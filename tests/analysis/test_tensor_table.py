"""A table in groups answers as one of each tensor by itself; and few files know that it may."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.analysis.folding import answered_by_groups, fold_tensors
from hfinspect.analysis.tensor_table import NotAlikeError, TensorTable
from hfinspect.core.checkpoint import Shard

from ..builders import Tensors
from ..inspecting.folded import in_parts, shards_of

PACKAGE = Path(hfinspect.__file__).parent

#: Layers, of which the last lacks a tensor and the first has another dtype; experts in each.
NAMES = st.lists(
    st.builds(
        lambda layer, rest: f"layers.{layer}.{rest}" if layer is not None else rest,
        st.sampled_from([None, 0, 1, 2, 3, 11]),
        st.sampled_from(["norm", "up.weight", "experts.0.w", "experts.1.w", "experts.12.w", "01"]),
    ),
    unique=True,
    min_size=1,
)


def shards(names: list[str], odd: int, parts: int) -> list[Shard]:
    tensors: Tensors = {
        name: ("F16" if at == odd else "F32", (len(name.split(".")),))
        for at, name in enumerate(names)
    }
    return shards_of(in_parts(tensors, parts))


@given(NAMES, st.integers(0, 40), st.integers(1, 3))
def test_sums_and_names_are_those_of_all_tensors(names: list[str], odd: int, parts: int) -> None:
    files = shards(names, odd, parts)
    grouped = fold_tensors(files, None)
    apart = TensorTable(files)
    assert grouped is not None
    assert len(grouped) == len(apart) == len(names)
    looked_at = [tensor.name for shard in grouped.shards for tensor in shard.tensors]
    counts = {t.name: n for shard in grouped.shards for t, n in grouped.groups(shard)}
    assert list(counts) == looked_at
    assert sum(counts.values()) == sum(map(grouped.total, looked_at)) == len(names)
    assert {name for name in looked_at if grouped.is_alone(name)} == {
        name for name, count in counts.items() if count == 1
    }
    members = list(grouped.names(looked_at))
    assert [name for name, _ in members] == [t.name for file in files for t in file.tensors]
    shapes = {t.name: (t.dtype, t.shape) for file in files for t in file.tensors}
    assert all(shapes[name] == shapes[one] for name, one in members)
    first = {one: name for name, one in reversed(members)}
    assert {name: grouped.first_name(name) for name in looked_at} == first
    size = {t.name: t.nbytes for file in files for t in file.tensors}
    for one in looked_at:
        assert grouped.total(one, size[one]) == sum(size[n] for n, own in members if own == one)
    pairs = [(name, f"model.{name}") for name in looked_at]
    assert sorted(grouped.renamed(pairs)) == sorted(f"model.{name}" for name in names)
    assert list(apart.renamed(pairs)) == [other for _, other in pairs]


def test_each_tensor_is_looked_at_where_one_does_not_answer_for_its_group() -> None:
    files = shards([f"layers.{n}.w" for n in range(4)], 9, 1)
    seen: list[int] = []

    def answer(table: TensorTable) -> str:
        seen.append(sum(len(shard.tensors) for shard in table.shards))
        table.look_at_each()
        return "an answer"

    assert answered_by_groups(files, None, None, answer) == "an answer"
    assert seen == [1, 4]


def test_other_names_do_not_always_follow() -> None:
    """Numbers that are not those of the files."""
    table = fold_tensors(shards([f"layers.{n}.w" for n in range(4)], 9, 1), None)
    assert table is not None
    with pytest.raises(NotAlikeError):
        list(table.renamed([("layers.0.w", "blocks.7.w")]))


# ---- who knows

#: Files that know that one tensor is kept, or looked at, for many; the rest asks them.
KNOWING = {
    "core/stored_tensors.py": "keeps the tensors of a file by pattern and numbers",
    "formats/safetensors/cached_header.py": "writes and reads that form",
    "formats/safetensors/spans.py": "checks a pattern once",
    "checkpoints/folded_index.py": "keeps a weight_map in the same form",
    "analysis/folding.py": "says which tensors are alike",
    "analysis/folded_table.py": "the table of those groups",
    "analysis/renamed.py": "takes a wrapper out of all names of a pattern at once",
    "analysis/kinds.py": "layers that are alike in a picture, as one",
    "analysis/differences.py": "differences of many layers, in one row",
}
#: Rooms that stored tensors come through. Elsewhere the same words have other meanings: formulas
#: that are multiplied, layers of a tree, rows of a screen.
ROOMS = ("core", "formats", "checkpoints", "analysis", "inspecting", "auditing", "scanning")
WORD = re.compile(r"_?(?:un)?[Ff]old(?:s|ed|ing)?(?:_\w+|[A-Z]\w*)?|_?times|ONCE")
#: What the knowing files give to those who do not know.
DOORS = {
    "core/stored_tensors.py": {"StoredTensors", "known_distinct", "split_at_number"},
    "checkpoints/folded_index.py": {
        *("named_shards", "longest_names", "is_as_stored", "read_in_pieces", "TooManyShardsError"),
        *("MAX_NAME_LENGTH", "MAX_SHARDS"),
    },
    "analysis/folding.py": {"answered_by_groups"},
    "analysis/folded_table.py": set[str](),
}


def words(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name"):
            word = getattr(node, field, None)
            if isinstance(word, str) and WORD.fullmatch(word):
                yield word


def behind_a_door(file: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for knowing, open_to_all in DOORS.items():
                stem = Path(knowing).stem
                if node.module.split(".")[-1] == stem and file != knowing:
                    yield from ({alias.name for alias in node.names} - open_to_all)


@cache
def known() -> dict[str, set[str]]:
    """File -> what it names of the idea."""
    entries = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        text = path.read_text()
        in_room = file.startswith(ROOMS)
        if not in_room and not re.search("stored_tensors|folded_|folding", text):
            continue
        tree = ast.parse(text)
        names = {*behind_a_door(file, tree), *(words(tree) if in_room else ())}
        if names:
            entries[file] = names
    return entries


def test_at_most_ten_files_know_of_groups() -> None:
    """A new one is a leak: what it wants to know is a question to ``TensorTable``."""
    of_layers = {"core/ledger_lines.py": {"times"}}  # a field of the JSON form: how many layers
    leaks = {
        file: names - of_layers.get(file, set())
        for file, names in known().items()
        if file not in KNOWING
    }
    assert {file: names for file, names in leaks.items() if names} == {}
    assert known().keys() >= KNOWING.keys()
    assert len(KNOWING) <= 10
