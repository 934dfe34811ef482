"""``hfinspect cache info|clear``: headers kept on this machine."""

import sys
from typing import Annotated

import typer

from ..core.json_form import JsonForm
from ..core.records import dataclass
from ..sources.header_cache import CacheInfo, HeaderCache
from . import options
from .cache_directory import directory


@dataclass(frozen=True)
class KeptHeaders(JsonForm, flat="info", after={"action": "path"}):
    """The cache of headers, and what was done with it.

    Fields:
        info: where it is and how full
        action: ``info``, ``clear``, or ``kept`` where nobody confirmed that it be cleared
    """

    info: CacheInfo
    action: str


def register(app: typer.Typer) -> None:
    app.command("cache", epilog="Example: hfinspect cache info")(cache)


def _confirmed(info: CacheInfo) -> bool:
    """The answer of who sits at the terminal; an empty cache needs none.

    Raises UsageError where there is none.
    """
    from ..core.text import byte_size
    from ..errors import UsageError

    what = f"{info.entries:,} entries, {byte_size(info.nbytes)}, in {info.path}"
    if not info.entries:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "cache clear",
            f"would delete {what}; no terminal is there to confirm it",
            hint="--yes deletes without asking",
        )
    return typer.confirm(f"delete {what}?", err=True)


def cache(
    action: Annotated[
        str,
        typer.Argument(
            metavar="info|clear",
            help="Show the cache, or delete it.",
            autocompletion=lambda: ["info", "clear"],
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without confirmation.")] = False,
    format_: options.PlainFormat = "table",
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Show or clear the local cache of headers.

    clear needs a confirmation on a terminal, or --yes.
    """
    from ..core.text import byte_size
    from ..errors import UsageError
    from ..reports.document import Document, Facts
    from .output import emit

    if action not in ("info", "clear"):
        raise UsageError(f"cache {action}", "is unknown", expected="info or clear")
    headers = HeaderCache(directory())
    if action == "clear" and not yes and not _confirmed(headers.info()):
        action = "kept"
    info = headers.clear() if action == "clear" else headers.info()
    verb = {"clear": "deleted", "kept": "not deleted"}.get(action, "holds")
    facts = Facts(
        (
            ("cache", info.path),
            (verb, f"{info.entries:,} entries, {byte_size(info.nbytes)}"),
            ("limit", byte_size(info.max_bytes)),
        )
    )
    emit(
        format_,
        lambda: Document("", (facts,)),
        KeptHeaders(info, action).to_dict,
        None,
    )
