"""``hfinspect MODEL``: what is inside."""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.choices import GROUPS, checked, listed
from ..errors import UsageError
from . import options


def register(app: typer.Typer) -> None:
    app.command("inspect", epilog="Example: hfinspect openai-community/gpt2 --by layer")(inspect)


def inspect(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="org/name, org/name@revision, hf:// or Hub URL, directory, weight file or "
            "config.json. Several are compared side by side.",
            show_default=False,
        ),
    ],
    revision: options.Revision = None,
    source: options.Source = "auto",
    by: Annotated[
        str,
        typer.Option(help=f"{listed(GROUPS)}.", autocompletion=lambda: list(GROUPS)),
    ] = "component",
    set_: options.Set = None,
    file: options.File = None,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
) -> None:
    """Parameters, dtypes and memory of a model, from headers or config.json alone."""
    if len(models) > 1:
        from .compare import show

        if revision or by != "component" or set_ or file:
            raise UsageError(
                "--revision, --by, --set and --file", "are for one model, and several were given",
                hint="a revision goes with its model: org/name@revision",
            )  # fmt: skip
        show(models, source, format_, output, token, timeout)
        return
    from .. import api
    from ..analysis.count import GROUPINGS, grouped, per_layer
    from ..core.overrides import parse_overrides
    from ..reports.overview import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    checked("--by", by, GROUPS)
    with reading_line(models[0], revision=revision) as progress:
        found = api.inspect(
            models[0],
            revision=revision,
            source=source,  # type: ignore[arg-type]  # api checks it
            token=token,
            file=file,
            overrides=parse_overrides(set_ or ()),
            timeout=timeout,
            progress=progress,
        )
    groups = found.components if by == "component" else grouped(found.tensors, GROUPINGS[by])
    emit(
        format_,
        lambda: lay_out(found, by=by, groups=groups, layers=per_layer(found.tensors)),
        lambda: found.to_dict(),
        output,
    )
