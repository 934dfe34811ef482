"""The judgement of one checkpoint: every kind of evidence is asked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...core.wholeness import Problem, by_weight, is_whole
from .evidence import Evidence

#: Beginnings of dtypes that plain weights and buffers have.
_PLAIN: Final = ("BF16", "F16", "F32", "F64", "I64", "BOOL")


def judged(evidence: Evidence) -> dict[str, Any]:
    """The fields of an inspection that say whether a checkpoint is whole."""
    problems = by_weight(_problems(evidence))
    known = evidence.expectation is not None or bool(evidence.checkpoint.missing)
    known = known or evidence.base_config is not None
    if not known and evidence.checkpoint.format == "gguf":
        from .gguf_loading import is_gguf_model

        known = is_gguf_model(evidence)
    return {"whole": is_whole(problems, known=known), "problems": problems}


def judged_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """The same of a config without weights: nothing says which files should be there."""
    problems = by_weight(_config_problems(config))
    return {"whole": is_whole(problems, known=False), "problems": problems}


def _problems(evidence: Evidence) -> Iterator[Problem]:
    if evidence.checkpoint.missing:
        from .files_there import missing_files

        yield from missing_files(evidence)
    expectation = evidence.expectation
    is_gguf = evidence.checkpoint.format == "gguf"  # which has names of its own
    if expectation is not None and not expectation.agrees and not is_gguf:
        from .tensors_there import missing_tensors, other_shapes

        yield from missing_tensors(evidence)
        yield from other_shapes(evidence)
    if evidence.config_error or evidence.checkpoint.findings:
        from .contracts import broken_config, index_contradicted

        yield from broken_config(evidence)
        yield from index_contradicted(evidence)
    if evidence.checkpoint.format == "safetensors" and _may_be_packed(evidence):
        from .contracts import packing_declared

        yield from packing_declared(evidence)
        from .packed_layers import packed_layers

        yield from packed_layers(evidence)
    if expectation is not None and expectation.unexpected and not is_gguf:
        from .contracts import surplus_layers

        yield from surplus_layers(evidence)
    if is_gguf:
        from .gguf_loading import gguf_problems

        yield from gguf_problems(evidence)
    if declares_prediction_layers(evidence.config) and not is_gguf:
        from .prediction_layers import missing_prediction_layers

        yield from missing_prediction_layers(evidence)
    if evidence.renamed is not None:
        from .names_known import other_names

        yield from other_names(evidence, evidence.renamed)
    settings = evidence.companions.get("adapter_config.json")
    if evidence.layout == "adapter" and settings is not None:
        from .adapter_fits import adapter_problems, base_of

        base = base_of(evidence.base_config, settings)
        tensors = {tensor.name: tensor.shape for tensor in evidence.tensors}
        yield from adapter_problems(tensors, settings, base)
    if not is_gguf and not evidence.config_error:
        yield from _config_problems(evidence.config, evidence.where)


def _may_be_packed(evidence: Evidence) -> bool:
    """Whether a packing is declared, or the tensors are of dtypes that packed ones have."""
    config = evidence.config or {}
    declared = "quantization_config" in config or "quantization" in config or evidence.companions
    return bool(declared) or any(not dtype.startswith(_PLAIN) for dtype in evidence.dtypes)


def declares_prediction_layers(config: Mapping[str, Any] | None) -> bool:
    """Whether a config may declare layers of multi-token prediction."""
    values = config or {}
    sections = [one for one in values.values() if isinstance(one, Mapping)]
    keys = {key for one in (values, *sections) for key in one if isinstance(key, str)}
    return any("nextn" in key or "mtp" in key for key in keys)


def _config_problems(
    config: Mapping[str, Any] | None, where: str = "config.json"
) -> Iterator[Problem]:
    if config and "model_type" in config:
        from .config_values import SOURCE, refused_values

        for problem in refused_values(config, where):
            yield replace(problem, source=SOURCE)
