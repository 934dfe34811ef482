"""The folder that mkdocs reads: the documents, and the pages that are made of the code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from hfinspect.web.assemble import assemble

from ..cli.program import ROOT
from . import gallery, reference

_SOURCE = "https://github.com/hfinspect/hfinspect/blob/main/"
#: A link of Markdown with a relative target, and what follows ``#`` in it.
_LINK = re.compile(r"(?P<head>\]\()(?P<target>[^)#:\s]+)(?P<rest>#[^)\s]*)?\)")


def stage(folder: Path, pyodide: Path | None = None) -> Path:
    """Write everything below ``folder``; returns the configuration of mkdocs."""
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("mkdocs.yml", "models.json"))
    for page in docs.rglob("*.md"):
        where = (ROOT / "docs" / page.relative_to(docs)).parent
        page.write_text(with_links(page.read_text(), where))
    reference.write(docs / "reference")
    gallery.write(docs / "gallery")
    if pyodide is not None:
        assemble(docs / "app", pyodide)
        for page in (docs / "app").rglob("*.md"):  # about hosting; not pages of the site
            page.unlink()
        embed(docs / "browser.md")
    config = folder / "mkdocs.yml"
    shutil.copy(ROOT / "docs" / "mkdocs.yml", config)
    return config


def embed(page: Path) -> None:
    """The app itself below the page's title."""
    title, _, rest = page.read_text().partition("\n")
    frame = (
        '<iframe src="app/index.html" title="hfinspect in your browser" loading="lazy" '
        'style="width:100%;height:70vh;border:1px solid #8886"></iframe>\n\n'
        '<a href="app/index.html" target="_blank">Open it in a tab of its own</a>'
    )
    page.write_text(f"{title}\n\n{frame}\n{rest}")


def with_links(text: str, where: Path) -> str:
    """Links that leave ``docs/`` lead to the repository; all others stay as they are."""

    def led(match: re.Match[str]) -> str:
        path = (where / match["target"]).resolve()
        if path.is_relative_to(ROOT / "docs") or not path.exists():
            return match[0]
        return f"{match['head']}{_SOURCE}{path.relative_to(ROOT)}{match['rest'] or ''})"

    return _LINK.sub(led, text)
