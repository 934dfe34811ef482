"""What is inside a Hugging Face model, before downloading it.

>>> import hfinspect
>>> hfinspect.inspect({"model_type": "gpt2"}).parameters  # a repo, a path, or a config itself
124439808
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import errors as errors
    from .analysis.differences import Change, ChangeKind, Comparison, ConfigChange, Difference
    from .api import (
        Target,
        audit,
        compare,
        explain,
        explain_cache,
        inspect,
        iter_tensors,
        memory,
        predict,
        recipes,
        runs,
        tokenizer,
    )
    from .core.alternative_counts import (
        Against,
        Approximation,
        Candidate,
        Convention,
        KnownModel,
        Measurement,
        NameSize,
        TensorDifference,
        Term,
    )
    from .core.bytes_read import Reading
    from .core.cache_derivation import CacheDerivation, CacheLine
    from .core.cache_size import CacheGroup, CacheSize
    from .core.checkpoint import Finding
    from .core.choices import Severity, SourceChoice, WeightMethod
    from .core.components import Component, Role
    from .core.config import Reads
    from .core.engine_answers import (
        EngineAnswer,
        EngineAnswers,
        KernelRow,
        LaunchLine,
        TrainingLaunch,
    )
    from .core.expectation import Assumed, Beyond, Expectation, Reshaped
    from .core.explanation import Attention, Explanation, Projection, Remark
    from .core.extents import Extent
    from .core.fitting import NamedDevice, Verdict
    from .core.flop_count import Flops
    from .core.footprint import AtContext, Memory, Stage, WeightBytes, Workspace
    from .core.formula import Formula, Tree
    from .core.given_config import HasConfig
    from .core.hub_info import HubInfo
    from .core.inventory import Inventory, InventoryFile
    from .core.ledger_lines import Letter, Row, Section, Share
    from .core.media_tokens import MediaTokens
    from .core.model_facts import ModelFacts
    from .core.offload_plan import LayerBytes, Offload, OffloadPlan
    from .core.overrides import Override
    from .core.progress import Progress
    from .core.recipe_bytes import RecipeSize
    from .core.recipe_fits import HeldAt, OnCard, RecipeFits
    from .core.recipe_list import RecipeList
    from .core.refs import Origin, OriginKind
    from .core.results import (
        Adapter,
        BitsOf,
        Failure,
        Inspection,
        Member,
        Quantization,
        Totals,
        VariantFile,
        WeightFile,
    )
    from .core.scan_summary import RowGroup, RowGroups, ScanSummary, SizeClass
    from .core.tensor import BeyondKind, Packed, TensorInfo, TensorSpec
    from .core.tokenizer_facts import (
        AddedToken,
        ChatTemplate,
        ContextLengths,
        SpecialToken,
        TokenizerFacts,
        Vocabulary,
    )
    from .core.training_bytes import AdaptedGroup, Training, TrainingLine
    from .core.verdicts import AuditFinding, AuditResult, Unchecked
    from .core.weight_changes import (
        ChangedTensors,
        EqualFile,
        FileIdentity,
        ReadingCost,
        WeightChanges,
    )
    from .core.wholeness import Problem, ProblemKind, SizedBy
    from .errors import HfinspectError
    from .scanning import report, scan
    from .sources.deadline import Deadline, Timeout
    from .sources.header_cache import HeaderCache
    from .sources.hub.client import HubClient
    from .sources.hub.model_info import Listing
    from .sources.login import Session
    from .sources.source import FileEntry
    from .trees.catalog import Family
    from .trees.modules import Module
    from .trees.prediction import Prediction

#: Where each public name lives: module -> names. They are imported on first use, so that ``import
#: hfinspect`` and ``hfinspect --version`` cost nothing. The imports above and ``__all__`` are made
#: of this by ``python -m tests.packaging.public_names``.
_HOMES = {
    "analysis.differences": ("Change", "ChangeKind", "Comparison", "ConfigChange", "Difference"),
    "api": (
        "Target",
        "audit",
        "compare",
        "explain",
        "explain_cache",
        "inspect",
        "iter_tensors",
        "memory",
        "predict",
        "recipes",
        "runs",
        "tokenizer",
    ),
    "core.alternative_counts": (
        "Against",
        "Approximation",
        "Candidate",
        "Convention",
        "KnownModel",
        "Measurement",
        "NameSize",
        "TensorDifference",
        "Term",
    ),
    "core.bytes_read": ("Reading",),
    "core.cache_derivation": ("CacheDerivation", "CacheLine"),
    "core.cache_size": ("CacheGroup", "CacheSize"),
    "core.checkpoint": ("Finding",),
    "core.choices": ("Severity", "SourceChoice", "WeightMethod"),
    "core.components": ("Component", "Role"),
    "core.config": ("Reads",),
    "core.expectation": ("Assumed", "Beyond", "Expectation", "Reshaped"),
    "core.engine_answers": (
        "EngineAnswer",
        "EngineAnswers",
        "KernelRow",
        "LaunchLine",
        "TrainingLaunch",
    ),
    "core.explanation": ("Attention", "Explanation", "Projection", "Remark"),
    "core.extents": ("Extent",),
    "core.fitting": ("NamedDevice", "Verdict"),
    "core.flop_count": ("Flops",),
    "core.footprint": ("AtContext", "Memory", "Stage", "WeightBytes", "Workspace"),
    "core.formula": ("Formula", "Tree"),
    "core.given_config": ("HasConfig",),
    "core.hub_info": ("HubInfo",),
    "core.inventory": ("Inventory", "InventoryFile"),
    "core.ledger_lines": ("Letter", "Row", "Section", "Share"),
    "core.media_tokens": ("MediaTokens",),
    "core.model_facts": ("ModelFacts",),
    "core.offload_plan": ("LayerBytes", "Offload", "OffloadPlan"),
    "core.overrides": ("Override",),
    "core.progress": ("Progress",),
    "core.recipe_bytes": ("RecipeSize",),
    "core.recipe_fits": ("HeldAt", "OnCard", "RecipeFits"),
    "core.recipe_list": ("RecipeList",),
    "core.refs": ("Origin", "OriginKind"),
    "core.results": (
        "Adapter",
        "BitsOf",
        "Failure",
        "Inspection",
        "Member",
        "Quantization",
        "Totals",
        "VariantFile",
        "WeightFile",
    ),
    "core.scan_summary": ("RowGroup", "RowGroups", "ScanSummary", "SizeClass"),
    "core.tensor": ("BeyondKind", "Packed", "TensorInfo", "TensorSpec"),
    "core.tokenizer_facts": (
        "AddedToken",
        "ChatTemplate",
        "ContextLengths",
        "SpecialToken",
        "TokenizerFacts",
        "Vocabulary",
    ),
    "core.training_bytes": ("AdaptedGroup", "Training", "TrainingLine"),
    "core.verdicts": ("AuditFinding", "AuditResult", "Unchecked"),
    "core.weight_changes": (
        "ChangedTensors",
        "EqualFile",
        "FileIdentity",
        "ReadingCost",
        "WeightChanges",
    ),
    "core.wholeness": ("Problem", "ProblemKind", "SizedBy"),
    "errors": ("HfinspectError",),
    "scanning": ("report", "scan"),
    "sources.deadline": ("Deadline", "Timeout"),
    "sources.header_cache": ("HeaderCache",),
    "sources.hub.client": ("HubClient",),
    "sources.hub.model_info": ("Listing",),
    "sources.login": ("Session",),
    "sources.source": ("FileEntry",),
    "trees.catalog": ("Family",),
    "trees.modules": ("Module",),
    "trees.prediction": ("Prediction",),
}

__all__ = [
    "AdaptedGroup", "Adapter", "AddedToken", "Against", "Approximation", "Assumed", "AtContext",
    "Attention", "AuditFinding", "AuditResult", "Beyond", "BeyondKind", "BitsOf", "CacheDerivation",
    "CacheGroup", "CacheLine", "CacheSize", "Candidate", "Change", "ChangeKind", "ChangedTensors",
    "ChatTemplate", "Comparison", "Component", "ConfigChange", "ContextLengths", "Convention",
    "Deadline", "Difference", "EngineAnswer", "EngineAnswers", "EqualFile", "Expectation",
    "Explanation", "Extent", "Failure", "Family", "FileEntry", "FileIdentity", "Finding", "Flops",
    "Formula", "HasConfig", "HeaderCache", "HeldAt", "HfinspectError", "HubClient", "HubInfo",
    "Inspection", "Inventory", "InventoryFile", "KernelRow", "KnownModel", "LaunchLine",
    "LayerBytes", "Letter", "Listing", "Measurement", "MediaTokens", "Member", "Memory",
    "ModelFacts", "Module", "NameSize", "NamedDevice", "Offload", "OffloadPlan", "OnCard", "Origin",
    "OriginKind", "Override", "Packed", "Prediction", "Problem", "ProblemKind", "Progress",
    "Projection", "Quantization", "Reading", "ReadingCost", "Reads", "RecipeFits", "RecipeList",
    "RecipeSize", "Remark", "Reshaped", "Role", "Row", "RowGroup", "RowGroups", "ScanSummary",
    "Section", "Session", "Severity", "Share", "SizeClass", "SizedBy", "SourceChoice",
    "SpecialToken", "Stage", "Target", "TensorDifference", "TensorInfo", "TensorSpec", "Term",
    "Timeout", "TokenizerFacts", "Totals", "Training", "TrainingLaunch", "TrainingLine", "Tree",
    "Unchecked", "VariantFile", "Verdict", "Vocabulary", "WeightBytes", "WeightChanges",
    "WeightFile", "WeightMethod", "Workspace", "__version__", "audit", "compare", "errors",
    "explain", "explain_cache", "inspect", "iter_tensors", "memory", "predict", "recipes", "report",
    "runs", "scan", "tokenizer",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name == "errors":
        return importlib.import_module(".errors", __name__)
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
