"""``hfinspect tensors MODEL``: every tensor."""

from typing import Annotated

import typer

from ..core.choices import TENSOR_SORTS, checked, listed
from ..core.read_fields import ModelReading
from . import options
from .option_groups import arguments_of, grouped


def register(app: typer.Typer) -> None:
    app.command(
        "tensors", epilog="Example: hfinspect tensors openai-community/gpt2 --match 'h.0.*'"
    )(tensors)


@grouped
def tensors(
    model: options.Model,
    match: Annotated[
        str | None,
        typer.Option("--match", metavar="GLOB", help="List only the tensors whose name matches."),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            help=f"Sort by {listed(TENSOR_SORTS)}. Default: the order in the files.",
            autocompletion=lambda: list(TENSOR_SORTS),
        ),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Show only the first N rows.")] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Show one row per tensor. By default, a terminal shows equal tensors of all "
            "layers in "
            "one row.",
        ),
    ] = False,
    *,
    reading: ModelReading,
    format_: options.Format = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """List every tensor with its shape, dtype and file."""
    from dataclasses import replace
    from fnmatch import fnmatchcase

    from .. import api
    from ..core.overrides import titled
    from ..reports.headline import summary
    from ..reports.tensor_list import in_order, lay_out
    from .output import checked_format, emit, is_terminal
    from .reading_line import reading_line

    checked_format(format_)
    if sort is not None:
        checked("--sort", sort, TENSOR_SORTS)
    with reading_line(model, revision=reading.revision) as progress:
        inspection = api.inspect(
            model, **arguments_of(reading), **access.arguments(), progress=progress
        )
    on_screen = (format_ == "table" and output is None and is_terminal()) or format_ == "html"
    fold = on_screen and not every
    matching = [t for t in inspection.tensors if match is None or fnmatchcase(t.name, match)]
    chosen = in_order(matching, sort)[: None if fold else top]
    emit(
        format_,
        lambda: lay_out(
            titled(inspection.origin.name, inspection.overrides),
            chosen,
            fold=fold,
            sort=sort,
            top=top,
            summary=summary(inspection),
            changed=inspection.overrides,
            assumed=inspection.assumed.text(inspection.parameters or 0)
            if inspection.assumed
            else "",
        ),
        lambda: replace(inspection, tensors=chosen).to_dict(tensors=True),
        output,
    )
