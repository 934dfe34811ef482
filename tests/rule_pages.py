"""A page for each rule of the audit, at an address that stays: ``docs/rules/HI203.md``.

``python -m tests.rule_pages`` writes them.
"""

from __future__ import annotations

from pathlib import Path

from hfinspect.auditing.registry import Rule, rules

FOLDER = Path(__file__).parents[1] / "docs" / "rules"


def pages() -> dict[str, str]:
    """File name -> text."""
    return {f"{rule.code}.md": _page(rule) for rule in rules().values()}


def _page(rule: Rule) -> str:
    deep = ", with `--deep` only" if rule.deep else ""
    return (
        f"# {rule.code} {rule.name}\n\n"
        f"Severity: {rule.severity}{deep}. {rule.what}\n\n"
        f"**Why it matters.** {rule.why}\n\n"
        f"**How to fix it.** {rule.fix}\n\n"
        f"Leave it out with `hfinspect audit --ignore {rule.code}`, or in pyproject.toml with "
        f'`[tool.hfinspect]` and `ignore = ["{rule.code}"]`. [All rules](../audit-rules.md)\n'
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
