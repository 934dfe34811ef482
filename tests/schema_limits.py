"""What a schema says of a key beyond its annotation: words of a text, patterns, forms made by
hand. ``Class.key`` -> what is added, or what stands in place of the annotation's schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hfinspect.checkpoints.repo_layout import Layout
from hfinspect.core.choices import LOADERS, SEVERITIES, WEIGHT_METHODS
from hfinspect.core.components import Role
from hfinspect.core.tokenizer_facts import MAX_LISTED
from hfinspect.core.weight_changes import VERDICTS
from hfinspect.errors import PARTS
from hfinspect.sizing.training import METHODS, PRECISIONS

_CODE: Final = {"type": "string", "pattern": "^HI[1-5][0-9]{2}$"}
#: A severity -> how many findings have it.
_COUNTS: Final = {
    "type": "object",
    "required": list(reversed(SEVERITIES)),
    "additionalProperties": False,
    "properties": {name: {"type": "integer", "minimum": 0} for name in reversed(SEVERITIES)},
}

LIMITS: Final[Mapping[str, Any]] = {
    "AuditFinding.code": _CODE,
    "AuditResult.counts": _COUNTS,
    "AuditSum.counts": _COUNTS,
    "AuditSum.codes": {
        "type": "object",
        "propertyNames": _CODE,
        "additionalProperties": {"type": "integer", "minimum": 1},
    },
    "AuditResult.rules": {"type": "array", "items": _CODE},
    "Comparison.models": {
        "type": "array",
        "minItems": 2,
        "items": {"type": "object", "description": "as in inspection.schema.json"},
    },
    "Change.role": {"enum": [role.value for role in Role]},
    "Comparison.differences": {"minItems": 1},
    "EngineAnswer.engine": {"enum": list(LOADERS)},
    "HfinspectError": {
        "type": "object",
        "required": ["kind", "message", *PARTS],
        "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
    },
    "Inspection.contents": {"type": "object"},
    "Inspection.layout": {"enum": [layout.value for layout in Layout]},
    "Letter.letter": {"pattern": "^[A-Za-z](_[a-z0-9]+)?$"},
    "Stage.holds": {"type": "array", "items": {"enum": ["embedding", "head"]}},
    "Training.method": {"enum": list(METHODS)},
    "Training.precision": {"enum": list(PRECISIONS)},
    "Training.zero": {"maximum": 3},
    "KeptHeaders.action": {"enum": ["info", "clear", "kept"]},
    "Memories.models": {
        "type": "array",
        "minItems": 2,
        "items": {
            "type": "object",
            "required": ["schema_version", "target", "weights", "at", "verdict"],
        },
    },
    "Op.args": {"minItems": 2},
    "Rule.code": _CODE,
    "TokenizerFacts.added_tokens": {"maxItems": MAX_LISTED},
    "ChatTemplate.modalities": {"type": "array", "items": {"enum": ["image", "video", "audio"]}},
    "WeightChanges.method": {"enum": list(WEIGHT_METHODS)},
    "WeightChanges.verdict": {"enum": list(VERDICTS)},
}
#: Whole numbers that may be below zero, and such as need not be whole.
SIGNED: Final = frozenset(
    "Against.difference Approximation.left_over Convention.value Measurement.unexplained "
    "TensorDifference.parameters Formula.value Letter.value Term.value "
    "Adapter.alpha ContextLengths.factor".split()
)
#: The least of the others where it is not zero: of one key, or of all of a class.
LEAST: Final[Mapping[str, int]] = {
    "ModelFacts": 1,
    "Branch.count": 1,
    "Card": 1,
    "Change.tensors": 1,
    "AtContext.context": 1,
    "Memory.batch": 1,
    "Memory.tensor_parallel": 1,
    "Memory.pipeline_parallel": 1,
    "Memory.expert_parallel": 1,
}
