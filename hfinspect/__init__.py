"""What is inside a Hugging Face model, before downloading it.

>>> import hfinspect
>>> hfinspect.inspect({"model_type": "gpt2"}).parameters  # a repo, a path, or a config itself
124439808
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .api import audit, compare, explain, inspect, memory, predict
    from .core.components import Component, Role
    from .core.explanation import Explanation
    from .core.footprint import Memory
    from .core.results import Failure, Inspection, Totals
    from .core.tensor import TensorInfo, TensorSpec
    from .core.verdicts import AuditFinding, AuditResult
    from .errors import HfinspectError
    from .scanning import scan
    from .trees.prediction import Prediction

#: Where each public name lives. They are imported on first use, so that ``import hfinspect`` and
#: ``hfinspect --version`` cost nothing.
_HOMES = {
    "audit": "api",
    "compare": "api",
    "explain": "api",
    "inspect": "api",
    "memory": "api",
    "predict": "api",
    "scan": "scanning",
    "Prediction": "trees.prediction",
    "Component": "core.components",
    "Role": "core.components",
    "AuditFinding": "core.verdicts",
    "AuditResult": "core.verdicts",
    "Explanation": "core.explanation",
    "Failure": "core.results",
    "Inspection": "core.results",
    "Memory": "core.footprint",
    "Totals": "core.results",
    "TensorInfo": "core.tensor",
    "TensorSpec": "core.tensor",
    "HfinspectError": "errors",
}

__all__ = [
    "AuditFinding",
    "AuditResult",
    "Component",
    "Explanation",
    "Failure",
    "HfinspectError",
    "Inspection",
    "Memory",
    "Prediction",
    "Role",
    "TensorInfo",
    "TensorSpec",
    "Totals",
    "__version__",
    "audit",
    "compare",
    "errors",
    "explain",
    "inspect",
    "memory",
    "predict",
    "scan",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "errors":
        return importlib.import_module(".errors", __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
