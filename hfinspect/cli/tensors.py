"""``hfinspect tensors MODEL``: every tensor."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def register(app: typer.Typer) -> None:
    app.command(
        "tensors", epilog="Example: hfinspect tensors openai-community/gpt2 --match 'h.0.*'"
    )(tensors)


def tensors(
    model: options.Model,
    match: Annotated[
        str | None, typer.Option("--match", metavar="GLOB", help="Only names that match.")
    ] = None,
    revision: options.Revision = None,
    source: Annotated[str, typer.Option(help="auto, checkpoint or config.")] = "auto",
    set_: options.Set = None,
    file: options.File = None,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
) -> None:
    """Every tensor: name, shape, dtype, parameters, component, layer, file."""
    from dataclasses import replace
    from fnmatch import fnmatchcase

    from .. import api
    from ..core.overrides import parse_overrides, titled
    from ..reports.tensor_list import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line() as progress:
        found = api.inspect(
            model,
            revision=revision,
            source=source,  # type: ignore[arg-type]  # api checks it
            token=token,
            file=file,
            overrides=parse_overrides(set_ or ()),
            timeout=timeout,
            progress=progress,
        )
    chosen = tuple(t for t in found.tensors if match is None or fnmatchcase(t.name, match))
    emit(
        format_,
        lambda: lay_out(titled(found.origin.name, found.overrides), chosen),
        lambda: replace(found, tensors=chosen).to_dict(tensors=True),
        output,
    )
