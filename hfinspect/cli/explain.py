"""``hfinspect explain MODEL``: where every parameter comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.choices import DEPTHS, checked, listed
from ..core.memory_options import CacheOptions
from ..core.option_field import same_option
from ..core.read_fields import ModelReading
from ..core.records import dataclass
from ..errors import UsageError
from ..reports.registry import OF_FORMULAS
from . import options
from .option_groups import arguments_of, grouped

if TYPE_CHECKING:
    from ..core.explanation import Explanation
    from ..reports.document import Document


def register(app: typer.Typer) -> None:
    app.command(
        "explain",
        epilog="Example: hfinspect explain google-bert/bert-base-uncased; or hfinspect explain "
        "Qwen/Qwen3-8B --cache",
    )(explain)


@dataclass(frozen=True, kw_only=True)
class CacheFlags:
    """What the cache that is derived depends on."""

    context: int | str | None = same_option(
        CacheOptions,
        "context",
        "With --cache: context length, 4096 or 32k. Default: the model's own.",
    )
    batch: int = same_option(CacheOptions, "batch", when="With --cache")
    engine: str = same_option(CacheOptions, "engine", when="With --cache")
    cache_dtype: str | None = same_option(CacheOptions, "cache_dtype", when="With --cache")


@grouped
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
    *,
    cache: CacheFlags,
    reading: ModelReading,
    format_: Annotated[str, options.format_option(OF_FORMULAS)] = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """Derive the parameter count line by line."""
    from .. import api
    from ..core.cache_derivation import CacheDerivation
    from ..reports import cache_derived, explained
    from ..reports.registry import render
    from .output import FILE, canvas_of_stdout, checked_format, command_line, write
    from .reading_line import reading_line

    checked_format(format_, OF_FORMULAS)
    if depth is not None:
        checked("--depth", depth, DEPTHS)
    if of_cache and (depth is not None or against is not None):
        raise UsageError("--cache", "cannot be combined with --depth or --against")
    if not of_cache and cache != CacheFlags():
        raise UsageError("--context, --batch, --engine and --kv-dtype", "need --cache")
    # The model may be open already.
    reads: dict[str, Any] = {**arguments_of(reading), **access.arguments(), "session": ctx.obj}
    explanation: Explanation | CacheDerivation
    with reading_line(model, revision=reading.revision) as progress:
        if of_cache:
            explanation = api.explain_cache(
                model, **arguments_of(cache), **reads, progress=progress
            )
        else:
            explanation = api.explain(model, against=against, **reads, progress=progress)
    canvas = canvas_of_stdout() if output is None else FILE

    def document() -> Document:
        if isinstance(explanation, CacheDerivation):
            laid_out = cache_derived.lay_out(explanation)
        else:
            laid_out = explained.lay_out(explanation, depth=depth, drawn=format_ == "html")  # type: ignore[arg-type]
        plain = format_ == "table" and not canvas.unicode
        return explained.in_ascii(laid_out) if plain else laid_out

    write(render(format_, document, explanation.to_dict, canvas, command_line), output)
