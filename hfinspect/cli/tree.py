"""``hfinspect tree MODEL``: the structure that print(model) shows."""

from __future__ import annotations

import typer

from . import options


def register(app: typer.Typer) -> None:
    app.command("tree", epilog="Example: hfinspect tree openai-community/gpt2")(tree)


def tree(
    model: options.Model,
    revision: options.Revision = None,
    set_: options.Set = None,
    file: options.File = None,
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
) -> None:
    """The module structure with shapes, from config.json alone, without torch."""
    from .. import api
    from ..core.overrides import parse_overrides
    from ..core.text import clean
    from ..errors import HfinspectError
    from ..trees.structure import render
    from .output import write
    from .reading_line import reading_line

    with reading_line("reading config.json"):
        parts, _ = api.predict_parts(
            model, revision=revision, token=token, overrides=parse_overrides(set_ or ()),
            file=file, timeout=timeout,
        )  # fmt: skip
    blocks = [f"changed  {clean(str(one))}" for part in parts for one in part.overrides]
    blocks = ["\n".join(blocks)] if blocks else []
    for part in parts:
        heading = f"{clean(part.name)} ({clean(part.declared)})\n" if part.name else ""
        if isinstance(part.found, HfinspectError):
            blocks.append(f"{heading}no tree: {part.found}")
        else:
            blocks.append(f"{heading}{render(part.found.root)}")
    write("\n\n".join(blocks), output)
