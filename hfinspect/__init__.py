"""What is inside a Hugging Face model, before downloading it.

>>> import hfinspect
>>> hfinspect.inspect({"model_type": "gpt2"}).parameters  # a repo, a path, or a config itself
124439808
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .analysis.differences import Change, Comparison, Difference
    from .api import (
        Target,
        audit,
        compare,
        explain,
        explain_cache,
        inspect,
        memory,
        predict,
        recipes,
    )
    from .core.alternative_counts import (
        Against,
        Approximation,
        Candidate,
        Convention,
        Measurement,
        NameSize,
        TensorDifference,
        Term,
    )
    from .core.bytes_read import Reading
    from .core.cache_derivation import CacheDerivation, CacheLine
    from .core.cache_size import CacheGroup, CacheSize
    from .core.checkpoint import Finding
    from .core.choices import SourceChoice
    from .core.components import Component, Role
    from .core.config import HasConfig, Reads
    from .core.expectation import Assumed, Beyond, Expectation
    from .core.explanation import Attention, Explanation, Projection
    from .core.extents import Extent
    from .core.fitting import Verdict
    from .core.flop_count import Flops
    from .core.footprint import AtContext, Memory, Stage, WeightBytes, Workspace
    from .core.formula import Formula, Tree
    from .core.hub_info import HubInfo
    from .core.inventory import Inventory, InventoryFile
    from .core.ledger_lines import Letter, Row, Section, Share
    from .core.model_facts import ModelFacts
    from .core.offload_plan import LayerBytes, Offload, OffloadPlan
    from .core.overrides import Override
    from .core.progress import Progress
    from .core.recipe_bytes import RecipeSize
    from .core.recipe_fits import HeldAt, OnCard, RecipeFits
    from .core.refs import Origin
    from .core.results import (
        Adapter,
        Failure,
        Inspection,
        Member,
        Quantization,
        Totals,
        VariantFile,
        WeightFile,
    )
    from .core.tensor import Packed, TensorInfo, TensorSpec
    from .core.training_bytes import AdaptedGroup, Training, TrainingLine
    from .core.verdicts import AuditFinding, AuditResult, Unchecked
    from .errors import HfinspectError
    from .scanning import scan
    from .sources.deadline import Deadline, Timeout
    from .sources.header_cache import HeaderCache
    from .sources.hub.client import HubClient
    from .sources.hub.model_info import Listing
    from .sources.login import Session
    from .sources.source import FileEntry
    from .trees.catalog import Family
    from .trees.modules import Module
    from .trees.prediction import Prediction

#: Where each public name lives. They are imported on first use, so that ``import hfinspect`` and
#: ``hfinspect --version`` cost nothing.
_HOMES = {
    "audit": "api",
    "compare": "api",
    "explain": "api",
    "inspect": "api",
    "iter_tensors": "api",
    "memory": "api",
    "recipes": "api",
    "explain_cache": "api",
    "predict": "api",
    "scan": "scanning",
    "Change": "analysis.differences",
    "Comparison": "analysis.differences",
    "Difference": "analysis.differences",
    "SourceChoice": "core.choices",
    "Target": "api",
    "Finding": "core.checkpoint",
    "Component": "core.components",
    "Role": "core.components",
    "HasConfig": "core.config",
    "Reads": "core.config",
    "Assumed": "core.expectation",
    "Beyond": "core.expectation",
    "Expectation": "core.expectation",
    "Against": "core.alternative_counts",
    "Approximation": "core.alternative_counts",
    "Attention": "core.explanation",
    "Candidate": "core.alternative_counts",
    "Convention": "core.alternative_counts",
    "Explanation": "core.explanation",
    "Letter": "core.ledger_lines",
    "Measurement": "core.alternative_counts",
    "NameSize": "core.alternative_counts",
    "Projection": "core.explanation",
    "Row": "core.ledger_lines",
    "Section": "core.ledger_lines",
    "Share": "core.ledger_lines",
    "TensorDifference": "core.alternative_counts",
    "Term": "core.alternative_counts",
    "Extent": "core.extents",
    "Verdict": "core.fitting",
    "Flops": "core.flop_count",
    "AdaptedGroup": "core.training_bytes",
    "Training": "core.training_bytes",
    "TrainingLine": "core.training_bytes",
    "AtContext": "core.footprint",
    "CacheDerivation": "core.cache_derivation",
    "CacheLine": "core.cache_derivation",
    "CacheGroup": "core.cache_size",
    "CacheSize": "core.cache_size",
    "Memory": "core.footprint",
    "Stage": "core.footprint",
    "LayerBytes": "core.offload_plan",
    "Offload": "core.offload_plan",
    "OffloadPlan": "core.offload_plan",
    "Reading": "core.bytes_read",
    "WeightBytes": "core.footprint",
    "Workspace": "core.footprint",
    "Formula": "core.formula",
    "Tree": "core.formula",
    "HubInfo": "core.hub_info",
    "ModelFacts": "core.model_facts",
    "Override": "core.overrides",
    "Progress": "core.progress",
    "RecipeList": "core.recipe_list",
    "RecipeSize": "core.recipe_bytes",
    "HeldAt": "core.recipe_fits",
    "OnCard": "core.recipe_fits",
    "RecipeFits": "core.recipe_fits",
    "Origin": "core.refs",
    "Adapter": "core.results",
    "Failure": "core.results",
    "Inspection": "core.results",
    "Inventory": "core.inventory",
    "InventoryFile": "core.inventory",
    "Member": "core.results",
    "Quantization": "core.results",
    "Totals": "core.results",
    "VariantFile": "core.results",
    "WeightFile": "core.results",
    "Packed": "core.tensor",
    "TensorInfo": "core.tensor",
    "TensorSpec": "core.tensor",
    "AuditFinding": "core.verdicts",
    "AuditResult": "core.verdicts",
    "Unchecked": "core.verdicts",
    "HfinspectError": "errors",
    "Deadline": "sources.deadline",
    "Timeout": "sources.deadline",
    "HeaderCache": "sources.header_cache",
    "HubClient": "sources.hub.client",
    "Listing": "sources.hub.model_info",
    "Session": "sources.login",
    "FileEntry": "sources.source",
    "Family": "trees.catalog",
    "Module": "trees.modules",
    "Prediction": "trees.prediction",
}

__all__ = [
    "AdaptedGroup",
    "Adapter",
    "Against",
    "Approximation",
    "Assumed",
    "AtContext",
    "Attention",
    "AuditFinding",
    "AuditResult",
    "Beyond",
    "CacheDerivation",
    "CacheGroup",
    "CacheLine",
    "CacheSize",
    "Candidate",
    "Change",
    "Comparison",
    "Component",
    "Convention",
    "Deadline",
    "Difference",
    "Expectation",
    "Explanation",
    "Extent",
    "Failure",
    "Family",
    "FileEntry",
    "Finding",
    "Flops",
    "Formula",
    "HasConfig",
    "HeaderCache",
    "HeldAt",
    "HfinspectError",
    "HubClient",
    "HubInfo",
    "Inspection",
    "Inventory",
    "InventoryFile",
    "LayerBytes",
    "Letter",
    "Listing",
    "Measurement",
    "Member",
    "Memory",
    "ModelFacts",
    "Module",
    "NameSize",
    "Offload",
    "OffloadPlan",
    "OnCard",
    "Origin",
    "Override",
    "Packed",
    "Prediction",
    "Progress",
    "Projection",
    "Quantization",
    "Reading",
    "Reads",
    "RecipeFits",
    "RecipeList",
    "RecipeSize",
    "Role",
    "Row",
    "Section",
    "Session",
    "Share",
    "SourceChoice",
    "Stage",
    "Target",
    "TensorDifference",
    "TensorInfo",
    "TensorSpec",
    "Term",
    "Timeout",
    "Totals",
    "Training",
    "TrainingLine",
    "Tree",
    "Unchecked",
    "VariantFile",
    "Verdict",
    "WeightBytes",
    "WeightFile",
    "Workspace",
    "__version__",
    "audit",
    "compare",
    "errors",
    "explain",
    "explain_cache",
    "inspect",
    "iter_tensors",
    "memory",
    "predict",
    "recipes",
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
