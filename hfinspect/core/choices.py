"""The words that a flag or a keyword may take, each list written once.

The library checks them, the command line shows and completes them. Formats are those of
``reports/registry.py``; engines those of ``sizing/engines/registry.py``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

from ..errors import UsageError

#: What is read: weight headers if there are any, headers alone, config.json alone.
SourceChoice: TypeAlias = Literal["auto", "checkpoint", "config"]
#: How far a derivation goes down: sums, modules of one layer, every tensor.
Depth: TypeAlias = Literal["model", "layer", "tensor"]

#: How bad a finding is, from the least.
Severity: TypeAlias = Literal["note", "warning", "error"]

#: How weights are compared: a sample of each tensor, or all bytes.
WeightMethod: TypeAlias = Literal["sample", "values"]

SOURCES: Final[tuple[SourceChoice, ...]] = get_args(SourceChoice)
DEPTHS: Final[tuple[Depth, ...]] = get_args(Depth)
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
WEIGHT_METHODS: Final[tuple[WeightMethod, ...]] = get_args(WeightMethod)
#: What the table of an inspection groups by.
GROUPS: Final = ("component", "layer", "dtype", "file", "part")
#: What a list of tensors is sorted by.
TENSOR_SORTS: Final = ("size", "name", "layer")
#: Whose rules a cache follows.
ENGINES: Final = ("logical", "transformers", "transformers-static", "vllm", "sglang", "llama.cpp")
#: What loads a model, as ``runs`` answers.
LOADERS: Final = ("transformers", "vllm", "sglang", "llama.cpp", "mlx-lm", "onnx", "tensorrt-llm")

#: Which state training keeps for each parameter.
OPTIMIZERS: Final = tuple(
    "adamw adamw8bit adam-amsgrad adafactor lion sgd sgd-momentum rmsprop adagrad muon".split()
)


def listed(choices: Sequence[str]) -> str:
    """``auto, checkpoint or config``: for help and for errors."""
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last


def checked(name: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices. Raises UsageError, which lists them."""
    if value not in choices:
        import difflib

        near = difflib.get_close_matches(value.lower(), choices, n=1)
        hint = f"did you mean {near[0]}?" if near else None
        raise UsageError(f"{name} {value!r}", "is unknown", expected=listed(choices), hint=hint)
    return value


def check_source(source: str, overrides: Mapping[str, Any] | None) -> None:
    """Raises UsageError for a source that is none, and for headers of a config that changed."""
    checked("source", source, SOURCES)
    if overrides and source == "checkpoint":
        raise UsageError("overrides", "change the config, but only headers were to be read")
