"""The release of transformers is written once: what was recorded from it says the same number."""

import json
import re
from pathlib import Path

from hfinspect.core.library_versions import (
    TRANSFORMERS,
    TRANSFORMERS_RUN,
    TRANSFORMERS_RUN_SERIES,
)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "hfinspect"
#: A release of transformers in a text, and not the end of another library's.
NAMED = re.compile(r"transformers(?:-static)?`? (\d+\.\d+)(?:\.\d+)?\b")


def _read(*path: str) -> dict[str, object]:
    content: dict[str, object] = json.loads(PACKAGE.joinpath(*path).read_text())
    return content


def test_what_is_recorded_whole_is_of_this_release() -> None:
    through = _read("sizing", "engine_classes.json")["through"]
    assert isinstance(through, dict)
    recorded = {
        "record_config_keys": _read("core", "config_keys.json")["version"],
        "record_engine_classes": through["version"],
    }
    older = {name: version for name, version in recorded.items() if version != TRANSFORMERS}
    assert not older, (
        f"recorded from another release than {TRANSFORMERS}: {older}. "
        "Run `python -m tests.oracle record config-keys` and `engine-classes`"
    )


def test_documents_name_this_release() -> None:
    text = (ROOT / "docs" / "memory.md").read_text()
    named = set(NAMED.findall(text))
    assert named == {TRANSFORMERS_RUN_SERIES}, "docs/memory.md names another release"


def test_code_takes_the_release_from_the_constant() -> None:
    series = "|".join(
        re.escape(release.rpartition(".")[0]) for release in (TRANSFORMERS, TRANSFORMERS_RUN)
    )
    literal = re.compile(rf"(?<![\d.])(?:{series})\b")
    own = PACKAGE / "core" / "library_versions.py"
    written = [
        str(path.relative_to(ROOT))
        for room in (PACKAGE, ROOT / "tests")
        for path in sorted(room.rglob("*.py"))
        if path != own and literal.search(path.read_text())
    ]
    assert not written, "take it from hfinspect/core/library_versions.py instead"
