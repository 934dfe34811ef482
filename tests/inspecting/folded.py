"""One checkpoint inspected twice: tensors that are alike once, and each by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hfinspect.analysis.count import per_layer
from hfinspect.analysis.folded_table import FoldedTensors
from hfinspect.analysis.kinds import fold
from hfinspect.core.checkpoint import Checkpoint, Shard
from hfinspect.core.refs import Origin
from hfinspect.core.results import Inspection
from hfinspect.formats.safetensors.safetensors import shard_from_header
from hfinspect.inspecting.single import inspect_weights

from ..builders import Tensors, header_text, safetensors_header


class Both(NamedTuple):
    """The two results."""

    folded: Inspection
    plain: Inspection

    @property
    def is_folded(self) -> bool:
        return isinstance(self.folded.tensors, FoldedTensors)


def shards_of(parts: Sequence[Tensors], metadata: Mapping[str, str] | None = None) -> list[Shard]:
    return [
        shard_from_header(f"model-{at}.safetensors", header_text(header), None)
        for at, header in enumerate(safetensors_header(part, metadata) for part in parts)
    ]


def both(
    parts: Sequence[Tensors],
    config: Mapping[str, Any] | None = None,
    companions: Mapping[str, Any] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Both:
    """``parts`` are the tensors of each shard."""
    shards = shards_of(parts, metadata)
    apart = [replace(shard, tensors=tuple(shard.tensors)) for shard in shards_of(parts, metadata)]
    return Both(
        *(
            inspect_weights(
                "m",
                Origin("directory", "m"),
                Checkpoint("safetensors", tuple(one)),
                config,
                companions or {},
            ).inspection
            for one in (shards, apart)
        )
    )


def check_equal(models: Both) -> None:
    """Every number, name and order is the same."""
    one, other = models
    assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())
    assert per_layer(one.tensors) == per_layer(other.tensors)
    assert len(one.tensors) == len(other.tensors)
    assert tuple(one.tensors) == tuple(other.tensors)
    assert one == other
    assert fold(one.tensors) == fold(other.tensors)


def in_parts(tensors: Tensors, number: int) -> list[Tensors]:
    """The same as so many shards."""
    items = list(tensors.items())
    each = -(-len(items) // number) or 1
    return [dict(items[at : at + each]) for at in range(0, len(items), each)] or [{}]
