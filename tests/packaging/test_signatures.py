"""Public names stay as they are, or somebody has looked at the difference."""

from __future__ import annotations

from .signatures import FILE, lines


def test_public_names_are_those_that_are_written_down() -> None:
    """``python -m tests.packaging.signatures`` writes them; CHANGELOG.md says what changed."""
    assert lines() == FILE.read_text(encoding="utf-8").splitlines()
