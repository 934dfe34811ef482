"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..reports.registry import FORMATS


def _formats() -> list[str]:
    return list(FORMATS)


Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="org/name, org/name@revision, hf:// or Hub URL, directory, weight file, config.json.",
        show_default=False,
    ),
]
Revision = Annotated[
    str | None, typer.Option("--revision", help="Branch, tag or commit of a Hub repo.")
]
Token = Annotated[
    str | None,
    typer.Option("--token", help="Hub token; default: the saved one or HF_TOKEN."),
]
Format = Annotated[
    str,
    typer.Option("--format", "-f", help="table, json, csv or markdown.", autocompletion=_formats),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file.", show_default=False)
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a config key (dotted for nested); repeatable."
    ),
]
File = Annotated[str | None, typer.Option("--file", help="Read this weight file or folder of it.")]
