"""What ``generate()`` of transformers takes of an encoder and a decoder, next to weights and cache.

The encoder runs E tokens once, when no cache is there yet (its moment is counted less the cache);
then the decoder its prompt of D tokens; one that starts with one token takes less. h is the width,
a the bytes of a number:

- a layer: as ``prompt_pass.py`` has it, of E or of D tokens, next to the encoder's outputs
- attention: heads × pairs of tokens, the encoder's E × E, the decoder's D × D and D × E. Eager:
  two arrays of a bytes, of which those of the decoder stay during the feed-forward layer.
  With a bias by distance (T5): the bias of D × D and D × E for all layers, and two arrays more,
  one for each sequence where prompts are padded
- masks: one byte a pair where sequences are padded, and one array in numbers (of a bytes, eager)
- logits: of all positions of the decoder, twice where ``final_logits_bias`` is added

Source: as of ``prompt_pass.py``, read on 2026-11-28. LongT5, which keeps the scores of all layers,
is not covered.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from ..trees.modules import each_module
from .workspace import WorkspaceLimit

#: Types that add ``final_logits_bias``.
_LOGITS_TWICE: Final = frozenset(
    """bart bigbird_pegasus blenderbot blenderbot-small fsmt led marian mbart mvp pegasus
    plbart""".split()
)
#: Copies of the last logits in float32 while a token is sampled, next to those of all.
_COPIES: Final = 5
#: Bytes of ids and positions for each token.
_IDS: Final = 32


def encoder_pass(
    limit: WorkspaceLimit, dense: int, queries: int, tokens: int, batch: int, *, eager: bool
) -> tuple[Fraction, str]:
    """Bytes of the largest moment, and its formula. ``dense`` and ``queries`` are numbers of one
    token in the widest feed-forward layer and in its queries."""
    vocabulary, hidden = limit.token_table
    size, heads = limit.size, limit.facts.heads or 1
    seen = tokens if limit.encoder_tokens is None else limit.encoder_tokens
    biased = any(module.kind == "relative_position" for module in each_module(limit.root))
    layer = 6 * hidden + max(dense, 2 * hidden)
    attention = 3 * hidden + 2 * queries
    each = batch if batch > 1 or not biased else 1

    def scores(pairs: int) -> Fraction:
        """Of one attention, next to what stays."""
        if biased:
            return heads * pairs * size * (2 * each + (batch if eager else 0))
        if eager:
            return 2 * heads * batch * pairs * size
        return batch * pairs * size if batch > 1 else Fraction(0)

    def masks(pairs: int) -> Fraction:
        if batch == 1 and not eager:
            return Fraction(0)
        return batch * pairs * (size if eager else Fraction(1))

    def stays(pairs: int) -> Fraction:
        return heads * pairs * size * (1 if biased else 0)

    def weights(pairs: int) -> Fraction:
        return heads * batch * pairs * size if eager else Fraction(0)

    own, cross, first = tokens**2, tokens * seen, seen**2
    of_encoder = masks(first) + stays(first) + batch * seen * _IDS
    of_encoder += max(
        batch * seen * layer * size + weights(first),
        batch * seen * attention * size + scores(first),
    )
    given = batch * seen * hidden * size + batch * (tokens + seen) * _IDS
    of_encoder -= sum(
        batch * (seen if item.cross else tokens) * (int(item.key) + int(item.value)) * size
        for layer in limit.layers
        for item in layer.keys_values
    )
    in_decoder = given + masks(own + cross) + stays(own + cross)
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
