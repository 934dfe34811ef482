"""What loaders require of config and index next to names and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...analysis.quantization.declared import declared_in
from ...analysis.quantization.packed_names import MUST_BE_PACKED, is_packed, is_small
from ...core.lazy_sequence import counted
from ...core.wholeness import Problem
from .evidence import Evidence

#: Where an index and its shards contradict each other: rules of ``checkpoints/agreement``. A loader
#: that follows the index fails, or leaves the tensor as it was initialised.
_INDEX_RULES: Final = (
    "tensor-not-in-shards",
    "tensor-not-in-index",
    "tensor-in-other-shard",
    "tensor-in-two-shards",
)


def broken_config(evidence: Evidence) -> Iterator[Problem]:
    """A config that the class cannot be built from."""
    if evidence.config_error:
        yield Problem("broken_contract", evidence.config_error, file=evidence.where)


def index_contradicted(evidence: Evidence) -> Iterator[Problem]:
    """An index that says of its shards what they do not hold."""
    for finding in evidence.checkpoint.findings:
        if finding.rule in _INDEX_RULES:
            example = finding.tensor
            yield Problem("broken_contract", finding.text, example=example, file=finding.file)


def surplus_layers(evidence: Evidence) -> Iterator[Problem]:
    """More layers than the config has: engines stop at the first, transformers drops them."""
    expectation = evidence.expectation
    prediction = evidence.prediction
    if expectation is None or prediction is None or not expectation.unexpected:
        return
    most: dict[str, int] = {}
    for spec in prediction.specs:
        if spec.stack is not None and spec.layer is not None:
            most[spec.stack] = max(most.get(spec.stack, 0), spec.layer + 1)
    have: dict[str, set[int]] = {}
    example: dict[str, str] = {}
    for name in expectation.unexpected:
        for stack, number in most.items():
            layer = name.removeprefix(f"{stack}.").partition(".")[0]
            if name.startswith(f"{stack}.") and layer.isdecimal() and int(layer) >= number:
                have.setdefault(stack, set()).add(int(layer))
                example.setdefault(stack, name)
    for stack, layers in have.items():
        number = max(layers) + 1
        text = f"{number:,} layers in {stack}, and {evidence.where} makes {most[stack]:,}"
        yield Problem("broken_contract", text, len(layers), example[stack])


def packing_declared(evidence: Evidence) -> Iterator[Problem]:
    """Packed tensors of which no config speaks, and a packing that no tensor has."""
    tensors = [*counted(evidence.tensors)]
    declared = declared_in(evidence.config, evidence.companions)
    packed = [
        (info.name, count)
        for info, count in tensors
        if is_packed(info.name, info.dtype, info.shape)
    ]
    config = evidence.config or {}
    if not declared.method and not isinstance(config.get("quantization_config"), dict):
        if packed and evidence.config is not None:
            number = sum(count for _, count in packed)
            text = f"{number:,} tensors are packed, and quantization_config is missing"
            yield Problem("broken_contract", text, number, packed[0][0], file=evidence.where)
        return
    method = declared.values.get("quant_method")
    if packed or method not in MUST_BE_PACKED or evidence.checkpoint.missing:
        return
    if any(is_small(info.dtype, info.shape) for info, _ in tensors) or _packs_nothing(evidence):
        return
    text = f"quantization_config says {method!s:.40}, and no tensor is packed"
    yield Problem("broken_contract", text, file=evidence.where)


def _packs_nothing(evidence: Evidence) -> bool:
    """Whether the config names a method and excludes every module that it could pack."""
    if evidence.prediction is None:
        return False
    from ...analysis.quantization.packing import packing

    packed = packing(evidence.prediction, evidence.config, evidence.companions)
    if packed is None or packed.specs is None:
        return False
    return all(spec.packed is None for spec, _ in packed.tensors.counted())
