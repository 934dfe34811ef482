"""``hfinspect architectures``: what the catalog knows."""

from typing import Annotated

import typer

from . import options


def register(app: typer.Typer) -> None:
    app.command("architectures", epilog="Example: hfinspect architectures qwen")(architectures)


def architectures(
    search: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="List only names that contain this text.")
    ] = None,
    format_: options.Format = "table",
    output: options.Output = None,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """List the model types that config.json alone describes.

    Exit code 5 if no name contains TEXT.
    """
    from ..reports.model_types import Architectures, lay_out
    from ..trees.catalog import families, nothing_like
    from .output import emit

    text = (search or "").lower()
    matching = [
        family
        for family in families()
        if any(text in name.lower() for name in (*family.model_types, *family.classes))
    ]
    if not matching:
        raise nothing_like(text)
    emit(format_, lambda: lay_out(matching, text), Architectures(matching).to_dict, output)
