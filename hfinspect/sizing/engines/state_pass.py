"""What a prompt takes in layers with states, by transformers' own code in torch.

Installed kernels (mamba_ssm, fla) take less, so this is a limit with them too. All in float32 but
the projections, for each sequence rounded up to whole chunks of C tokens:

- Mamba (Falcon-Mamba, Jamba; Zamba, head by head): three arrays of inner width × state size, two
  of the inner width, and eight at the model's width
- Mamba-2 (Bamba, Falcon-H1, Granite 4, Nemotron-H, Zamba2), H heads: three arrays of H × C, eight
  of the inner width, inputs with the repeated groups; three states of each chunk, and five more
- gated delta nets (Qwen3-Next, Qwen3.5, OLMo Hybrid), H heads: five arrays of H keys, five of H
  values, three of H × 64 (Kimi Linear, Ling 2.6: of H × 64 × keys too), and four states
- xLSTM: nine arrays of the values' width, four of the keys', ten of H × 64, in the model's dtype;
  two states of each chunk, or six in float32
- a gated linear recurrence (RecurrentGemma): 13 arrays of its width

Source: ``torch_forward`` and ``torch_chunk_gated_delta_rule`` of models/*/modeling_*.py
(transformers, TRANSFORMERS_RUN), read on 2026-11-28 and compared with
fixtures/oracle/transformers_workspace.json.
"""

import math
from collections import defaultdict
from fractions import Fraction
from typing import Final

from ...core.components import Component
from ...core.once import once_each
from ..matrices import matrices
from ..workspace import WorkspaceLimit
from .interface import padded
from .pass_types import number

_FLOAT: Final = 4
#: Tokens of a chunk where no key says it, and those of a gated delta net.
_CHUNK: Final = 256
_CHUNKS: Final = {"nemotron_h": 128}
_DELTA_CHUNK: Final = 64
_XLSTM_CHUNK: Final = 64
_CHUNK_KEYS: Final = ("chunk_size", "mamba_chunk_size")
#: Projections that give a number a head, and how many of them.
_HEAD_GATES: Final = {"in_proj_ba": 2, "in_proj_b": 1, "b_proj": 1}
#: Gates of a gated delta net that differ by key (of Kimi Linear and its relatives).
_BY_KEY: Final = frozenset({"f_b_proj", "f_proj"})


def state_pass(limit: WorkspaceLimit, tokens: int, batch: int) -> Fraction:
    """Bytes of the widest layer with states for ``batch`` prompts; 0 without one."""
    shapes, recurrent = _shapes(limit)
    if not recurrent:
        return Fraction(0)
    rows = _rows(limit)
    hidden = limit.token_table[1]
    size = limit.size
    stream = 4 * hidden * size * tokens
    if limit.name == "xlstm" and len(recurrent) > 1:
        heads = limit.facts.heads or 1
        numbers = 9 * recurrent[0] + heads * (4 * recurrent[1] + 10 * _XLSTM_CHUNK)
        chunks = max(24, 4 * (tokens // _XLSTM_CHUNK + 1))
        return batch * (tokens * numbers * size + chunks * math.prod(recurrent))
    if len(recurrent) == 1:
        return batch * (stream + 13 * recurrent[0] * size * tokens)
    if any("x_proj" in name for name in rows):
        inner = math.prod(recurrent[:-1])
        wide = recurrent[-1]
        scanned = inner // (recurrent[0] if len(recurrent) > 2 else 1)  # head by head
        mamba = stream + tokens * (_FLOAT * (3 * scanned * wide + 2 * inner) + 8 * inner * size)
        return batch * mamba + (batch + 1) * inner * wide * _FLOAT
    gate = next((name for name in _HEAD_GATES if name in rows), None)
    gated = rows[gate] // _HEAD_GATES[gate] if gate else _heads_within(limit)
    convolved = sum(math.prod(map(int, shapes[name][:1])) for name in shapes if name != "recurrent")
    if gated:
        heads = max(1, gated)
        keys = recurrent[0] // heads
        by_key = keys * (not _BY_KEY.isdisjoint(rows))
        each = 5 * (keys + recurrent[1]) + 3 * _DELTA_CHUNK * (1 + by_key)
        rows_in = sum(rows.values()) + convolved
        rounded = padded(tokens, _DELTA_CHUNK)
        states = 4 * _FLOAT * math.prod(recurrent)
        return batch * (stream + rounded * _FLOAT * heads * each + tokens * size * rows_in + states)
    if "in_proj" not in rows:
        return Fraction(0)
    return batch * (stream + _mamba2(limit, recurrent, rows["in_proj"], convolved, tokens))


@once_each
def _shapes(limit: WorkspaceLimit) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """The shape of each state by its name, and that of the largest recurrent one."""
    every = [state for layer in limit.layers for state in layer.states]
    recurrent = [tuple(map(int, state.shape)) for state in every if state.name == "recurrent"]
    shapes = {state.name: state.shape for state in every}
    return shapes, max(recurrent, key=math.prod, default=())


def _heads_within(limit: WorkspaceLimit) -> int:
    """Of a gated delta net whose gates are rows of its one projection; 0 of others."""
    if limit.name != "lara_mini":
        return 0
    return number(limit.config.get("linear_num_value_heads"), 16)


def _mamba2(
    limit: WorkspaceLimit, recurrent: tuple[int, ...], projected: int, convolved: int, tokens: int
) -> Fraction:
    """Of one prompt, next to the stream."""
    inner = math.prod(recurrent[:-1])
    wide = recurrent[-1]
    heads = max(1, projected - inner - convolved)
    sizes = (limit.config.get(key) for key in _CHUNK_KEYS)
    chunk = next((n for n in sizes if type(n) is int and n > 0), _CHUNKS.get(limit.name, _CHUNK))
    rounded = padded(tokens, chunk)
    arrays = 3 * heads * chunk + 9 * inner + 2 * heads * wide
    states = (3 * (rounded // chunk) + 5) * inner * wide
    return _FLOAT * (rounded * arrays + states) + tokens * limit.size * (projected + convolved)


@once_each
def _rows(limit: WorkspaceLimit) -> dict[str, int]:
    """Rows of the projections of the widest layer with states, by name."""
    widest: defaultdict[str, int] = defaultdict(int)
    for matrix in matrices(limit.root):
        name = matrix.path.rpartition(".")[2]
        projects = matrix.component is Component.SSM and (matrix.linear or name == "x_proj_weight")
        if projects and name not in ("out_proj", "linear_out"):
            widest[name] = max(widest[name], matrix.rows)
    return dict(widest)
