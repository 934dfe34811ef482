"""``hfinspect memory MODEL``: does it fit, and at which context?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.choices import ENGINES, OPTIMIZERS
from ..core.progress import joined
from . import options
from .kept_headers import kept_headers

if TYPE_CHECKING:
    from ..core.footprint import Memory

#: Exit code where the verdict depends on what is not known.
UNDECIDED = 6


def register(app: typer.Typer) -> None:
    app.command(
        "memory", epilog="Example: hfinspect memory Qwen/Qwen3-8B --context 32k --on 'RTX 4090'"
    )(memory)


def memory(
    ctx: typer.Context,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="org/name, org/name@revision, hf:// or Hub URL, directory, weight file "
            "or config.json. Two or more models are compared side by side.",
            show_default=False,
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            metavar="TOKENS",
            help="Context length: 4096, 32k or 1M. Default: 8k, 32k and the model's own.",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Number of sequences processed at once.")] = 1,
    engine: Annotated[
        str,
        typer.Option(
            help=f"Inference engine: {', '.join(ENGINES)}.", autocompletion=lambda: list(ENGINES)
        ),
    ] = "logical",
    kv_dtype: Annotated[
        str | None,
        typer.Option(
            metavar="DTYPE",
            help="Dtype of the KV cache: bf16, fp8, q8_0; in llama.cpp also keys/values apart: "
            "q8_0/f16. Default: the model's dtype.",
        ),
    ] = None,
    encoder_tokens: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Number of encoder positions for cross-attention."),
    ] = None,
    step_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Tokens per step: max_num_batched_tokens in vLLM (default 8,192), "
            "ubatch in llama.cpp (default 512).",
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="llama.cpp: number of server slots (-np). Default: the batch; llama-server's own "
            "default is 4.",
        ),
    ] = None,
    split_cache: Annotated[
        bool,
        typer.Option(
            "--split-cache",
            help="llama.cpp: reserve a full context for each slot (--no-kv-unified).",
        ),
    ] = False,
    swa_full: Annotated[
        bool,
        typer.Option(
            "--swa-full",
            help="llama.cpp: keep the whole context in sliding-window layers (--swa-full).",
        ),
    ] = False,
    no_flash_attention: Annotated[
        bool,
        typer.Option("--no-flash-attention", help="llama.cpp: turn off flash attention (-fa off)."),
    ] = False,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE",
            help="One or more cards: 4090, 24GB, 2x80GB, 8xH100. 'list' shows all names.",
        ),
    ] = None,
    tp: Annotated[
        int,
        typer.Option(
            "--tp", min=1, help="Tensor parallelism: number of devices that share each layer."
        ),
    ] = 1,
    pp: Annotated[
        int, typer.Option("--pp", min=1, help="Pipeline parallelism: number of stages.")
    ] = 1,
    ep: Annotated[
        int,
        typer.Option(
            "--ep", min=1, help="Expert parallelism: number of devices that share the experts."
        ),
    ] = 1,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Memory bandwidth per device, such as 3.35TB/s; limits tokens per second.",
        ),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(
            metavar="RECIPE",
            help="Assume these weights instead of the stored ones: awq, fp8, q4_k_m.",
        ),
    ] = None,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="RECIPES", help="List the size after quantisation: all, or q8_0,awq,nf4."
        ),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="Estimate a training step instead: full, lora or qlora."),
    ] = None,
    rank: Annotated[int, typer.Option(min=1, help="Rank of the LoRA adapters.")] = 16,
    targets: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Modules that get adapters: q_proj,v_proj or all-linear. Default: as in PEFT.",
        ),
    ] = None,
    modules_to_save: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Modules to train in full: lm_head,embed_tokens.",
        ),
    ] = None,
    seq: Annotated[
        str | None,
        typer.Option(metavar="TOKENS", help="Tokens per training sequence. Default: 2048."),
    ] = None,
    optimizer: Annotated[
        str,
        typer.Option(
            help=f"Optimizer: {', '.join(OPTIMIZERS)}.", autocompletion=lambda: list(OPTIMIZERS)
        ),
    ] = "adamw",
    precision: Annotated[
        str,
        typer.Option(
            help="Training precision: mixed (float32 master weights), bf16, fp32 or amp (autocast)."
        ),
    ] = "mixed",
    gpus: Annotated[int, typer.Option(min=1, help="Data parallelism: number of devices.")] = 1,
    zero: Annotated[
        int, typer.Option(min=0, max=3, help="ZeRO stage; the devices share the training state.")
    ] = 0,
    checkpointing: Annotated[
        bool,
        typer.Option(
            "--checkpointing",
            help="Use gradient checkpointing: recompute activations layer by layer.",
        ),
    ] = False,
    attention: Annotated[
        str | None,
        typer.Option(metavar="KERNEL", help="Attention kernel in training: sdpa or eager."),
    ] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Also show how each number was computed, layer by layer.",
        ),
    ] = False,
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
    """Estimate memory: does it fit, and up to which context?

    Estimates weights, KV cache (per inference engine) and an upper bound for everything else, and
    shows how each number was computed. Compares common quantisations at several context lengths, on
    the card given by --on or on cards of 8 to 80 GB. With --on, the exit code is 0 if the model
    fits, 1 if it does not, and 6 if unknown facts decide; with --train the same holds for
    training. 1 GB is 10^9 bytes, 1 GiB is 2^30 bytes.
    """
    from .. import api, pictures
    from ..core.overrides import parse_overrides
    from ..errors import UsageError
    from ..reports.memory_screen import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    if on is not None and on.strip().lower() == "list":
        _listed(format_, output)
        return
    if not models:
        raise UsageError("memory", "needs a model", expected="hfinspect memory MODEL")
    asked: dict[str, Any] = {
        "context": context,
        "batch": batch,
        "engine": engine,
        "cache_dtype": kv_dtype,
        "encoder_tokens": encoder_tokens,
        "step_tokens": step_tokens,
        "on": on,
        "slots": slots,
        "split_cache": split_cache,
        "swa_full": swa_full,
        "flash_attention": not no_flash_attention,
        "tensor_parallel": tp,
        "pipeline_parallel": pp,
        "expert_parallel": ep,
        "bandwidth": bandwidth,
        "width": width,
        "train": train,
        "rank": rank,
        "targets": targets,
        "modules_to_save": modules_to_save,
        "seq": seq,
        "optimizer": optimizer,
        "precision": precision,
        "gpus": gpus,
        "zero": zero,
        "checkpointing": checkpointing,
        "attention": attention,
        "revision": revision,
        "source": source,
        "overrides": parse_overrides(set_ or ()),
        "file": file,
        "token": token,
        "session": ctx.obj,  # the model may be open already
        "timeout": timeout,
        "cache": kept_headers(no_cache=no_cache, refresh=refresh),
    }
    if quantize is not None:
        _quantized(models, quantize, asked, format_, output)
        return
    if len(models) > 1:
        _compared(models, asked, format_, output)
        return
    drawn = format_ == "html"
    with reading_line(models[0], revision=revision) as progress:
        ask: Any = pictures.memory_drawn if drawn else api.memory
        found = ask(models[0], **asked, progress=progress)
    found, curves = found if drawn else (found, None)
    emit(format_, lambda: lay_out(found, curves, drawn=drawn, full=details), found.to_dict, output)
    _end_with([found])


#: What reads a model, of all that was asked.
_READS = ("revision", "source", "overrides", "file", "token", "session", "timeout", "cache")


def _quantized(
    models: list[str], names: str, asked: dict[str, Any], format_: str, output: Path | None
) -> None:
    from .. import api
    from ..errors import UsageError
    from ..reports.recipe_lines import lay_out
    from .output import emit
    from .reading_line import reading_line

    if len(models) > 1:
        raise UsageError("--quantize", "takes one model at a time")
    chosen = None if names.strip().lower() == "all" else names.split(",")
    reads = {name: asked[name] for name in _READS}
    with reading_line(models[0], revision=asked["revision"]) as progress:
        found = api.recipes(models[0], chosen, **reads, progress=progress)
    emit(format_, lambda: lay_out(found), found.to_dict, output)


def _listed(format_: str, output: Path | None) -> None:
    """The devices that are known by name."""
    from ..reports.recipe_lines import cards_to_dict, lay_out_cards
    from ..sizing.cards import cards
    from .output import emit

    found = list(cards().values())
    emit(format_, lambda: lay_out_cards(found), lambda: cards_to_dict(found), output)


def _compared(models: list[str], asked: dict[str, Any], format_: str, output: Path | None) -> None:
    from .. import api
    from ..reports.memory_side_by_side import lay_out, to_dict
    from .output import emit
    from .reading_line import reading_line

    with reading_line(*models) as progress:
        shares = joined(progress, len(models)) if progress else [None] * len(models)
        found = [
            api.memory(model, **asked, progress=share)
            for model, share in zip(models, shares, strict=True)
        ]
    emit(format_, lambda: lay_out(found), lambda: to_dict(found), output)
    _end_with(found)


def _end_with(found: Sequence[Memory]) -> None:
    """1 if the device does not hold one of them, 6 if that depends."""
    answers = [one.fits for one in found if one.verdict is not None]
    if not all(answers):
        raise typer.Exit(1 if False in answers else UNDECIDED)
