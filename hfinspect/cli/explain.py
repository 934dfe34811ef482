"""``hfinspect explain MODEL``: where every parameter comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.choices import DEPTHS, ENGINES, checked, listed
from ..errors import UsageError
from ..reports.registry import OF_FORMULAS
from . import options
from .kept_headers import kept_headers
from .option_groups import flag_of_memory

if TYPE_CHECKING:
    from ..core.explanation import Explanation
    from ..reports.document import Document


def register(app: typer.Typer) -> None:
    app.command(
        "explain",
        epilog="Example: hfinspect explain google-bert/bert-base-uncased; or hfinspect explain "
        "Qwen/Qwen3-8B --cache",
    )(explain)


def explain(
    ctx: typer.Context,
    model: options.Model,
    depth: Annotated[
        str | None,
        typer.Option(
            help=f"Level of detail: {listed(DEPTHS)}. Default: layer, or model if there are more "
            "than "
            "three kinds of layers.",
            autocompletion=lambda: list(DEPTHS),
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="N", help="Explain why this count differs: 115,740,736 or 124M."),
    ] = None,
    of_cache: Annotated[
        bool, typer.Option("--cache", help="Derive the KV cache instead of the parameters.")
    ] = False,
    context: Annotated[
        str | None,
        flag_of_memory(
            "context", "With --cache: context length, 4096 or 32k. Default: the model's own."
        ),
    ] = None,
    batch: Annotated[int, flag_of_memory("batch", "With --cache: number of sequences.")] = 1,
    engine: Annotated[
        str, flag_of_memory("engine", f"With --cache: inference engine: {', '.join(ENGINES)}.")
    ] = "logical",
    kv_dtype: Annotated[
        str | None,
        flag_of_memory(
            "cache_dtype", "With --cache: dtype of the cache, such as bf16, fp8 or q8_0."
        ),
    ] = None,
    revision: options.Revision = None,
    source: options.Source = "auto",
    set_: options.Set = None,
    file: options.File = None,
    format_: Annotated[str, options.format_option(OF_FORMULAS)] = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Derive the parameter count line by line."""
    from .. import api
    from ..core.cache_derivation import CacheDerivation
    from ..core.overrides import parse_overrides
    from ..reports import cache_derived, explained
    from ..reports.registry import render
    from .output import FILE, canvas_of_stdout, checked_format, command_line, write
    from .reading_line import reading_line

    checked_format(format_, OF_FORMULAS)
    if depth is not None:
        checked("--depth", depth, DEPTHS)
    if of_cache and (depth is not None or against is not None):
        raise UsageError("--cache", "cannot be combined with --depth or --against")
    if not of_cache and (context, batch, engine, kv_dtype) != (None, 1, "logical", None):
        raise UsageError("--context, --batch, --engine and --kv-dtype", "need --cache")
    reached: dict[str, Any] = {
        "overrides": parse_overrides(set_ or ()),
        "revision": revision,
        "source": source,
        "token": token,
        "session": ctx.obj,  # the model may be open already
        "file": file,
        "timeout": timeout,
        "cache": kept_headers(no_cache=no_cache, refresh=refresh),
    }
    found: Explanation | CacheDerivation
    with reading_line(model, revision=revision) as progress:
        if of_cache:
            found = api.explain_cache(
                model,
                context=context,
                batch=batch,
                engine=engine,
                cache_dtype=kv_dtype,
                progress=progress,
                **reached,
            )
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
