"""The limit of what a step needs next to weights and cache: logits, activations, the runtime.

``batch × 1 position × vocabulary × 4`` bytes of logits (float32, of the last token: that is all
that generating needs), the outputs of the widest group of projections that a layer holds at once
(gate and up, those of the experts that serve a token, or query, key and value) next to two copies
of the residual stream for the tokens of one step, and the device's own runtime. Attention is by a
kernel that keeps no square of scores (SDPA, flash). No factor is applied.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from ..core.footprint import Workspace
from ..core.model_facts import ModelFacts
from ..core.records import dataclass
from ..trees.modules import Module, Parameter, each_module
from .cache_request import ALL_TOKENS, CachedLayer, Indexing
from .matrices import Matrix, matrices

#: A device's context and libraries: about half a gigabyte with CUDA 12 (torch, cuBLAS, kernels).
RUNTIME_BYTES: Final = 512 * 1024**2
#: Projections back to the residual stream: their outputs take the place of the copies.
_BACK: Final = frozenset({"output", "down", "lm_head", "classifier"})
_EXPERT_BACK: Final = frozenset({"down_proj", "w2", "output_linear", "fc2", "wo", "c_proj"})


@dataclass(frozen=True)
class WorkspaceLimit:
    """The limit for one model. ``size`` are the bytes of one activation, ``ranks`` the devices that
    share each layer. The tree is walked once, however many contexts and batches are tried.

    ``layers`` is what each layer keeps, ``stacks`` where the decoder has them, ``facts`` what the
    config says, ``name`` the model type, ``deepstack`` how many layers get features of pictures,
    ``indexing`` what keys say of its indexer: for an engine that looks at each layer.
    ``architecture`` and ``config`` are the model's class and its config.json, ``cache_dtype`` that
    of the cache. ``encodes``: an encoder gives ``encoder_tokens`` (None: as many as there are of
    the decoder) to a decoder.
    """

    root: Module
    size: Fraction
    ranks: int = 1
    layers: tuple[CachedLayer, ...] = ()
    stacks: tuple[tuple[str, int], ...] = ()
    facts: ModelFacts = ModelFacts()
    name: str = ""
    deepstack: int = 0
    indexing: Indexing = ALL_TOKENS
    architecture: str = ""
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    cache_dtype: str = "F16"
    encodes: bool = False
    encoder_tokens: int | None = None

    def at(self, tokens: int, batch: int) -> Workspace:
        """For a step of so many tokens of each sequence."""
        vocabulary, hidden = self.token_table
        widest = -(-self._widest_block // self.ranks)
        return Workspace(
            logits=batch * vocabulary * 4,
            activation=math.ceil(batch * tokens * (widest + 2 * hidden) * self.size),
            runtime=RUNTIME_BYTES,
            formula=f"{batch} × {vocabulary:,} × 4 + {batch} × {tokens:,} × ({widest:,} + 2 × "
            f"{hidden:,}) × {self.size} + {RUNTIME_BYTES:,}",
        )

    def of_steps(self, tokens: int, sequences: int) -> Workspace:
        """For a step of so many tokens of all sequences together, of which so many are sampled:
        logits as the head gives them, and three copies in float32."""
        vocabulary, hidden = self.token_table
        widest = -(-self._widest_block // self.ranks)
        each = self.size + 3 * 4
        return Workspace(
            logits=math.ceil(sequences * vocabulary * each),
            activation=math.ceil(tokens * (widest + 2 * hidden) * self.size),
            runtime=RUNTIME_BYTES,
            formula=f"{sequences:,} × {vocabulary:,} × {each} + {tokens:,} × ({widest:,} + 2 × "
            f"{hidden:,}) × {self.size} + {RUNTIME_BYTES:,}",
        )

    @cached_property
    def windows(self) -> frozenset[int | None]:
        """Of the layers that keep rows; None among them for those that look at all."""
        return frozenset(layer.window for layer in self.layers if layer.keys_values)

    @cached_property
    def token_table(self) -> tuple[int, int]:
        """Rows and width of the largest token table; without one, as the config says them."""
        best = (0, 0)
        for module in each_module(self.root):
            weight = module.children.get("weight")
            if module.kind == "token" and isinstance(weight, Parameter):
                best = max(best, (int(weight.shape[0]), int(weight.shape[1])))
        return best if all(best) else (self.facts.vocabulary or 0, self.facts.width or 0)

    @cached_property
    def _widest_block(self) -> int:
        """The most outputs that the projections of one block have together for a token."""
        rows: Counter[str] = Counter()
        hidden = self.token_table[1]
        for matrix in matrices(self.root):
            if matrix.linear or matrix.kind == "expert":
                rows[matrix.path.rpartition(".")[0]] += _outputs(matrix, hidden)
        return max(rows.values(), default=0)


def _outputs(matrix: Matrix, hidden: int) -> int:
    """Outputs that are no part of the residual stream; of experts those that serve a token."""
    if matrix.kind in _BACK or matrix.name in _EXPERT_BACK:
        return 0
    if matrix.kind != "expert":
        return matrix.rows
    served = (matrix.active or (1, 1))[0]
    # One side of an expert's matrix is the stream, whichever way the file has it.
    inner = matrix.columns if matrix.rows == hidden else matrix.rows
    return served * inner if matrix.times > 1 or matrix.active else inner
