"""``hfinspect tokenizer MODEL``: tokens, special ids, chat templates and lengths side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options
from .kept_headers import kept_headers


def register(app: typer.Typer) -> None:
    app.command(
        "tokenizer", epilog="Example: hfinspect tokenizer Qwen/Qwen3-8B, or --file tokenizer"
    )(tokenizer)


def tokenizer(
    ctx: typer.Context,
    model: options.Model,
    revision: options.Revision = None,
    source: options.Source = "auto",
    file: Annotated[
        str | None,
        typer.Option("--file", help="Read this GGUF file, or the tokenizer in this folder."),
    ] = None,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """Show tokens, special ids, chat templates and context lengths, and where they disagree.

    Reads the model as inspect does, then the files of the tokenizer (tokenizer.json, vocab.json,
    vocab.txt, tekken.json, SentencePiece, tiktoken), or the key-values of a GGUF file; of a
    pipeline each tokenizer with its text encoder. Chat templates are parsed and never run.
    """
    from .. import api
    from ..reports.tokenizer_screen import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(model, revision=revision) as progress:
        found = api.tokenizer(
            model,
            revision=revision,
            source=source,  # type: ignore[arg-type]  # api checks it
            file=file,
            token=token,
            session=ctx.obj,
            timeout=timeout,
            cache=kept_headers(no_cache=no_cache, refresh=refresh),
            progress=progress,
        )
    emit(format_, lambda: lay_out(found), found.to_dict, output)
