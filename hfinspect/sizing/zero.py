"""ZeRO: which parts of the training state each of several devices holds.

Sources: ZeRO (arXiv 1910.02054), section 3.1 and figure 1; the estimator of DeepSpeed's
documentation (memory requirements), whose constants differ: it counts gradients in 16 and in 32
bits, and for stage 3 the largest layer gathered whole.
"""

from collections.abc import Mapping


def share(nbytes: int, gpus: int, *, divided: bool) -> int:
    """Bytes on the fullest device."""
    return -(-nbytes // gpus) if divided else nbytes


def divides(stage: int) -> tuple[bool, bool, bool]:
    """Whether a stage divides (weights, gradients, optimizer state with masters)."""
    return stage >= 3, stage >= 2, stage >= 1


def deepspeed_estimate(
    parameters: int, largest_layer: int, gpus: int, stage: int
) -> Mapping[str, int]:
    """DeepSpeed's estimate of bytes on one device by what is offloaded to the CPU, for stages 2
    and 3 (none for others): mixed precision, Adam. ``largest_layer`` in parameters."""
    if stage == 2:
        return {
            "no offload": 4 * parameters + 16 * parameters // gpus,
            "optimizer offloaded": 2 * parameters,
        }
    if stage == 3:
        gathered = 4 * largest_layer
        return {
            "no offload": gathered + 18 * parameters // gpus,
            "optimizer offloaded": gathered + 2 * parameters // gpus,
            "all offloaded": gathered,
        }
    return {}
