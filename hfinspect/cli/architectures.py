"""``hfinspect architectures``: what the catalog knows."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def register(app: typer.Typer) -> None:
    app.command("architectures", epilog="Example: hfinspect architectures qwen")(architectures)


def architectures(
    search: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="Only what contains this text.")
    ] = None,
    format_: options.Format = "table",
    output: options.Output = None,
) -> None:
    """The model types and classes whose tensors are known from config.json alone."""
    from ..reports.model_types import lay_out, to_dict
    from ..trees.catalog import families
    from .output import emit

    wanted = (search or "").lower()
    found = [
        family
        for family in families()
        if any(wanted in name.lower() for name in (*family.model_types, *family.classes))
    ]
    emit(format_, lambda: lay_out(found), lambda: to_dict(found), output)
