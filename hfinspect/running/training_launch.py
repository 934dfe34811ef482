"""How a training is started over several devices: FSDP by accelerate's flags, DeepSpeed with a file
of its own.

FSDP that reshards after the forward pass holds what ZeRO stage 3 does, without it what stage 2
does (weights whole, gradients and optimizer state shared). The stage is the lowest that the
device holds: each higher one sends more between devices.
"""

from typing import Final, Literal

from ..core.engine_answers import LaunchLine, TrainingLaunch
from ..core.footprint import Memory
from ..core.memory_options import MemoryOptions
from ..core.text import byte_size
from ..sizing.memory_request import memory_request
from ..sizing.plan import plan
from .deepspeed_config import (
    BUCKET,
    FILE,
    Offloaded,
    config_text,
    least_stage,
    mixed_precision,
    offloaded,
)
from .subject import Subject

#: ZeRO stage -> whether FSDP frees the weights after the forward pass.
_FSDP: Final = {2: False, 3: True}
_STAGES: Final = (0, 1, 2, 3)
#: Precision of ``--train`` -> accelerate's --mixed_precision.
_MIXED: Final = {"mixed": "bf16", "amp": "bf16", "bf16": "no", "fp32": "no"}


def training_launches(subject: Subject) -> tuple[tuple[TrainingLaunch, ...], str]:
    """The ways, or why there is none. Raises UsageError for options that are not possible."""
    options = subject.options
    device = subject.device
    count = max(options.gpus, 1 if device is None else device.count)
    sums: dict[int, Memory] = {}
    for stage in _STAGES:
        memory_options = MemoryOptions(
            on=options.on,
            batch=options.batch,
            train=options.train,
            rank=options.rank,
            seq=options.seq,
            optimizer=options.optimizer,
            precision=options.precision,
            gpus=count,
            zero=stage if count > 1 else 0,
            checkpointing=options.checkpointing,
        )
        memory = plan(subject.inspection, subject.prediction, memory_request(memory_options))
        if memory.training is None:
            return (), memory.training_unknown
        sums[stage] = memory
    stages = tuple(stage for stage in _STAGES if stage >= least_stage(options.precision))
    launches = [_training_launch("DeepSpeed", subject, count, sums, stages)]
    if count > 1:
        launches.insert(0, _training_launch("FSDP", subject, count, sums, tuple(_FSDP)))
    return tuple(launches), ""


def _training_launch(
    framework: Literal["FSDP", "DeepSpeed"],
    subject: Subject,
    count: int,
    sums: dict[int, Memory],
    stages: tuple[int, ...],
) -> TrainingLaunch:
    """The lowest stage that fits; without a device the highest. Where none fits, DeepSpeed has the
    optimizer or all in main memory if that fits, else there is no line."""
    fitting = [stage for stage in stages if sums[stage].fits]
    decided = subject.device is not None
    undecided = [stage for stage in stages if sums[stage].fits is None]
    stage = fitting[0] if fitting else stages[-1]
    training = sums[stage].training
    least = None if training is None else training.least
    fits = True if fitting else None
    why = _why(stage, count, least)
    offload = None
    if decided and not fitting and not undecided:
        if framework == "DeepSpeed" and subject.device is not None:
            offload = offloaded(sums[stage], subject.device.nbytes)
        if offload is None:
            return TrainingLaunch(framework, None, least, fits=False)
        fits = None
        least = offload.least
        why = _why_away(offload, count)
    if framework == "FSDP":
        return TrainingLaunch(framework, LaunchLine(_fsdp(subject, count, stage), why), least, fits)
    file = config_text(subject.options, stage, offload)
    line = LaunchLine(_deepspeed(subject, count), (*why, *(() if offload else _buckets(stage))))
    return TrainingLaunch(framework, line, least, fits, FILE, file)


def _devices(count: int) -> str:
    return "one device" if count == 1 else f"each of {count} devices"


def _why(stage: int, count: int, least: int | None) -> tuple[str, ...]:
    at_least = "" if least is None else f", at least {byte_size(least)} on {_devices(count)}"
    return (f"as ZeRO stage {stage}{at_least}",)


def _why_away(offload: Offloaded, count: int) -> tuple[str, ...]:
    what = "optimizer and gradients" if offload.what == "optimizer" else "all states"
    return (
        f"ZeRO stage 3, {what} in main memory: {byte_size(offload.main)} there",
        f"about {byte_size(offload.least)} on {_devices(count)}, by DeepSpeed's estimator",
    )


def _buckets(stage: int) -> tuple[str, ...]:
    """What the sum does not count."""
    if not stage:
        return ()
    return (f"buckets of {BUCKET:,} elements, {byte_size(4 * BUCKET)} more on each device",)


def _accelerate(count: int, mixed: str, flags: list[str]) -> str:
    first = ["accelerate launch", f"--num_processes {count}", f"--mixed_precision {mixed}"]
    return " ".join([*first, *flags, "train.py"])


def _fsdp(subject: Subject, count: int, stage: int) -> str:
    reshard = str(_FSDP[stage]).lower()
    flags = ["--use_fsdp", "--fsdp_version 2", f"--fsdp_reshard_after_forward {reshard}"]
    flags.append("--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP")
    if subject.options.checkpointing:
        flags.append("--fsdp_activation_checkpointing true")
    return _accelerate(count, _MIXED[subject.options.precision], flags)


def _deepspeed(subject: Subject, count: int) -> str:
    flags = ["--use_deepspeed", f"--deepspeed_config_file {FILE}"]
    return _accelerate(count, mixed_precision(subject.options.precision), flags)
