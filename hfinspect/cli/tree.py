"""``hfinspect tree MODEL``: the structure that print(model) shows."""

from __future__ import annotations

import typer

from . import options


def register(app: typer.Typer) -> None:
    app.command("tree", epilog="Example: hfinspect tree fixtures/models/bloom-1b4-zh")(tree)


def tree(
    model: options.Model,
    revision: options.Revision = None,
    set_: options.Set = None,
    output: options.Output = None,
    token: options.Token = None,
) -> None:
    """The module structure with shapes, from config.json alone, without torch."""
    from .. import api
    from ..architectures.structure import render
    from ..core.overrides import parse_overrides
    from .output import write

    prediction, _ = api.predict_target(
        model, revision=revision, token=token, overrides=parse_overrides(set_ or ())
    )
    write(render(prediction.root), output)
