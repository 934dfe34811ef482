"""What will be read first of a plain model, known from its file list alone."""

from collections.abc import Mapping
from functools import partial

from ..sources.prefetch import Front, PlannedRead, PrefetchedSource, Ready, Whole
from ..sources.source import HEADER, FileEntry, ParsedCache, Source
from .json_files import MAX_CONFIG_BYTES


def with_prefetch(source: Source, *, weights: bool = True) -> PrefetchedSource:
    """The source, whose first reads are under way: those that ``read_model`` does. With
    ``weights=False`` none of a weight file."""
    is_main = source.origin.revision in (None, "main")
    plan = partial(
        prefetch_plan, weights=weights, is_main=is_main, parsed_cache=source.parsed_cache
    )
    under_way = PrefetchedSource(source, plan)
    from . import choose, repo_layout  # noqa: F401 - what the list is judged with, meanwhile

    return under_way


def prefetch_plan(
    files: Mapping[str, FileEntry],
    *,
    weights: bool,
    is_main: bool,
    parsed_cache: ParsedCache | None = None,
) -> list[PlannedRead]:
    """config.json; and of a model in safetensors that is not kept the front of its only file, or
    the headers of all its shards, which the server has ready of main."""
    from ..formats.safetensors.safetensors import DEFAULT_FIRST_GUESS
    from .cached_shards import are_cached
    from .choose import choose
    from .repo_layout import Layout, layout_of

    reads: list[PlannedRead] = (
        [Whole("config.json", MAX_CONFIG_BYTES)] if "config.json" in files else []
    )
    if not weights or layout_of(files) is not Layout.SINGLE:
        return reads
    choice = choose(files)
    if choice is None or choice.format != "safetensors":
        return reads
    if choice.index is not None:
        if is_main and (parsed_cache is None or not are_cached(parsed_cache, choice.index)):
            reads.append(Ready(choice.index))
    elif len(choice.files) == 1:
        [path] = choice.files
        known = parsed_cache is not None and parsed_cache.load_parsed(path, HEADER) is not None
        if "/" not in path and not known:
            reads.append(Front(path, DEFAULT_FIRST_GUESS))
    return reads
