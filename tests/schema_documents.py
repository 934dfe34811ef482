"""Which schemas there are, each with its title and what its document is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hfinspect.analysis.differences import Comparison
from hfinspect.auditing.registry import Rule
from hfinspect.cli.cache import KeptHeaders
from hfinspect.core.cache_derivation import CacheDerivation
from hfinspect.core.engine_answers import EngineAnswers
from hfinspect.core.explanation import Explanation
from hfinspect.core.footprint import Memory
from hfinspect.core.recipe_list import RecipeList
from hfinspect.core.results import Inspection
from hfinspect.core.scan_summary import ScanSummary
from hfinspect.core.tensor import TensorInfo
from hfinspect.core.tokenizer_facts import TokenizerFacts
from hfinspect.errors import HfinspectError
from hfinspect.reports.memory_side_by_side import Memories
from hfinspect.reports.model_types import Architectures
from hfinspect.reports.module_tree import ModuleTrees
from hfinspect.reports.recipe_lines import Cards
from hfinspect.reports.verdict import Audits, RuleList
from hfinspect.scanning.rows import (
    AUDIT_COLUMNS,
    COLUMNS,
    LEADING,
    MEMORY_COLUMNS,
    TOTALS_COLUMNS,
)

from .schema_files import Maker, Schema, object_with

_TEXT: Final = {"type": "string"}


def _of(cls: Any, title: str, description: str) -> Callable[[Maker], str]:
    """The schema of one result."""

    def made(maker: Maker) -> str:
        maker.root = cls
        return maker.document(title, description, maker.object_of(cls))

    return made


def _inspection(maker: Maker) -> str:
    body = maker.object_of(Inspection)
    tensors = {"type": "array", "items": maker.schema_of(TensorInfo)}
    body["properties"]["tensors"] = {**tensors, "description": "of hfinspect tensors alone"}
    return maker.document(
        "inspection",
        "What hfinspect MODEL --format json prints and Inspection.to_dict() returns. All counts "
        "are exact integers; null is unknown.",
        body,
    )


def _error(maker: Maker) -> str:
    return maker.document(
        "error",
        "What --format json prints in place of a result where there is none.",
        object_with(error=maker.schema_of(HfinspectError)),
    )


def _scan_row(maker: Maker) -> str:
    kinds: Mapping[str, Schema] = {
        "string": {"type": ["string", "null"]},
        "int64": {"type": ["integer", "null"], "minimum": 0},
        "bool": {"type": ["boolean", "null"]},
    }
    properties: Schema = {}
    for columns in (LEADING, COLUMNS, MEMORY_COLUMNS, AUDIT_COLUMNS, TOTALS_COLUMNS):
        for name, column in columns.items():
            text = column.meaning.replace("`", "")
            properties[name] = {**kinds[column.kind], "description": text}
    properties["target"]["type"] = "string"
    properties["status"] = {
        "enum": ["ok", "failed"],
        "description": properties["status"]["description"],
    }
    none = {"type": "null"}
    body = {
        **object_with(**properties),
        "required": list(LEADING),
        "if": {"properties": {"status": {"const": "failed"}}},
        "then": {"properties": {"error_kind": _TEXT, "error": _TEXT, "commit": none}},
        "else": {"properties": {"error_kind": none, "error": none}},
    }
    return maker.document(
        "scan row",
        "One line of hfinspect scan --format jsonl. Columns of --columns, --audit and "
        "--totals-only are there if they are named; null where unknown.",
        body,
    )


DOCUMENTS: Final[Mapping[str, Callable[[Maker], str]]] = {
    "architectures": _of(
        Architectures,
        "architectures",
        "What the catalog knows, as hfinspect architectures --format json writes it.",
    ),
    "audit": _of(
        Audits,
        "audit",
        "What hfinspect audit TARGET ... --format json prints: one result a target, in the order "
        "given. A result is AuditResult.to_dict(), or says why a target could not be audited.",
    ),
    "cache": _of(
        CacheDerivation,
        "explain --cache",
        "What hfinspect explain MODEL --cache --format json prints and CacheDerivation.to_dict() "
        "returns. The bytes of the lines sum up to cache.nbytes.",
    ),
    "cards": _of(
        Cards,
        "memory --on list",
        "The device names for --on, as hfinspect memory --on list --format json writes them.",
    ),
    "comparison": _of(
        Comparison,
        "comparison",
        "What hfinspect compare A B ... --format json prints: Comparison.to_dict(). Every model "
        "but the first is compared with the first, which is called here, the other there.",
    ),
    "error": _error,
    "explanation": _of(
        Explanation,
        "explanation",
        "What hfinspect explain MODEL --format json prints and Explanation.to_dict() returns. All "
        "counts are exact integers.",
    ),
    "inspection": _inspection,
    "kept-headers": _of(
        KeptHeaders,
        "cache",
        "The cache of headers, as hfinspect cache info --format json and cache clear write it.",
    ),
    "memories": _of(
        Memories,
        "memory of several models",
        "Several models side by side, as hfinspect memory A B --format json writes them.",
    ),
    "memory": _of(
        Memory,
        "memory",
        "What a model needs to run, as hfinspect memory --format json writes it. Sizes are bytes.",
    ),
    "recipes": _of(
        RecipeList,
        "memory --quantize",
        "What a model weighs under recipes, as hfinspect memory MODEL --quantize all --format json "
        "writes it.",
    ),
    "report": _of(
        ScanSummary,
        "report",
        "What hfinspect report ROWS --format json prints and ScanSummary.to_dict() returns.",
    ),
    "rule": _of(
        Rule,
        "audit --explain",
        "A rule of the audit, as hfinspect audit --explain CODE --format json writes it.",
    ),
    "rules": _of(
        RuleList,
        "audit --list",
        "The rules of the audit, as hfinspect audit --list --format json writes them.",
    ),
    "runs": _of(
        EngineAnswers,
        "runs",
        "Which engines load a model, as hfinspect runs MODEL --format json writes it.",
    ),
    "scan-row": _scan_row,
    "tokenizer": _of(
        TokenizerFacts,
        "tokenizer",
        "What hfinspect tokenizer MODEL --format json prints and TokenizerFacts.to_dict() returns. "
        "Counts are exact integers; null means unknown.",
    ),
    "tree": _of(
        ModuleTrees,
        "tree",
        "What hfinspect tree MODEL --format json prints: the modules in the order of print(model). "
        "All counts are exact integers.",
    ),
}
