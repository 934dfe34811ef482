"""``hfinspect MODEL``: what is inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.choices import GROUPS, listed
from ..errors import UsageError
from . import options
from .kept_headers import kept_headers


def register(app: typer.Typer) -> None:
    app.command(
        "inspect",
        epilog="Example: hfinspect openai-community/gpt2 --by layer, or --output gpt2.html",
    )(inspect)


def inspect(
    ctx: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="org/name, org/name@revision, hf:// or Hub URL, directory, weight file or "
            "config.json. Two or more models are compared side by side.",
            show_default=False,
        ),
    ],
    revision: options.Revision = None,
    source: options.Source = "auto",
    by: Annotated[
        str,
        typer.Option(help=f"Group by {listed(GROUPS)}.", autocompletion=lambda: list(GROUPS)),
    ] = "component",
    set_: options.Set = None,
    file: options.File = None,
    format_: options.PicturedFormat = "table",
    output: options.Output = None,
    update: Annotated[
        Path | None,
        typer.Option(
            metavar="README.md",
            help="Write the model card section into this file, and a picture next to it.",
            show_default=False,
        ),
    ] = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Count parameters, dtypes and memory from headers or config.json."""
    kept = kept_headers(no_cache=no_cache, refresh=refresh)
    if len(models) > 1:
        from .compare import show

        if revision or by != "component" or set_ or file or update:
            raise UsageError(
                "--revision, --by, --set, --file and --update",
                "need one model, but several were given",
                hint="write the revision with its model: org/name@revision",
            )
        show(models, source, format_, output, token, timeout, kept)
        return
    from .shown_model import show_model

    show_model(
        models[0],
        revision=revision,
        source=source,
        by=by,
        set_=set_,
        file=file,
        format_=format_,
        output=output,
        update=update,
        token=token,
        timeout=timeout,
        kept=kept,
        session=ctx.obj,  # the model may be open already
    )
    return
