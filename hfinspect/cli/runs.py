"""``hfinspect runs MODEL``: which engines load it, and with what line?"""

from __future__ import annotations

import typer

from ..core.runs_options import RunsOptions
from . import options
from .kept_headers import kept_headers
from .memory import UNDECIDED
from .option_groups import given, grouped


def register(app: typer.Typer) -> None:
    app.command("runs", epilog="Example: hfinspect runs Qwen/Qwen3-8B --on 'RTX 4090'")(runs)


@grouped
def runs(
    ctx: typer.Context,
    model: options.Model,
    *,
    asked: RunsOptions,
    revision: options.Revision = None,
    source: options.Source = "auto",
    set_: options.Set = None,
    file: options.File = None,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
    no_cache: options.NoCache = False,
    refresh: options.Refresh = False,
    quiet: options.Quiet = False,  # noqa: ARG001 - its callback heeds it
) -> None:
    """List the engines that load a model, and the lines that start them.

    For each engine: yes, no or unknown, why, and what it makes of the class, from lists of the
    engine's own source. With --on, each line has numbers that fit the card; with --train, lines for
    FSDP and DeepSpeed follow. The exit code is 0 if one engine loads the model, 1 if none does, and
    6 if that is unknown. --engine asks some engines only.
    """
    from .. import api
    from ..core.overrides import parse_overrides
    from ..reports.runs_screen import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(model, revision=revision) as progress:
        found = api.runs(
            model,
            **given(asked),
            revision=revision,
            source=source,  # type: ignore[arg-type]  # api checks it
            overrides=parse_overrides(set_ or ()),
            file=file,
            token=token,
            session=ctx.obj,  # the model may be open already
            timeout=timeout,
            cache=kept_headers(no_cache=no_cache, refresh=refresh),
            progress=progress,
        )
    emit(format_, lambda: lay_out(found, drawn=format_ == "html"), found.to_dict, output)
    if found.answer != "yes":
        raise typer.Exit(1 if found.answer == "no" else UNDECIDED)
