"""``hfinspect explain MODEL``: where every parameter comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.choices import DEPTHS, checked, listed
from . import options
from .kept_headers import kept_headers

FORMATS = ("table", "markdown", "latex", "json", "html")


def register(app: typer.Typer) -> None:
    app.command("explain", epilog="Example: hfinspect explain google-bert/bert-base-uncased")(
        explain
    )


def explain(
    model: options.Model,
    depth: Annotated[
        str | None,
        typer.Option(
            help=f"{listed(DEPTHS)}.", autocompletion=lambda: list(DEPTHS),
            show_default="layer; model for more than three kinds of layers",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="N", help="Your own count, 115,740,736 or 124M: why is it another?"),
    ] = None,
    revision: options.Revision = None,
    source: options.Source = "auto",
    set_: options.Set = None,
    file: options.File = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format", "-f", help="table, markdown, latex, json or html.",
            autocompletion=lambda: list(FORMATS), callback=options.by_suffix(FORMATS),
        ),
    ] = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
) -> None:  # fmt: skip
    """Where every parameter comes from, in symbols and in numbers."""
    from .. import api
    from ..core.overrides import parse_overrides
    from ..reports.document import Document
    from ..reports.explained import in_ascii, lay_out
    from ..reports.registry import render
    from .output import FILE, canvas_of_stdout, checked_format, command_line, write
    from .reading_line import reading_line

    checked_format(format_, FORMATS)
    if depth is not None:
        checked("--depth", depth, DEPTHS)
    with reading_line(model, revision=revision) as progress:
        found = api.explain(
            model,
            overrides=parse_overrides(set_ or ()),
            against=against,
            revision=revision,
            source=source,  # type: ignore[arg-type]  # api checks it
            token=token,
            file=file,
            timeout=timeout,
            cache=kept_headers(no_cache=no_cache, refresh=refresh),
            progress=progress,
        )
    canvas = canvas_of_stdout() if output is None else FILE

    def document() -> Document:
        laid_out = lay_out(found, depth=depth, drawn=format_ == "html")  # type: ignore[arg-type]  # checked above
        return in_ascii(laid_out) if format_ == "table" and not canvas.unicode else laid_out

    write(render(format_, document, found.to_dict, canvas, command_line), output)
