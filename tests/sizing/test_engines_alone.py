"""An engine is one file: a new one cannot be half there, and no other file compares its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.choices import ENGINES as NAMES
from hfinspect.core.footprint import Workspace
from hfinspect.sizing.engines.interface import Engine, RowPerToken
from hfinspect.sizing.engines.logical import Logical
from hfinspect.sizing.engines.registry import ENGINES
from hfinspect.trees.cache_layout import KeysValues

PACKAGE = Path(hfinspect.__file__).parent
#: Where names stand: the engines themselves, and the choices that users have.
OWN = ("sizing/engines/", "core/choices.py")
#: Names that mean an engine wherever they stand; ``logical`` and ``transformers`` mean more.
ONLY_ENGINES = frozenset(NAMES) - {"logical", "transformers"}
#: Modules of the folder that are no single engine.
SHARED = frozenset({"interface", "registry", "cache_dtypes"})


class _Half(RowPerToken):
    name = "half"
    version = "1"


class _Unsaid(_Half):
    """All methods, and no word on its dtypes."""

    def recurrent_dtype(self, prediction: object, config: object, dtype: str) -> None:
        return None

    def check_parallel(self, devices: int) -> None:
        return

    def usable(self, nbytes: int) -> int:
        return nbytes

    def workspace(self, limit: object, context: int, batch: int) -> Workspace:
        raise NotImplementedError

    def unknown_layouts(self, layers: object) -> object:  # type: ignore[override]
        return iter(())


def test_an_engine_that_leaves_a_rule_out_does_not_start() -> None:
    with pytest.raises(TypeError, match="abstract method"):
        _Half()  # type: ignore[abstract]
    with pytest.raises(TypeError, match="_Unsaid does not say cache_dtypes, default_cache_dtype"):
        _Unsaid()
    assert Logical().name == "logical"


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_each_rule_is_needed(engine: Engine) -> None:
    """Of each engine, one rule after the other is made abstract again."""
    for rule in sorted(Engine.__abstractmethods__):
        abstract = getattr(Engine, rule)
        without = type("Without", (type(engine),), {rule: abstract})
        with pytest.raises(TypeError, match=rule):
            without()


def test_rules_of_windows_steps_states_pages_splits_and_refusals_are_abstract() -> None:
    assert Engine.__abstractmethods__ == {
        "rows",
        "rows_formula",
        "window_full",
        "recurrent_dtype",
        "in_pages",
        "workspace",
        "unknown_layouts",
        "check_parallel",
        "usable",
    }


@pytest.mark.parametrize(
    ("dtype", "item", "bytes_a_row"),
    [
        ("fp8_ds_mla", KeysValues(512, 64, latent=True), 656),
        ("int8_per_token_head", KeysValues(1024, 1024, heads=8), 2048 + 2 * 8 * 4),
        ("fp8_per_token_head", KeysValues(1024, 1024, heads=8), 2048 + 2 * 8 * 4),
        ("nvfp4", KeysValues(1024, 1024, heads=8), 2048 * 9 // 16),
    ],
)
def test_a_dtype_takes_the_same_bytes_where_no_engine_is_named(
    dtype: str, item: KeysValues, bytes_a_row: int
) -> None:
    """That 656 bytes hold 512 + 64 values, and each head a scale, is so under either."""
    for name in ("logical", "vllm"):
        assert ENGINES[name].bytes_of_rows(item, 10, dtype) == 10 * bytes_a_row, name


def test_each_engine_is_listed_once() -> None:
    assert tuple(ENGINES) == NAMES
    assert len({type(engine) for engine in ENGINES.values()}) == len(NAMES)


def test_no_other_file_tests_which_engine_it_is() -> None:
    """It asks the engine for the rule: a name that is tested for would have to be added to."""
    places = [
        f"{inner}:{line}: {why}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for inner in [path.relative_to(PACKAGE).as_posix()]
        if not inner.startswith(OWN)
        for line, why in _tests_of_an_engine(path.read_text(encoding="utf-8"))
    ]
    assert not places


@pytest.mark.parametrize(
    "code",
    [
        'engine.name == "vllm"',
        'wish.engine.name in ("logical", "transformers")',
        'name == "llama.cpp"',
        "engine.name in _READ_KEY_VALUES",
        "engine.name not in _READ_KEY_VALUES",
        'engine == "logical"',
        '_STEPS = {"sglang": 8192}',
        "_STEPS[engine.name]",
        "_STEPS.get(wish.engine.name)",
        "engine.name.startswith(prefix)",
        "match engine.name:\n    case _:\n        pass",
        'match name:\n    case "vllm":\n        pass',
        "from .engines.vllm import Vllm",
        "from ..sizing.engines import llama_cpp",
        "import hfinspect.sizing.engines.sglang",
    ],
)
def test_each_way_to_test_for_an_engine_is_seen(code: str) -> None:
    assert list(_tests_of_an_engine(code))


@pytest.mark.parametrize(
    "code",
    [
        "Memory(engine=wish.engine.name)",
        "engine.name == wish.engine.name",
        "ENGINES[cache.engine]",
        'library == "transformers"',
        '"""vllm"""',
        '_RUNS_IN = {"AWQ": "vllm"}',
        "from .engines.registry import ENGINES",
    ],
)
def test_what_asks_no_engine_for_its_name_is_free(code: str) -> None:
    assert not list(_tests_of_an_engine(code))


def _tests_of_an_engine(code: str) -> Iterator[tuple[int, str]]:
    """Lines that decide by an engine's name, have a table by it, or import an engine alone. That a
    table says which engine runs something decides nothing."""
    if "engine" not in code and not any(name in code for name in ONLY_ENGINES):
        return  # parsing all of the package takes seconds
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Dict) and any(map(_only_an_engine, node.keys)):
            yield node.lineno, "has a table by engine"
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and (alone := _imported(node)):
            yield node.lineno, f"imports {', '.join(sorted(alone))}"
        elif isinstance(node, (ast.expr, ast.Match, ast.MatchValue)) and _decides(node):
            yield node.lineno, "decides by an engine's name"


def _decides(node: ast.AST) -> bool:
    match node:
        case ast.Compare(left=left, comparators=others):
            both = [left, *others]
            if all(map(_is_name, both)):  # whether two are the same one
                return False
            inner = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
            of_words = any(one.value in NAMES for one in inner) and "engine" in ast.unparse(node)
            return of_words or any(map(_is_name, both)) or any(map(_only_an_engine, inner))
        case ast.Subscript(slice=asked) | ast.Match(subject=asked):
            return _is_name(asked)
        case ast.Attribute(value=asked):
            return _is_name(asked)
        case ast.MatchValue(value=word):
            return _only_an_engine(word)
        case ast.Call(func=ast.Attribute(attr="get"), args=[asked, *_]):
            return _is_name(asked)
    return False


def _only_an_engine(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in ONLY_ENGINES


def _is_name(node: ast.AST) -> bool:
    """Whether it is ``engine.name`` of whatever has the engine."""
    if not isinstance(node, ast.Attribute) or node.attr != "name":
        return False
    owner = node.value
    return (isinstance(owner, ast.Name) and owner.id == "engine") or (
        isinstance(owner, ast.Attribute) and owner.attr == "engine"
    )


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The engines that are imported one by one."""
    if isinstance(node, ast.Import):
        paths = [alias.name for alias in node.names]
    else:
        paths = [f"{node.module or ''}.{alias.name}" for alias in node.names]
    after = (path.partition("engines.")[2].partition(".")[0] for path in paths)
    return {name for name in after if name} - SHARED
