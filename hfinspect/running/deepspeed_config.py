"""DeepSpeed's configuration for what ``memory --train`` sums: stage, precision, micro-batch, and
what goes to main memory where no stage fits.

Keys are those of DeepSpeedConfig (runtime/config.py), of runtime/zero/config.py and
offload_config.py, and of runtime/precision_config.py. DeepSpeed keeps float32 masters with
``bf16``; without masters (``--precision bf16``) it needs its own switches, and a stage from 1.
"""

import json
from typing import Any, Final, NamedTuple

from ..core.footprint import Memory
from ..core.runs_options import RunsOptions

#: The file that the command names.
FILE: Final = "ds_config.json"
#: Elements of the buffers in which gradients are reduced and weights gathered. DeepSpeed's own are
#: 500 million, a gigabyte each.
BUCKET: Final = 50_000_000
#: Bytes of an element of them.
_WIDTH: Final = 2
#: What DeepSpeed's estimator counts of the states where optimizer or all is in main memory.
_ESTIMATE: Final = "states, DeepSpeed's estimator, {} offloaded"
_CPU: Final = {"device": "cpu", "pin_memory": True}


class Offloaded(NamedTuple):
    """What is in main memory: ``optimizer``, or ``all`` with the weights. ``least`` are bytes of
    one device by DeepSpeed's estimator, ``main`` those of main memory for all devices."""

    what: str
    least: int
    main: int


def offloaded(sized: Memory, nbytes: int) -> Offloaded | None:
    """The first that a device of so many bytes holds; None where neither fits, and where DeepSpeed
    has no estimate. ``sized`` is stage 3."""
    training = sized.training
    if training is None:
        return None
    passing = sum(line.nbytes for line in (training.activations, training.logits) if line)
    bytes_of = {line.name: line.nbytes for line in training.states}
    moved = sum(bytes_of.values()) - bytes_of.get("weights", 0)
    for what in ("optimizer", "all"):
        states = training.estimates.get(_ESTIMATE.format(what))
        if states is None:
            return None
        least = states + passing + 2 * BUCKET * _WIDTH
        if least <= nbytes:
            weights = bytes_of.get("weights", 0) if what == "all" else 0
            return Offloaded(what, least, (moved + weights) * training.gpus)
    return None


def least_stage(precision: str) -> int:
    """The lowest stage that has the precision."""
    return 1 if precision == "bf16" else 0


def config_text(options: RunsOptions, stage: int, offload: Offloaded | None) -> str:
    """The file."""
    zero: dict[str, Any] = {"stage": stage}
    if stage:
        zero |= {"reduce_bucket_size": BUCKET, "allgather_bucket_size": BUCKET}
    if stage == 3:
        del zero["allgather_bucket_size"]  # of stages 1 and 2
        zero["stage3_prefetch_bucket_size"] = BUCKET
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    if offload is not None:
        zero["offload_optimizer"] = _CPU
        zero |= {"offload_param": _CPU} if offload.what == "all" else {}
    config: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": options.batch,
        "gradient_accumulation_steps": 1,
        "zero_optimization": zero,
        **_precision(options.precision),
    }
    return json.dumps(config, indent=2)


def _precision(precision: str) -> dict[str, Any]:
    if precision == "mixed":
        return {"bf16": {"enabled": True}}
    if precision == "bf16":
        no_masters = {"bf16_master_weights_and_grads": True, "bf16_optimizer_states": True}
        return {"bf16": {"enabled": True, **no_masters}}
    if precision == "amp":
        return {"torch_autocast": {"enabled": True, "dtype": "bfloat16"}}
    return {}


def mixed_precision(precision: str) -> str:
    """accelerate's flag, with which it completes the file: none where DeepSpeed casts itself."""
    return "bf16" if precision in ("mixed", "bf16") else "no"
