"""Which models ``hfinspect scan`` is about: a list, a directory, or what the Hub lists."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from ..core.records import dataclass
from ..errors import UsageError
from ..scanning import targets
from ..scanning.engine import ScanOptions, shared
from ..scanning.row_work import Item
from ..sources.hub.search import BEGIN, ListPlace


@dataclass(frozen=True)
class HubQuery:
    """What to list: options of the Hub's own list."""

    author: str | None = None
    search: str | None = None
    filters: tuple[str, ...] = ()
    sort: str | None = None

    def __bool__(self) -> bool:
        return bool(self.author or self.search or self.filters or self.sort)


@dataclass(frozen=True)
class NamedTargets:
    """Targets of which the names can be read again and again, as they are needed: a list file of a
    million lines is never held."""

    names: Callable[[], Iterable[str]]
    limit: int | None = None

    def __iter__(self) -> Iterator[Item]:
        return (Item(name) for name in islice(self.names(), self.limit))


def named_targets(text: str | None, recursive: bool, limit: int | None) -> NamedTargets:
    """The targets of a list file, of standard input, or below a directory."""
    if text is None:
        raise UsageError(
            "scan", "needs a list", expected="a file, - for stdin, --author or --filter"
        )
    return NamedTargets(_names(text, recursive), limit)


def _names(text: str, recursive: bool) -> Callable[[], Iterable[str]]:
    path = Path(text).expanduser()
    if recursive:
        below = list(targets.below(path))
        return lambda: below
    if text == "-":
        typed = list(targets.from_stream(sys.stdin, "standard input"))
        return lambda: typed
    if os.path.isdir(path):  # noqa: PTH112 - which is False where nobody may look
        raise UsageError(
            text,
            "is a directory",
            expected="a text file",
            hint="--recursive scans every checkpoint below it",
        )
    if not os.path.isfile(path):  # noqa: PTH113 - as above; a pipe is read once
        piped = list(targets.from_file(path))
        return lambda: piped
    return partial(targets.from_file, path)


def hub_targets(
    options: ScanOptions,
    query: HubQuery,
    limit: int | None,
    expand: Sequence[str],
    begin: ListPlace = BEGIN,
) -> Iterator[Item]:
    """The Hub's own list, one request per page, made when it is needed."""
    from ..sources.hub.search import checked_sort, list_models

    order = None if query.sort is None else checked_sort(query.sort)
    client, _ = shared(options)
    models = list_models(
        client,
        author=query.author,
        search=query.search,
        filters=query.filters,
        sort=order,
        limit=limit,
        expand=tuple(expand),
        timeout=options.timeout,
        begin=begin,
    )
    return (Item(model.repo_id, model) for model in models)
