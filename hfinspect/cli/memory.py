"""``hfinspect memory MODEL``: does it fit, and at which context?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.memory_options import InferenceOptions, TrainingOptions
from ..core.progress import joined
from ..core.read_fields import ModelReading
from . import options
from .option_groups import arguments_of, grouped

if TYPE_CHECKING:
    from ..core.footprint import Memory

#: Exit code where the verdict depends on what is not known.
UNDECIDED = 6


def register(app: typer.Typer) -> None:
    app.command(
        "memory", epilog="Example: hfinspect memory Qwen/Qwen3-8B --context 32k --on 'RTX 4090'"
    )(memory)


@grouped
def memory(
    ctx: typer.Context,
    models: Annotated[list[str] | None, options.MODELS] = None,
    *,
    inference: InferenceOptions,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="RECIPES", help="List the size after quantisation: all, or q8_0,awq,nf4."
        ),
    ] = None,
    training: TrainingOptions,
    details: Annotated[
        bool,
        typer.Option("--details", help="Also show how each number was computed, layer by layer."),
    ] = False,
    reading: ModelReading,
    format_: options.Format = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """Estimate memory: does it fit, and up to which context?

    Estimates weights, KV cache (per inference engine) and an upper bound for everything else, and
    shows how each number was computed. Compares common quantisations at several context lengths, on
    the card given by --on or on cards of 8 to 80 GB. With --on, the exit code is 0 if the model
    fits, 1 if it does not, and 6 if unknown facts decide; with --train the same holds for
    training. 1 GB is 10^9 bytes, 1 GiB is 2^30 bytes.
    """
    from .. import api, pictures
    from ..errors import UsageError
    from ..reports.memory_screen import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    on = inference.on
    if on is not None and on.strip().lower() == "list":
        _listed(format_, output)
        return
    if not models:
        raise UsageError("memory", "needs a model", expected="hfinspect memory MODEL")
    # The model may be open already.
    reads = {**arguments_of(reading), **access.arguments(), "session": ctx.obj}
    if quantize is not None:
        _quantized(models, quantize, reads, format_, output)
        return
    arguments: dict[str, Any] = {**arguments_of(inference, training), **reads}
    if len(models) > 1:
        _compared(models, arguments, format_, output)
        return
    drawn = format_ == "html"
    with reading_line(models[0], revision=reading.revision) as progress:
        verb: Any = pictures.memory_drawn if drawn else api.memory
        answer = verb(models[0], **arguments, progress=progress)
    answer, curves = answer if drawn else (answer, None)
    emit(
        format_, lambda: lay_out(answer, curves, drawn=drawn, full=details), answer.to_dict, output
    )
    _end_with([answer])


def _quantized(
    models: list[str], names: str, reads: dict[str, Any], format_: str, output: Path | None
) -> None:
    from .. import api
    from ..errors import UsageError
    from ..reports.recipe_lines import lay_out
    from .output import emit
    from .reading_line import reading_line

    if len(models) > 1:
        raise UsageError("--quantize", "takes one model at a time")
    chosen = None if names.strip().lower() == "all" else names.split(",")
    with reading_line(models[0], revision=reads["revision"]) as progress:
        recipes = api.recipes(models[0], chosen, **reads, progress=progress)
    emit(format_, lambda: lay_out(recipes), recipes.to_dict, output)


def _listed(format_: str, output: Path | None) -> None:
    """The devices that are known by name."""
    from ..reports.recipe_lines import Cards, lay_out_cards
    from ..sizing.cards import cards
    from .output import emit

    all_cards = list(cards().values())
    emit(format_, lambda: lay_out_cards(all_cards), Cards(all_cards).to_dict, output)


def _compared(
    models: list[str], arguments: dict[str, Any], format_: str, output: Path | None
) -> None:
    from .. import api
    from ..reports.memory_side_by_side import Memories, lay_out
    from .output import emit
    from .reading_line import reading_line

    with reading_line(*models) as progress:
        shares = joined(progress, len(models)) if progress else [None] * len(models)
        memories = [
            api.memory(model, **arguments, progress=share)
            for model, share in zip(models, shares, strict=True)
        ]
    emit(format_, lambda: lay_out(memories), Memories(memories).to_dict, output)
    _end_with(memories)


def _end_with(memories: Sequence[Memory]) -> None:
    """1 if the device does not hold one of them, 6 if that depends or one is not whole."""
    judged = [one for one in memories if one.verdict is not None or one.whole is False]
    answers = [one.fits for one in judged]
    if not all(answers):
        raise typer.Exit(1 if False in answers else UNDECIDED)
