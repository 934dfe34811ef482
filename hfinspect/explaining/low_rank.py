"""Where the parameters of a low-rank adapter come from: two matrices for each module it changes.

LoRA (Hu et al., 2021) adds ``B·A`` to a module's weight: ``A`` has ``r`` rows and as many columns
as the module has inputs, ``B`` has as many rows as it has outputs and ``r`` columns. So a module
gains ``r·(inputs + outputs)`` parameters. Shapes are those of the adapter's own file.
"""

import math
import re
from collections.abc import Iterable

from ..analysis.kinds import Pattern
from ..core.records import dataclass

#: How PEFT, diffusers and other trainers call the two matrices, and what follows a name.
FIRST = re.compile(r"\.(?:lora_A|lora_down|lora\.down|lora_embedding_A)(?=\.|$)")
SECOND = re.compile(r"\.(?:lora_B|lora_up|lora\.up|lora_embedding_B)(?=\.|$)")


@dataclass(frozen=True)
class LowRankModule:
    """Modules of equal shapes that an adapter changes.

    Fields:
        name: with ranges for layers: ``model.layers.[0-31].self_attn.q_proj``
        rank: rows of A
        inputs: columns of A; of a convolution, channels times the kernel's area
        outputs: rows of B
        modules [modules]: how many there are
        parameters [parameters]: of all of them
    """

    name: str
    rank: int
    inputs: int
    outputs: int
    modules: int
    parameters: int

    @property
    def formula(self) -> str:
        """``16·(4,096 + 1,024)``: one module."""
        return f"{self.rank:,}·({self.inputs:,} + {self.outputs:,})"


@dataclass(frozen=True)
class LowRank:
    """``modules`` and ``others``, which the adapter holds whole; together they are all of it."""

    modules: tuple[LowRankModule, ...]
    others: tuple[Pattern, ...]

    @property
    def parameters(self) -> int:
        """Of the low-rank modules."""
        return sum(module.parameters for module in self.modules)


def low_rank(patterns: Iterable[Pattern]) -> LowRank:
    """Pairs of the two matrices that fit each other; whatever has no partner is among
    ``others``."""
    first: dict[str, Pattern] = {}
    second: dict[str, Pattern] = {}
    others: list[Pattern] = []
    for pattern in patterns:
        name = pattern.name
        for matrix, patterns_of in ((FIRST, first), (SECOND, second)):
            parts = matrix.split(name)
            if len(parts) == 2 and len(pattern.shape) >= 2 and parts[0] not in patterns_of:
                patterns_of[parts[0]] = pattern
                break
        else:
            others.append(pattern)
    modules = []
    for name in dict.fromkeys((*first, *second)):
        a = first.get(name)
        b = second.get(name)
        module = None if a is None or b is None else _module(name, a, b)
        if module is None:
            others += [one for one in (a, b) if one is not None]
        else:
            modules.append(module)
    return LowRank(tuple(modules), tuple(others))


def _module(name: str, a: Pattern, b: Pattern) -> LowRankModule | None:
    rank = int(a.shape[0])
    inputs = math.prod(map(int, a.shape[1:]))
    outputs = int(b.shape[0])
    inner = math.prod(map(int, b.shape[1:]))
    sizes = a.parameters, b.parameters
    if rank != inner or a.tensors != b.tensors or sizes[0] is None or sizes[1] is None:
        return None
    if sizes[0] + sizes[1] != rank * (inputs + outputs) * a.tensors:
        return None
    return LowRankModule(name, rank, inputs, outputs, a.tensors, sizes[0] + sizes[1])
