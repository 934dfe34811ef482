"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..core.choices import listed
from ..core.records import dataclass
from ..errors import UsageError
from ..reports.registry import FORMATS, PICTURED
from ..sources.access_options import LoginOptions
from .cache_directory import header_cache
from .option_groups import arguments_of, flag_of

if TYPE_CHECKING:
    from ..sources.header_cache import HeaderCache

#: Ending of an --output -> the format that it means, and others that are at home in such a file.
SUFFIXES: Final = {
    ".json": ("json", "sarif", "jsonl"),
    ".jsonl": ("jsonl",),
    ".ndjson": ("jsonl",),
    ".csv": ("csv",),
    ".md": ("markdown", "card"),
    ".markdown": ("markdown",),
    ".tex": ("latex",),
    ".html": ("html",),
    ".htm": ("html",),
    ".svg": ("svg",),
    ".sarif": ("sarif",),
    ".xml": ("junit",),
    ".parquet": ("parquet",),
    ".txt": ("table", "markdown", "csv", "jsonl"),
}


#: Extensions of what hfinspect does not write; others (x.out, x.log) take any format.
FOREIGN: Final = frozenset(
    ".png .jpg .jpeg .gif .webp .bmp .ico .pdf .ps .eps .doc .docx .xls .xlsx .ppt .pptx .odt .ods "
    ".yaml .yml .toml .zip .gz .xz .zst .tar .7z .safetensors .gguf .bin .pt .pth .ckpt .onnx .py "
    ".ipynb .db .sqlite .feather .arrow".split()
)


def by_suffix(known: Sequence[str]) -> Callable[..., str | None]:
    """A callback of --format: where it is not given, the ending of --output says it.

    Raises UsageError where the two contradict each other, or the ending means what the command
    does not write (``known`` is what it does).
    """

    def chosen(ctx: typer.Context, param: typer.CallbackParam, value: str | None) -> str | None:
        given_path = ctx.params.get("output")  # a text still in older versions of typer
        output = None if given_path is None else Path(given_path)
        meant = SUFFIXES.get(output.suffix.lower(), ()) if output is not None else ()
        source: Any = ctx.get_parameter_source(param.name or "")
        is_typed = source is not None and source.name == "COMMANDLINE"
        if not meant:
            if output is not None and output.suffix.lower() in FOREIGN:
                raise _no_format_of(output, known)
            return value
        if is_typed and value in known and value not in meant:
            suffixes = [ending for ending, formats in SUFFIXES.items() if value in formats]
            raise UsageError(
                f"--format {value}",
                f"contradicts --output {output}",
                expected=f"a name that ends with {' or '.join(suffixes)}" if suffixes else None,
                hint="without --format the ending decides",
            )
        if is_typed:
            return value
        if meant[0] not in known:
            near = next((other for other in meant if other in known), None)
            hint = "or --format with it"
            if near is not None:  # a scan's rows are JSON, a document of each
                ending = next(end for end, formats in SUFFIXES.items() if formats[0] == near)
                hint = f"a name that ends with {ending}, or --format {near} with this one"
            raise UsageError(
                f"--output {output}",
                f"means {meant[0]}, which {ctx.info_name} does not write",
                expected=f"a name for one of {', '.join(known)}",
                hint=hint,
            )
        return meant[0]

    return chosen


#: Ending of another format -> the one that serves the same purpose.
_INSTEAD: Final = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp"), ".svg"),
    ".pdf": ".html",
    ".xlsx": ".csv",
}


def _no_format_of(output: Path, known: Sequence[str]) -> UsageError:
    """Of an extension of another format: a table in ``z.png`` helps nobody."""
    suffixes = [end for end, formats in SUFFIXES.items() if formats[0] in known]
    near = _INSTEAD.get(output.suffix.lower())
    return UsageError(
        f"--output {output}",
        f"hfinspect does not write {output.suffix} files",
        expected=f"a name that ends with {', '.join(suffixes)}",
        hint=f"did you mean {output.with_suffix(near)}?" if near and near in suffixes else None,
    )


_MODEL = "org/name, org/name@revision, hf:// or Hub URL, directory, weight file or config.json."
Model = Annotated[str, typer.Argument(metavar="MODEL", help=_MODEL, show_default=False)]
#: Of a command that compares several.
MODELS: Final = typer.Argument(
    metavar="MODEL...",
    help=f"{_MODEL} Two or more models are compared side by side.",
    show_default=False,
)
TokenFlag = Annotated[str | None, flag_of(LoginOptions, "token")]


def format_option(known: Sequence[str], more: str = "") -> Any:
    """``--format`` of a command that writes ``known``, with ``more`` at the end of its help."""
    return typer.Option(
        "--format",
        "-f",
        help=f"{listed(known)}. --output's extension also sets it.{more}",
        autocompletion=lambda: list(known),
        callback=by_suffix(known),
    )


Format = Annotated[str, format_option(tuple(FORMATS))]
#: That of a command without --output.
PlainFormat = Annotated[
    str,
    typer.Option(
        "--format", "-f", help=f"{listed(tuple(FORMATS))}.", autocompletion=lambda: list(FORMATS)
    ),
]
#: That of inspect.
PicturedFormat = Annotated[str, format_option(PICTURED)]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write to this file; its extension sets the format (x.json, x.html).",
        show_default=False,
        is_eager=True,
    ),
]
#: A scan's: it writes no JSON document but a line for each row. A text, for a path has no slash at
#: its end.
RowsOutput = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATH",
        help="Write to this file; its extension sets the format (x.jsonl, x.csv). A folder "
        "(models/) gets parts of Parquet.",
        show_default=False,
        is_eager=True,
    ),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Do not read or write the local cache of headers.")
]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Ignore cached headers and read them again.")
]


def _silenced(value: bool) -> bool:
    from . import reading_line

    reading_line.QUIET = value
    return value


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Do not show progress on stderr.", callback=_silenced)
]


@dataclass(frozen=True, kw_only=True)
class HeaderFlags:
    """Which headers are kept on this machine, and what is shown while they are read."""

    no_cache: NoCache = False
    refresh: Refresh = False
    quiet: Quiet = False  # its callback heeds it

    @property
    def cache(self) -> HeaderCache | None:
        return header_cache(no_cache=self.no_cache, refresh=self.refresh)


@dataclass(frozen=True, kw_only=True)
class AccessFlags(HeaderFlags, LoginOptions):
    """How a model is reached, and what of it is shown meanwhile."""

    def arguments(self) -> dict[str, Any]:
        """As arguments of a verb."""
        return {**arguments_of(self), "cache": self.cache}
