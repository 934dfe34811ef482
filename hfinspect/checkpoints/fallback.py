"""What comes next where the weights that were chosen turn out to be nothing that is read.

A file in a format that is recognised and refused (a tar archive under a .bin's name) is passed over
for the next copy next to it, and said. A damaged file is an error that names the other copy: which
of the two is the model is for the user to say.
"""

from collections.abc import Collection, Mapping
from typing import TypeAlias

from ..core.progress import Count
from ..errors import EntryNotFoundError, HfinspectError, MalformedError, UnsupportedFormatError
from ..sources.source import FileEntry, Source
from .choose import WeightChoice, choose
from .filenames import FileKind, weight_name
from .weights import Rounds, WeightReading

#: Copies that are tried one after the other; a repo has three formats in some variants.
MAX_REFUSED = 8

_Refusals: TypeAlias = tuple[UnsupportedFormatError, ...]


def rounds_of(
    source: Source,
    files: Mapping[str, FileEntry],
    choice: WeightChoice,
    scope: Mapping[str, FileEntry],
    count: Count,
    refused: _Refusals = (),
) -> Rounds:
    """The rounds of a choice, or of the next copy among ``scope`` where it is refused.

    ``refused`` are the refusals so far. Raises what the reading raises, of refusals the first.
    """
    tried = {*_paths(choice), *(error.subject for error in refused)}
    try:
        return (yield from WeightReading(source, files, choice, count, refused).rounds())
    except UnsupportedFormatError as error:
        refusals = (*refused, error)
        following = copy_beside(scope, choice, {*tried, error.subject})
        if following is None or len(refusals) == MAX_REFUSED:
            raise refusals[0] from None
        return (yield from rounds_of(source, files, following, scope, count, refusals))
    except (MalformedError, EntryNotFoundError) as error:
        _name_the_other(error, copy_beside(scope, choice, tried))
        raise


def _paths(choice: WeightChoice) -> set[str]:
    return {*choice.files, choice.index} if choice.index else set(choice.files)


def copy_beside(
    scope: Mapping[str, FileEntry], first: WeightChoice, tried: Collection[str]
) -> WeightChoice | None:
    """The best whole copy in the folder of ``first`` that was not tried; None if that was named by
    the user, or there is none."""
    name = weight_name(next(iter(first.files), first.index or ""))
    if first.picked or name is None:
        return None
    left = {path: entry for path, entry in scope.items() if path not in tried}
    inside = {path: entry for path, entry in left.items() if _folder(path) == name.directory}
    choice = choose(inside)
    if choice is None or choice.missing:
        return None
    best = weight_name(next(iter(choice.files), choice.index or ""))
    if best is None or (best.kind is FileKind.ADAPTER and name.kind is not FileKind.ADAPTER):
        return None
    everything = choose(left)
    return everything if everything and everything.files == choice.files else choice


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _name_the_other(error: HfinspectError, other: WeightChoice | None) -> None:
    if other is None:
        return
    name = other.index or other.files[0]
    hint = f"another copy is there: {name}"
    mark = " " if error.hint and error.hint.endswith("?") else "; "
    error.hint = f"{error.hint}{mark}{hint}" if error.hint else hint
    error.argument = ("file", name)
