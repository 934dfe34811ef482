"""``hfinspect tree MODEL``: the structure that print(model) shows."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options
from .kept_headers import kept_headers


def register(app: typer.Typer) -> None:
    app.command("tree", epilog="Example: hfinspect tree openai-community/gpt2 --depth 3")(tree)


def tree(
    model: options.Model,
    revision: options.Revision = None,
    set_: options.Set = None,
    file: options.File = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=0, help="Number of levels to show; 0 is the model.")
    ] = None,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Show the module tree with shapes and parameters."""
    from .. import api
    from ..core.overrides import parse_overrides, titled
    from ..errors import HfinspectError
    from ..reports.module_tree import PartTree, lay_out, to_dict
    from ..trees.structure import outline
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(model, revision=revision, what="config.json"):
        found, origin = api.predict_parts(
            model,
            revision=revision,
            token=token,
            overrides=parse_overrides(set_ or ()),
            file=file,
            timeout=timeout,
            cache=kept_headers(no_cache=no_cache, refresh=refresh),
        )
    parts = [
        PartTree(part.name, part.declared, problem=str(part.found))
        if isinstance(part.found, HfinspectError)
        else PartTree(part.name, part.declared, outline(part.found.root, part.found.specs, depth))
        for part in found
    ]
    changed = tuple(one for part in found for one in part.overrides)
    notes = tuple(finding.text for part in found for finding in part.findings)
    emit(
        format_,
        lambda: lay_out(titled(origin.name, changed), parts, [str(one) for one in changed], notes),
        lambda: to_dict(model, parts, changed, notes),
        output,
    )
