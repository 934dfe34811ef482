"""How a training is started over several devices: FSDP and DeepSpeed, by accelerate's flags.

FSDP that reshards after the forward pass holds what ZeRO stage 3 does, without it what stage 2
does (weights whole, gradients and optimizer state shared). The stage is the lowest that the
device holds: each higher one sends more between devices.
"""

from __future__ import annotations

from typing import Final

from ..core.engine_answers import LaunchLine, TrainingLaunch
from ..core.footprint import Memory
from ..core.memory_options import MemoryOptions
from ..core.text import byte_size
from ..sizing.memory_request import memory_request
from ..sizing.plan import plan
from .subject import Subject

#: ZeRO stage -> whether FSDP frees the weights after the forward pass.
_FSDP: Final = {2: False, 3: True}
_STAGES: Final = (0, 1, 2, 3)
#: Precision of ``--train`` -> accelerate's --mixed_precision.
_MIXED: Final = {"mixed": "bf16", "amp": "bf16", "bf16": "no", "fp32": "no"}


def training_launches(subject: Subject) -> tuple[tuple[TrainingLaunch, ...], str]:
    """The ways, or why there is none. Raises UsageError for options that are not possible."""
    options, device = subject.options, subject.device
    count = max(options.gpus, 1 if device is None else device.count)
    sums: dict[int, Memory] = {}
    for stage in _STAGES:
        given = MemoryOptions(
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
        memory = plan(subject.inspection, subject.prediction, memory_request(given))
        if memory.training is None:
            return (), memory.training_unknown
        sums[stage] = memory
    ways = [_way("DeepSpeed", subject, count, sums, _STAGES)]
    if count > 1:
        ways.insert(0, _way("FSDP", subject, count, sums, tuple(_FSDP)))
    return tuple(ways), ""


def _way(
    way: str, subject: Subject, count: int, sums: dict[int, Memory], stages: tuple[int, ...]
) -> TrainingLaunch:
    """The lowest stage that fits; without a device the highest, and where none fits no line."""
    fitting = [stage for stage in stages if sums[stage].fits]
    decided = subject.device is not None
    undecided = [stage for stage in stages if sums[stage].fits is None]
    stage = fitting[0] if fitting else stages[-1]
    training = sums[stage].training
    least = None if training is None else training.least
    if decided and not fitting and not undecided:
        return TrainingLaunch(way, None, least, fits=False)
    why = _why(stage, count, least)
    line = _fsdp(subject, count, stage) if way == "FSDP" else _deepspeed(subject, count, stage)
    return TrainingLaunch(way, LaunchLine(line, why), least, True if fitting else None)


def _why(stage: int, count: int, least: int | None) -> tuple[str, ...]:
    held = "" if least is None else f", at least {byte_size(least)} on each of {count} devices"
    return (f"as ZeRO stage {stage}{held}",)


def _accelerate(subject: Subject, count: int, flags: list[str]) -> str:
    mixed = _MIXED[subject.options.precision]
    first = ["accelerate launch", f"--num_processes {count}", f"--mixed_precision {mixed}"]
    return " ".join([*first, *flags, "train.py"])


def _fsdp(subject: Subject, count: int, stage: int) -> str:
    reshard = str(_FSDP[stage]).lower()
    flags = ["--use_fsdp", "--fsdp_version 2", f"--fsdp_reshard_after_forward {reshard}"]
    flags.append("--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP")
    if subject.options.checkpointing:
        flags.append("--fsdp_activation_checkpointing true")
    return _accelerate(subject, count, flags)


def _deepspeed(subject: Subject, count: int, stage: int) -> str:
    return _accelerate(subject, count, ["--use_deepspeed", f"--zero_stage {stage}"])
