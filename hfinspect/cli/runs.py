"""``hfinspect runs MODEL``: which engines load it, and with what line?"""

import typer

from ..core.read_fields import ModelReading
from ..core.runs_options import RunsOptions
from . import options
from .memory import UNDECIDED
from .option_groups import arguments_of, grouped


def register(app: typer.Typer) -> None:
    app.command("runs", epilog="Example: hfinspect runs Qwen/Qwen3-8B --on 'RTX 4090'")(runs)


@grouped
def runs(
    model: options.Model,
    *,
    runs_options: RunsOptions,
    reading: ModelReading,
    format_: options.Format = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """List the engines that load a model, and the lines that start them.

    For each engine: yes, no or unknown, why, and what it makes of the class, from lists of the
    engine's own source. With --on, each line has numbers that fit the card; with --train, lines for
    FSDP and DeepSpeed follow. The exit code is 0 if one engine loads the model, 1 if none does, and
    6 if that is unknown. --engine asks some engines only.
    """
    from .. import api
    from ..reports.runs_screen import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(model, revision=reading.revision) as progress:
        answers = api.runs(
            model, **arguments_of(runs_options, reading), **access.arguments(), progress=progress
        )
    emit(format_, lambda: lay_out(answers, drawn=format_ == "html"), answers.to_dict, output)
    if answers.answer != "yes":
        raise typer.Exit(1 if answers.answer == "no" else UNDECIDED)
