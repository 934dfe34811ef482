"""What ``generate()`` of transformers takes of an encoder and a decoder, next to weights and cache.

The encoder runs E tokens once, when no cache is there yet (its moment is counted less the cache);
then the decoder its prompt of D tokens; one that starts with one token takes less. h is the width,
a the bytes of a number:

- a layer: as ``prompt_pass.py`` has it, of E or of D tokens, next to the encoder's outputs
- attention: 7·h, two copies of queries, and heads × pairs of tokens, the encoder's E × E, the
  decoder's D × D and D × E. Eager: two arrays of a bytes, of which those of the decoder stay during
  the feed-forward layer.
  With a bias by distance (T5): the bias of D × D and D × E for all layers, and two arrays more,
  one for each sequence where prompts are padded
- masks: one byte a pair where sequences are padded, and one array in numbers (of a bytes, eager)
- logits: of all positions of the decoder, twice where ``final_logits_bias`` is added

- encoders of blocks: tokens padded to whole blocks, the scores of a block and its neighbours
  (LongT5 in float32, and its masks stay), of a window (LED) or of a block and the global tokens
  (Pegasus-X); BigBird-Pegasus makes an array of all scores too, and masks of its random blocks in
  int64, or looks at all tokens where there are few
- NLLB-MoE: a row for each token and each expert

Source: as of ``prompt_pass.py``, read on 2026-11-28.
"""

from fractions import Fraction
from typing import Any, Final, NamedTuple

from ...trees.modules import each_module
from ..workspace import WorkspaceLimit

#: Types that add ``final_logits_bias``.
_LOGITS_TWICE: Final = frozenset(
    """bart bigbird_pegasus blenderbot blenderbot-small led marian mbart mvp pegasus
    plbart""".split()
)
#: Types whose attention has its own bias in each layer.
_OWN_BIAS: Final = frozenset({"umt5"})
#: Types whose softmax is in float32.
_FLOAT32: Final = frozenset({"moonshine"})
#: Types that let the scores go after attention, and that keep those of the layer before.
_LOST: Final = frozenset({"fsmt", "led"})
_LAST_TOO: Final = frozenset({"longt5"})
#: Types whose experts count, by ``prompt_pass.widths``.
_EXPERTS: Final = frozenset({"nllb-moe"})
#: Types that make an attention anew, in float32, for a prompt that is too short for blocks.
_MADE_AGAIN: Final = frozenset({"bigbird_pegasus"})
#: Copies of the last logits in float32 while a token is sampled, next to those of all.
_COPIES: Final = 5
#: Bytes of ids and positions for each token.
_IDS: Final = 32


class Widths(NamedTuple):
    """Numbers of one token in the widest block of each kind, next to those of the stream."""

    dense: int = 0
    encoder: int = 0  # as ``dense``, of an encoder next to it
    experts: int = 0
    projected: int = 0
    queries: int = 0
    keys: int = 0


def encoder_pass(
    limit: WorkspaceLimit, wide: Widths, tokens: int, batch: int, *, eager: bool
) -> tuple[Fraction, str]:
    """Bytes of the largest moment, and its formula."""
    vocabulary, hidden = limit.token_table
    size, heads = limit.size, limit.facts.heads or 1
    seen = tokens if limit.encoder_tokens is None else limit.encoder_tokens
    own_bias = limit.name in _OWN_BIAS
    biased = any(module.kind == "relative_position" for module in each_module(limit.root))
    more = wide.experts if limit.name in _EXPERTS else 0
    rows = (4 if own_bias else 6) * hidden
    layer = rows + max(wide.dense, more, 2 * hidden)
    of_encoders = rows + max(wide.encoder, more, 2 * hidden)
    attention = 7 * hidden + 2 * wide.queries
    each = batch if batch > 1 or not biased else 1

    def scores(pairs: int) -> Fraction:
        """Of one attention, next to what stays."""
        if biased and own_bias:
            return heads * pairs * size * (3 * batch if eager else max(3, 2 * each))
        if biased and eager:
            return 2 * heads * pairs * size * batch
        if biased:
            return 2 * heads * pairs * size * each
        if limit.name in _FLOAT32 and eager:
            return heads * batch * pairs * (size + 8)
        if eager:
            return 2 * heads * batch * pairs * size
        return batch * pairs * size if batch > 1 else Fraction(0)

    def masks(pairs: int) -> Fraction:
        if batch == 1 and not eager:
            return Fraction(0)
        return batch * pairs * (size if eager else Fraction(1))

    def stays(pairs: int) -> Fraction:
        return heads * pairs * size * (biased and not own_bias)

    def weights(pairs: int) -> Fraction:
        lost = not eager or limit.name in _LOST
        return Fraction(0) if lost else heads * batch * pairs * size

    own, cross, first = tokens**2, tokens * seen, seen**2
    of_encoder = batch * seen * _IDS + Fraction(0)
    moment = masks(first) + stays(first)
    moment += max(
        batch * seen * of_encoders * size + weights(first),
        batch * seen * attention * size + scores(first),
    )
    blocks = _blocks(limit, seen, heads)
    if blocks is not None:
        in_blocks = blocks.tokens * blocks.stays
        in_blocks += max(blocks.of_layer * of_encoders, blocks.tokens * (attention + blocks.scores))
        # Once it had a short prompt, BigBird-Pegasus looks at all tokens.
        moment = max(moment if limit.name in _MADE_AGAIN else Fraction(0), batch * in_blocks * size)
    of_encoder += moment
    if limit.name in _MADE_AGAIN and limit.config.get("attention_type") != "original_full":
        made = 3 * 4 * hidden**2 + batch * seen * 4 * hidden * size
        of_encoder = max(of_encoder, made)
    given = batch * seen * hidden * size + batch * (tokens + seen) * _IDS
    of_encoder -= sum(
        batch * (seen if item.cross else tokens) * (int(item.key) + int(item.value)) * size
        for layer in limit.layers
        for item in layer.keys_values
    )
    in_decoder = given + masks(own + cross) + stays(own + cross)
    in_decoder += weights(own + cross) if limit.name in _LAST_TOO else 0
    of_decoder = in_decoder + max(
        batch * tokens * layer * size + weights(own + cross),
        batch * tokens * attention * size + max(scores(own), weights(own) + scores(cross)),
    )
    copies = 2 if limit.name in _LOGITS_TWICE else 1
    one = batch * tokens * vocabulary * size
    sampled = batch * vocabulary * (size + 4 * _COPIES)
    logits = given + masks(own + cross) + batch * tokens * hidden * size
    logits += max(copies * one, one + sampled)
    largest = max(of_encoder, of_decoder, logits)
    return largest, (
        f"max({max(0, int(of_encoder)):,} of the encoder's {seen:,} tokens, {int(of_decoder):,} "
        f"of the decoder's {tokens:,}, {int(logits):,} with their logits)"
    )


class _Blocks(NamedTuple):
    """An encoder that looks at blocks: how many tokens it pads to in attention and in a layer, and
    numbers of a token: of the scores of all heads, and of what stays in all layers."""

    tokens: int
    of_layer: int
    scores: int
    stays: int


def _blocks(limit: WorkspaceLimit, seen: int, heads: int) -> _Blocks | None:
    config = limit.config
    if limit.name == "longt5":
        block = 1 + _number(config.get("local_radius"), 127)
        scores = 3 * block
        if config.get("encoder_attention_type") == "transient-global":
            scores += seen // _number(config.get("global_block_size"), 16)
        in_all = 5 * heads * scores + 4 * limit.token_table[1]
        return _Blocks(_padded(seen, block), seen, in_all, 2 * heads * scores)
    if limit.name == "led":
        window = config.get("attention_window")
        windows = window if isinstance(window, list) else [window]
        block = max((_number(one, 512) for one in windows), default=512)
        padded = _padded(seen, block)
        return _Blocks(padded, padded, 6 * heads * (block + 1), 6 * (block + 1))
    if limit.name == "pegasus_x":
        block = _number(config.get("block_size"), 512)
        of_all = _number(config.get("num_global_tokens"), 32)
        staggered = block if config.get("stagger_local_blocks", True) else 0
        padded, scores = _padded(seen, block) + staggered + of_all, block + of_all
        return _Blocks(padded, padded, 4 * heads * scores, 5 * scores)
    if limit.name == "bigbird_pegasus" and config.get("attention_type") != "original_full":
        block, random = _number(config.get("block_size"), 64), config.get("num_random_blocks", 3)
        random = random if type(random) is int and random >= 0 else 3
        if seen > (5 + 2 * random) * block:
            return _of_big_bird(limit.token_table[1] // heads, heads, seen, block, random)
    return None


def _of_big_bird(head: int, heads: int, seen: int, block: int, random: int) -> _Blocks:
    """All scores at last; masks of the random blocks are in int64."""
    padded = _padded(seen, block)
    middle, inner = padded - 4 * block, padded - 2 * block
    scores = padded**2 + 4 * random * block * inner + 3 * (5 + random) * block * middle
    scores += 8 * (4 + random) * block**2 + 4 * block * padded
    copies = head * (6 * middle + 2 * random * inner + 10 * padded)
    return _Blocks(padded, padded, -(-heads * (scores + copies) // padded), 12 * block)


def _padded(tokens: int, block: int) -> int:
    return -(-tokens // block) * block


def _number(value: Any, usual: int) -> int:
    return value if type(value) is int and value > 0 else usual
