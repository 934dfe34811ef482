"""``hfinspect cache info|clear``: headers kept by scans."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from . import options


def register(app: typer.Typer) -> None:
    app.command("cache", epilog="Example: hfinspect cache info")(cache)


def directory() -> str:
    """HFINSPECT_CACHE, or the platform's cache directory."""
    from platformdirs import user_cache_dir

    return os.environ.get("HFINSPECT_CACHE") or user_cache_dir("hfinspect", appauthor=False)


def cache(
    action: Annotated[
        str, typer.Argument(metavar="info|clear", autocompletion=lambda: ["info", "clear"])
    ],
    format_: options.Format = "table",
) -> None:
    """Show or empty the cache of headers that scans keep on this machine."""
    from ..core.text import byte_size
    from ..errors import UsageError
    from ..reports.document import Document, Facts
    from ..sources.header_cache import HeaderCache
    from .output import emit

    if action not in ("info", "clear"):
        raise UsageError(f"cache {action}", "is unknown", expected="info or clear")
    kept = HeaderCache(directory())
    found = kept.clear() if action == "clear" else kept.info()
    verb = "deleted" if action == "clear" else "holds"
    facts = Facts(
        (
            ("cache", found.path),
            (verb, f"{found.entries:,} entries, {byte_size(found.nbytes)}"),
            ("limit", byte_size(found.max_bytes)),
        )
    )
    emit(
        format_,
        lambda: Document("", (facts,)),
        lambda: {"path": found.path, "action": action, "entries": found.entries,
                 "nbytes": found.nbytes, "max_bytes": found.max_bytes},
        None,
    )  # fmt: skip
