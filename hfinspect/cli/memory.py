"""``hfinspect memory MODEL``: does it fit, and at which context?"""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.choices import ENGINES
from . import options


def register(app: typer.Typer) -> None:
    app.command(
        "memory", epilog="Example: hfinspect memory Qwen/Qwen3-8B --context 32k --on 'RTX 4090'"
    )(memory)


def memory(
    model: options.Model,
    context: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS", help="4096, 32k, 1M.", show_default="4k, 32k and the model's own"
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Sequences at once.")] = 1,
    engine: Annotated[
        str, typer.Option(help=f"{', '.join(ENGINES)}.", autocompletion=lambda: list(ENGINES))
    ] = "logical",
    kv_dtype: Annotated[
        str | None,
        typer.Option(metavar="DTYPE", help="Of the cache: bf16, fp8, q8_0; default: the model's."),
    ] = None,
    encoder_tokens: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Tokens of the encoder, for cross-attention."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", help="24GB, 24GiB, 2x80GB, 'RTX 4090', 8xH100."),
    ] = None,
    tp: Annotated[int, typer.Option("--tp", min=1, help="Devices of tensor parallelism.")] = 1,
    revision: options.Revision = None,
    source: options.Source = "auto",
    set_: options.Set = None,
    file: options.File = None,
    format_: options.Format = "table",
    output: options.Output = None,
    token: options.Token = None,
    timeout: options.Timeout = None,
) -> None:  # fmt: skip
    """Memory of weights, cache and workspace: does it fit, and up to which context?

    Exit code 1 if the device named by --on does not hold it. GB is 10^9 bytes, GiB 2^30.
    """
    from .. import api
    from ..core.overrides import parse_overrides
    from ..reports.footprint_lines import lay_out
    from ..reports.registry import render
    from .output import FILE, canvas_of_stdout, checked_format, write
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line() as progress:
        found = api.memory(
            model,
            context=context,
            batch=batch,
            engine=engine,
            cache_dtype=kv_dtype,
            encoder_tokens=encoder_tokens,
            on=on,
            tensor_parallel=tp,
            revision=revision,
            source=source,  # type: ignore[arg-type]  # api checks it
            overrides=parse_overrides(set_ or ()),
            file=file,
            token=token,
            timeout=timeout,
            progress=progress,
        )
    canvas = canvas_of_stdout() if output is None else FILE
    write(render(format_, lambda: lay_out(found), found.to_dict, canvas), output)
    if found.fits is False:
        raise typer.Exit(1)
