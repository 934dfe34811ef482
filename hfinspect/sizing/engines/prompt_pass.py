"""What ``generate()`` of transformers takes next to weights and cache, at most.

It runs the whole prompt at once. For b sequences of N tokens in a bytes a number, h the width, the
largest of these moments is the limit; of tokens, T = b·N:

- A feed-forward layer: the table's rows, the residual stream before and after attention, what
  attention gave, the norm's output and the sum (6·h, of which most types hold 4), and its arrays:
  three of the inner width where a gate multiplies, four where gate and up are one matrix, two where
  the activation is one kernel and five where it is written out (``gelu_new``, BLOOM's; three of
  ``relu2``). Next to shared experts two rows more.
- Experts (``grouped_mm`` in integrations/moe.py): for each of the k that serve a token its row and
  four arrays of the inner width (nine in gpt-oss), or six rows (four where the router weights them
  in the model's dtype); and the router's scores. Llama 4 gives all tokens to all experts.
- Attention: 4·h, the projections, three copies of queries while they are rotated, six where that is
  in float32 (Cohere, ERNIE 4.5); with a mask four of queries and two of keys, as keys and values
  are repeated for each query head. Where latents become heads, two copies of queries more.
- A norm in float32: 8·h.
- The scores of eager attention: heads · b · N² of two float32 and one array (three where attention
  is written in float32), and keys and values repeated; one array stays during the feed-forward
  layer. Falcon's one key head has no fused kernel: torch computes it in float32.
- Sampling: the last position's logits, and five copies in float32; where ``forward`` has no
  ``logits_to_keep``, logits of all positions.
- An indexer (DeepSeek-V3.2 and its like): b · N² in float32 of its heads twice, or, of more than
  one sequence, once and its keys copied for each token; 3 bytes of b · N² and the tokens it chose.

Next to each: rotary tables and positions (CTRL's and MPT's for all positions they have); masks of
one byte for b·N² (of a where eager) for each kind of window, where sequences are padded, a window
is shorter than the prompt, or the cache is static; and the rows of windowed layers that a
DynamicCache lets go with the next token only (``DynamicSlidingWindowLayer`` keeps a view of all).
The step after the prompt takes less.

Source: models/*/modeling_*.py, generation/utils.py (``_sample``), cache_utils.py, masking_utils.py,
integrations/sdpa_attention.py of transformers (TRANSFORMERS_RUN), read on 2026-11-28 and
compared with fixtures/oracle/transformers_workspace.json. ``state_pass.py`` has layers with states,
``encoder_pass.py`` encoders with a decoder.
"""

import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Final

from ...core.footprint import Workspace
from ...core.once import once_each
from ..matrices import Matrix, matrices
from ..workspace import RUNTIME_BYTES, WorkspaceLimit
from .encoder_pass import COPIES, IDS, Widths, encoder_pass
from .pass_types import grown, is_eager, number, number_of, pair, text_of, value_of, values_of
from .state_pass import state_pass

#: What eager attention holds of all scores: arrays of the model's dtype and of float32, and arrays
#: that stay during the feed-forward layer; of types without sdpa the second.
_SCORES: Final = (1, 2, 1), (1, 3, 2)
_QUERIES: Final = frozenset({"query", "qkv", "query_up"})
#: Activations that are one kernel of torch.
_ONE_KERNEL: Final = frozenset({"relu", "gelu", "gelu_pytorch_tanh", "silu", "swish", "tanh"})
_ACTIVATION_KEYS: Final = (
    *("hidden_act", "activation_function", "hidden_activation", "activation"),
    *("mlp_hidden_act", "feed_forward_proj", "dense_act_fn", "encoder_hidden_act"),
)


@once_each
def _widths(limit: WorkspaceLimit) -> Widths:
    """Of a model's blocks, as one device has them."""
    hidden = limit.token_table[1]
    blocks: defaultdict[str, list[Matrix]] = defaultdict(list)
    for matrix in matrices(limit.root):
        blocks[matrix.path.rpartition(".")[0]].append(matrix)
    activations = {str(text_of(limit).get(key)) for key in _ACTIVATION_KEYS}
    written = 3 if "relu2" in activations else value_of(limit, "activated", 5)
    plain = 2 if activations & _ONE_KERNEL else written
    gated = value_of(limit, "gated_arrays", 3)
    keys = [int(item.key) for layer in limit.layers for item in layer.keys_values]
    dense = encoder = experts = projected = queries = 0
    index = 0, 0
    for path, block in blocks.items():
        kinds = {matrix.kind for matrix in block}
        if "expert" in kinds:
            experts = max(experts, _of_experts(limit, block, hidden))
        elif kinds & {"up", "gate_up", "shared_expert"} or (
            "gate" in kinds and not kinds & _QUERIES
        ):
            inner = _of_dense(block, hidden, plain, plain if "gated-gelu" in activations else gated)
            if "encoder" in path.split("."):
                encoder = max(encoder, inner)
            else:
                dense = max(dense, inner)
        elif path.endswith(".indexer"):
            keys_of_index = [m.rows for m in block if m.name == "wk"]
            index = max((m.rows for m in block), default=0), max(keys_of_index, default=0)
        elif kinds & _QUERIES:
            rows = [m.rows for m in block if m.linear and m.kind != "output"]
            heads = [m.columns for m in block if m.kind == "output"]
            heads += [m.rows for m in block if m.kind in {"query", "query_up"}]
            wide = max(heads, default=hidden)
            queries = max(queries, wide)
            projected = max(projected, sum(rows) + (2 * wide if "kv_up" in kinds else 0))
    if limit.encodes and not (dense or encoder or experts):  # a tree without words for them
        dense = encoder = gated * number(limit.config.get("d_ff"), 2048)
    if not limit.encodes:  # an encoder that generates is its own decoder
        dense = encoder = max(dense, encoder)
    if not queries:  # jetmoe's are experts
        queries = max(keys, default=0) * (limit.facts.heads or 1) // (limit.facts.kv_heads or 1)
    return Widths(
        *(
            -(-n // limit.ranks)
            for n in (dense, encoder, experts, projected, queries, max(keys, default=0), *index)
        )
    )


def _of_dense(block: list[Matrix], hidden: int, plain: int, gated: int) -> int:
    """``plain``: arrays of the inner width where no gate multiplies, ``gated``: where one does."""
    down = [m.columns for m in block if m.kind == "down"]
    rows = [m.rows for m in block if m.linear and m.kind in {"up", "gate", "gate_up"}]
    inner = max(down, default=max(rows, default=0))
    if any(m.kind == "shared_expert" for m in block):
        return gated * max((m.rows for m in block if m.linear), default=0) + 2 * hidden
    if any(m.kind == "gate_up" for m in block) or (len(rows) == 1 and rows[0] == 2 * inner):
        return max(4, gated) * inner
    if len(rows) > 1:
        return gated * inner
    return plain * inner


def _of_experts(limit: WorkspaceLimit, block: list[Matrix], hidden: int) -> int:
    """Of the experts that serve a token."""
    sides = [m.columns if m.rows == hidden else m.rows for m in block if m.kind == "expert"]
    served, of = max(m.active or (1, 1) for m in block)
    inner = min(sides)
    if limit.name == "nllb-moe":  # a row for each token and expert
        return of * (2 * block[0].rows + 2 * hidden + 4 * of)
    if value_of(limit, "all_tokens"):
        return of * (3 * inner + 2 * hidden)
    if value_of(limit, "one_expert"):
        return 3 * inner // of + 3 * hidden
    arrays: int = value_of(limit, "expert_arrays", 4)
    rows = 4 if value_of(limit, "plain_routed") else 6
    return served * (max(arrays * inner + hidden, rows * hidden) + 16) + 2 * of


@once_each
def has_rule(limit: WorkspaceLimit) -> bool:
    """Whether the limit may be given: layers with states, and encoders, differ by their code."""
    recurrent = any(s.name == "recurrent" for layer in limit.layers for s in layer.states)
    # The keys of a GGUF file name no type of transformers.
    compared = value_of(limit, "compared", bool(pair(limit)))
    return not limit.config or not (limit.encodes or recurrent) or compared


def prompt_pass(
    limit: WorkspaceLimit, tokens: int, batch: int, *, eager: bool, static: bool
) -> Workspace:
    """The limit for prompts of ``tokens`` tokens each."""
    vocabulary, hidden = limit.token_table
    size = limit.size
    blocks = _widths(limit)
    heads = -(-(limit.facts.heads or 1) // limit.ranks)
    square = batch * tokens**2 if limit.windows else 0
    sampling = batch * vocabulary * (size + 4 * COPIES)
    if limit.encodes:
        each, text = encoder_pass(
            limit, [(side, _widths(side)) for side in pair(limit) or (limit,)], tokens, batch, eager
        )
        return _workspace(each, sampling, text)
    windows = limit.windows
    eager = eager or is_eager(limit.name)
    mask_size = value_of(limit, "mask_made", 0)
    masked = mask_size or static or batch > 1 or any(w is not None and w <= tokens for w in windows)
    masks = len(windows) * square * (size if eager else 1) if masked or eager else Fraction(0)

    turned = 6 if value_of(limit, "float32_rotated") else 3
    streams, meet = _streams(limit)
    stream = (4 + streams) * hidden
    attention = stream + blocks.projected + turned * blocks.queries
    scores = weights = Fraction(0)
    if eager:
        attention = max(attention, stream + 3 * blocks.queries + 2 * blocks.keys)
        attention += 5 * blocks.queries if value_of(limit, "falls_back") else 0
        usual = _SCORES[limit.name in values_of("without_sdpa")]
        halves, floats, stay = value_of(limit, "scores", usual)
        scores = heads * square * (halves * size + 4 * floats)
        weights = heads * square * stay * size
    elif masked:
        attention = max(attention, stream + 4 * blocks.queries + 2 * blocks.keys)
        scores = square * size  # the mask as numbers
    scores = max(scores, _masks_of_heads(limit, tokens, batch, heads))
    block = (6 + streams) * hidden + max(blocks.dense, blocks.experts, (2 + meet) * hidden)
    if limit.name in values_of("all_logits"):
        copies = 6 if limit.name == "xlstm" else 1  # three in float32
        block = max(block, 2 * hidden + copies * vocabulary)
        sampling += batch * (tokens - 1) * vocabulary * size
    per_token = batch * tokens
    # Tables of cosines and sines in float32, one pair for each kind of layer.
    rotary = 2 * 4 * max(1, len(windows)) * (blocks.queries // heads)
    next_to = per_token * (rotary + IDS) + masks + _let_go(limit, tokens, batch)
    next_to += grown(limit, tokens) + (limit.facts.context or 0) * _of_position(limit)
    if blocks.index_keys:
        chosen = number_of(limit, "index_topk", 2048)
        next_to += square * 3 + per_token * 12 * min(chosen, tokens)
        counted = blocks.index_queries // blocks.index_keys
        more = max(counted, blocks.index_keys * (batch > 1))  # a matmul copies keys for each token
        pairs = square // (number_of(limit, "index_kpool", 16) if value_of(limit, "pooled") else 1)
        scores = max(scores, Fraction(pairs * 4 * (counted + more)))
        scores += per_token * 5 * blocks.index_queries * size
    states = state_pass(limit, tokens, batch)
    layer = max(per_token * block * size + weights, per_token * attention * size + scores, states)
    layer = max(layer, square * mask_size) + next_to
    numbers = (
        f"{per_token:,} × max({block:,}, {attention:,}) × {size}, {math.ceil(scores):,} of scores, "
        + (f"at least {math.ceil(states):,} of states, " if states else "")
        + f"{math.ceil(next_to):,} of masks, positions and rows that go; at least {batch:,} × "
        f"{vocabulary:,} × {size + 4 * COPIES} of logits"
    )
    return _workspace(layer, sampling, numbers)


def _workspace(largest: Fraction, sampling: Fraction, formula: str) -> Workspace:
    logits = math.ceil(sampling)
    activation = max(0, math.ceil(largest) - logits)
    return Workspace(logits, activation, RUNTIME_BYTES, f"{formula} + {RUNTIME_BYTES:,}")


def _streams(limit: WorkspaceLimit) -> tuple[int, int]:
    """Rows of the table's width next to those of one stream: in all layers, and where they meet."""
    if not value_of(limit, "streams"):
        return 0, 0
    key, stay, meet = value_of(limit, "streams")
    count = number_of(limit, key, 4)
    return stay * count - 6, meet * count - 2


def _of_position(limit: WorkspaceLimit) -> Fraction:
    """Bytes of the tables that a call makes for all positions there may be, of one position."""
    if limit.name == "mpt":
        return (limit.facts.heads or 1) * Fraction(4)
    return limit.token_table[1] * limit.size * (limit.name == "ctrl")


def _masks_of_heads(limit: WorkspaceLimit, tokens: int, batch: int, heads: int) -> Fraction:
    """Of Doge: a mask of each head, and of more tokens than a window those that it chooses."""
    if limit.name != "doge":
        return Fraction(0)
    window = number(limit.config.get("keep_window_size"), 2048)
    groups = limit.facts.kv_heads or heads
    chosen = groups * (10 * window + 3 * limit.size * tokens) if tokens > window else Fraction(0)
    return batch * tokens * max((heads + groups) * limit.size * tokens, chosen)


def _let_go(limit: WorkspaceLimit, tokens: int, batch: int) -> Fraction:
    """Rows of windowed layers that go after the prompt."""
    windowed = _elements_by_window(limit).items()
    elements = sum(each * max(0, tokens - (window - 1)) for window, each in windowed)
    return -(-batch * elements // limit.ranks) * limit.size


@once_each
def _elements_by_window(limit: WorkspaceLimit) -> Counter[int]:
    """What a token's rows have in all layers of a window."""
    counts: Counter[int] = Counter()
    for layer in limit.layers:
        if layer.window is not None:
            rows = (item for item in layer.keys_values if not item.cross)
            counts[int(layer.window)] += sum(int(item.key) + int(item.value) for item in rows)
    return counts
