"""``hfinspect explain MODEL``: where every parameter comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.choices import DEPTHS, ENGINES, checked, listed
from ..errors import UsageError
from . import options
from .kept_headers import kept_headers

if TYPE_CHECKING:
    from ..core.explanation import Explanation
    from ..reports.document import Document

FORMATS = ("table", "markdown", "latex", "json", "html")


def register(app: typer.Typer) -> None:
    app.command(
        "explain",
        epilog="Example: hfinspect explain google-bert/bert-base-uncased; or hfinspect explain "
        "Qwen/Qwen3-8B --cache",
    )(explain)


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
    of_cache: Annotated[
        bool, typer.Option("--cache", help="Derive what is kept between tokens instead.")
    ] = False,
    context: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS", help="With --cache: 4096, 32k.", show_default="the model's own"
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="With --cache: sequences at once.")] = 1,
    engine: Annotated[
        str,
        typer.Option(
            help=f"With --cache: {', '.join(ENGINES)}.", autocompletion=lambda: list(ENGINES)
        ),
    ] = "logical",
    kv_dtype: Annotated[
        str | None, typer.Option(metavar="DTYPE", help="With --cache: bf16, fp8, q8_0.")
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
    from ..core.cache_derivation import CacheDerivation
    from ..core.overrides import parse_overrides
    from ..reports import cache_derived, explained
    from ..reports.registry import render
    from .output import FILE, canvas_of_stdout, checked_format, command_line, write
    from .reading_line import reading_line

    checked_format(format_, FORMATS)
    if depth is not None:
        checked("--depth", depth, DEPTHS)
    if of_cache and (depth is not None or against is not None):
        raise UsageError("--cache", "goes without --depth and --against")
    if not of_cache and (context, batch, engine, kv_dtype) != (None, 1, "logical", None):
        raise UsageError("context, batch, engine and kv-dtype", "are of --cache alone")
    reached: dict[str, Any] = {
        "overrides": parse_overrides(set_ or ()), "revision": revision, "source": source,
        "token": token, "file": file, "timeout": timeout,
        "cache": kept_headers(no_cache=no_cache, refresh=refresh),
    }  # fmt: skip
    found: Explanation | CacheDerivation
    with reading_line(model, revision=revision) as progress:
        if of_cache:
            found = api.explain_cache(
                model, context=context, batch=batch, engine=engine, cache_dtype=kv_dtype,
                progress=progress, **reached,
            )  # fmt: skip
        else:
            found = api.explain(model, against=against, progress=progress, **reached)
    canvas = canvas_of_stdout() if output is None else FILE

    def document() -> Document:
        if isinstance(found, CacheDerivation):
            laid_out = cache_derived.lay_out(found)
        else:
            laid_out = explained.lay_out(found, depth=depth, drawn=format_ == "html")  # type: ignore[arg-type]
        plain = format_ == "table" and not canvas.unicode
        return explained.in_ascii(laid_out) if plain else laid_out

    write(render(format_, document, found.to_dict, canvas, command_line), output)
