"""``hfinspect MODEL``: what is inside."""

from pathlib import Path
from typing import Annotated

import typer

from ..core.choices import GROUPS, listed
from ..core.read_fields import AtRevision, FromSource, OneFile, WithOverrides
from ..core.records import dataclass
from ..errors import UsageError
from . import options
from .option_groups import arguments_of, grouped


def register(app: typer.Typer) -> None:
    app.command(
        "inspect",
        epilog="Example: hfinspect openai-community/gpt2 --by layer, or --output gpt2.html",
    )(inspect)


@dataclass(frozen=True, kw_only=True)
class ReadAs(FromSource, AtRevision):
    """What is read of a model."""


@dataclass(frozen=True, kw_only=True)
class ChangedPart(OneFile, WithOverrides):
    """Which part of it, and with which changes."""


@grouped
def inspect(
    ctx: typer.Context,
    models: Annotated[list[str], options.MODELS],
    *,
    reading: ReadAs,
    by: Annotated[
        str, typer.Option(help=f"Group by {listed(GROUPS)}.", autocompletion=lambda: list(GROUPS))
    ] = "component",
    part: ChangedPart,
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
    access: options.AccessFlags,
) -> None:
    """Count parameters, dtypes and memory from headers or config.json."""
    if len(models) > 1:
        from .compare import show

        if reading.revision or by != "component" or part != ChangedPart(overrides={}) or update:
            raise UsageError(
                "--revision, --by, --set, --file and --update",
                "need one model, but several were given",
                hint="write the revision with its model: org/name@revision",
            )
        show(models, {**access.arguments(), "source": reading.source}, format_, output)
        return
    from .shown_model import show_model

    # The model may be open already.
    reads = {**arguments_of(reading, part), **access.arguments(), "session": ctx.obj}
    show_model(models[0], reads, by=by, format_=format_, output=output, update=update)
