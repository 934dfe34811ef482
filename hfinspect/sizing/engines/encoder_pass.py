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

- encoders of blocks (LongT5, LED, Pegasus-X, BigBird-Pegasus): tokens padded to whole blocks, and
  the scores of a block
- T5Gemma: grouped heads, a mask for each kind of window, the last logits; T5Gemma 2 looks at D + E
  tokens at once
- buckets of all pairs (ProphetNet, UDOP); a first convolution of 64 steps a token (SpeechT5)
- a pair of any two models: the encoder's moment by its own section of the config, the decoder's by
  its own, next to the encoder's outputs in the encoder's width; a picture's tokens are its patches

Source: as of ``prompt_pass.py``, read on 2026-11-28.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from ...trees.modules import each_module
from ..workspace import WorkspaceLimit
from .interface import padded
from .pass_types import grown, is_eager, number, value_of

#: Copies of the last logits in float32 while a token is sampled, next to those of all.
COPIES: Final = 5
#: Bytes of ids and positions for each token.
IDS: Final = 32


class Widths(NamedTuple):
    """Numbers of one token in the widest block of each kind, next to those of the stream."""

    dense: int = 0
    encoder: int = 0  # as ``dense``, of an encoder next to it
    experts: int = 0
    projected: int = 0
    queries: int = 0
    keys: int = 0
    index_queries: int = 0  # of an indexer, all heads
    index_keys: int = 0


def encoder_pass(
    limit: WorkspaceLimit,
    sides: Sequence[tuple[WorkspaceLimit, Widths]],
    tokens: int,
    batch: int,
    eager: bool,
) -> tuple[Fraction, str]:
    """Bytes of the largest moment, and its formula. ``sides``: the model, or the encoder and the
    decoder that it pairs."""
    (source, of_source) = sides[0]
    (target, of_target) = sides[-1]
    counted = tokens if limit.encoder_tokens is None else limit.encoder_tokens
    encoded = max(counted, _patches(source))
    of_layers = [item for layer in limit.layers for item in layer.keys_values]
    of_cross = sum(int(item.key) + int(item.value) for item in of_layers if item.cross)
    of_rows = sum(int(item.key) + int(item.value) for item in of_layers if not item.cross)
    cache = batch * (counted * of_cross + tokens * of_rows) * limit.size
    of_encoder, _, _ = _moments(source, of_source, tokens, encoded, batch, eager)
    _, of_decoder, logits = _moments(target, of_target, tokens, encoded, batch, eager)
    projected = source.token_table[1] + target.token_table[1] if len(sides) > 1 else 0
    more = (encoded - counted) * of_cross + encoded * projected
    of_encoder -= cache
    of_decoder, logits = (moment + batch * more * limit.size for moment in (of_decoder, logits))
    return max(of_encoder, of_decoder, logits), (
        f"max({max(0, int(of_encoder)):,} of the encoder's {encoded:,} tokens, {int(of_decoder):,} "
        f"of the decoder's {tokens:,}, {int(logits):,} with their logits)"
    )


def _patches(source: WorkspaceLimit) -> int:
    """Tokens of a picture."""
    config = source.config
    more = int(value_of(source, "patches", 0))
    across = number(config.get("image_size"), 224) // number(config.get("patch_size"), 16)
    return across**2 + more if more else 0


def _moments(
    limit: WorkspaceLimit, wide: Widths, tokens: int, encoded: int, batch: int, eager: bool
) -> tuple[Fraction, Fraction, Fraction]:
    """Bytes of the encoder's largest moment, of the decoder's, and next to its logits."""
    vocabulary, hidden = limit.token_table
    size = limit.size
    heads = limit.facts.heads or 1
    eager = eager or is_eager(limit.name)
    own_bias = value_of(limit, "own_bias")
    made_again = value_of(limit, "made_again")
    decoder_bias = value_of(limit, "biased")
    biased = decoder_bias or any(m.kind == "relative_position" for m in each_module(limit.root))
    more = wide.experts if value_of(limit, "experts") else 0
    rows = (4 if own_bias else 6) * hidden
    layer = rows + max(wide.dense, more, 2 * hidden)
    of_encoders = rows + max(wide.encoder, more, 2 * hidden)
    attention = 7 * hidden + 2 * wide.queries
    as_gemma = value_of(limit, "as_gemma")
    at_once = value_of(limit, "at_once")
    kinds = len(limit.windows) * (2 if at_once else 1) if as_gemma else 1
    repeated = 2 * batch * (tokens + encoded) * wide.queries * size * as_gemma

    def scores(pairs: int) -> Fraction:
        """Of one attention, next to what stays."""
        if biased and own_bias:
            if eager:
                return heads * pairs * size * 3 * batch
            # A bias, or the buckets in int64 that it is made of.
            return pairs * (2 * heads * batch * size + max(heads * size, Fraction(16)) + 5)
        if value_of(limit, "float32") and eager:
            return heads * batch * pairs * (size + 8)
        if eager or biased:
            return 2 * heads * batch * pairs * size
        return batch * pairs * size if batch > 1 else Fraction(0)

    def masks(pairs: int) -> Fraction:
        if batch == 1 and not eager and kinds == 1:
            return Fraction(0)
        return kinds * batch * pairs * (size if eager else Fraction(1))

    def stays(pairs: int) -> Fraction:
        return heads * pairs * size * (biased and not own_bias)

    def weights(pairs: int) -> Fraction:
        lost = not eager or value_of(limit, "lost")
        return Fraction(0) if lost else heads * batch * pairs * size

    square = tokens**2
    cross = tokens * encoded
    first = encoded**2
    of_encoder = batch * encoded * IDS + grown(limit, 0, encoded)
    moment = masks(first) + stays(first)
    moment += max(
        batch * encoded * of_encoders * size + weights(first),
        batch * encoded * attention * size + scores(first),
    )
    blocks = _blocks(limit, encoded, heads)
    if blocks is not None:
        in_blocks = blocks.tokens * blocks.stays
        in_blocks += max(blocks.of_layer * of_encoders, blocks.tokens * (attention + blocks.scores))
        # Once it had a short prompt, BigBird-Pegasus looks at all tokens.
        moment = max(moment if made_again else Fraction(0), batch * in_blocks * size)
    of_encoder += moment
    if made_again and limit.config.get("attention_type") != "original_full":
        rebuilt = 3 * 4 * hidden**2 + batch * encoded * 4 * hidden * size
        of_encoder = max(of_encoder, rebuilt)
    if limit.name == "udop":  # buckets of where each two tokens stand, in int64
        buckets = batch * first * (6 * 8 + 1 + 2 * heads * size)
        of_encoder = max(of_encoder, buckets + batch * encoded * 2 * hidden * size)
    if as_gemma:  # distances of all pairs in int64, while the mask of a window is made
        of_encoder = max(of_encoder, 19 * first + batch * encoded * 2 * hidden * size)
    if value_of(limit, "convolved"):
        of_encoder = max(of_encoder, *_of_sound(limit, encoded, batch, heads))
    inputs = batch * encoded * hidden * size + batch * (tokens + encoded) * IDS
    inputs += grown(limit, tokens, encoded)
    if as_gemma:
        rotary = 8 * len(limit.windows) * (wide.queries // heads)
        inputs += (tokens + encoded) * rotary
    in_decoder = inputs + masks(square + cross) + stays(square if decoder_bias else square + cross)
    in_decoder += weights(square + cross) if value_of(limit, "last_too") else 0
    together = scores(square + cross) if at_once else weights(square) + scores(cross)
    of_decoder = in_decoder + max(
        batch * tokens * layer * size + weights(square + cross),
        batch * tokens * attention * size + repeated + max(scores(square), together),
        # Keys and values of a layer, on their way to the cache.
        batch * (tokens * attention + 2 * encoded * wide.keys) * size + repeated,
    )
    streams = 1
    if limit.name == "prophetnet":
        streams += number(limit.config.get("ngram"), 2)
        in_streams = _of_streams(limit, tokens, batch, streams - 1)
        of_decoder = in_decoder + max(of_decoder - in_decoder, *in_streams)
    copies = (
        2
        if limit.encodes and value_of(limit, "logits_twice")
        else 1
        if streams == 1
        else 1 + streams
    )
    one = batch * (1 if as_gemma else tokens) * vocabulary * size
    sampled = batch * vocabulary * (size + 4 * COPIES)
    # The head of a pair's decoder may have a layer before the logits.
    logits = inputs + masks(square + cross) + batch * tokens * (2 - limit.encodes) * hidden * size
    logits += max(copies * one, one + sampled)
    return of_encoder, of_decoder, logits


def _of_streams(
    limit: WorkspaceLimit, tokens: int, batch: int, ahead: int
) -> tuple[Fraction, Fraction]:
    """Of ProphetNet's decoder, which predicts so many tokens ``ahead``: while it counts buckets of
    all positions that it knows, in int64, and while a layer picks those of each pair and head."""
    hidden = limit.token_table[1]
    size = limit.size
    heads = limit.facts.heads or 1
    positions = (limit.facts.context or 512) - 1
    buckets = positions**2 * (4 * 2 * 8 + 8 + 4) + Fraction(batch * tokens * 3 * hidden * size)
    of_pair = heads * (24 * ahead + (2 * ahead + 3) * size) + 4 * (2 * ahead + 3)
    each = (12 * ahead + 14) * hidden * size
    return buckets, batch * (tokens**2 * of_pair + tokens * each)


def _of_sound(
    limit: WorkspaceLimit, encoded: int, batch: int, heads: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Of an encoder's first convolution, with its norm, 64 steps for each token that it gives, the
    kernel of its positions, and SpeechT5's distances of all pairs."""
    config = limit.config
    hidden = limit.token_table[1]
    size = limit.size
    widths = config.get("conv_dim")
    widths = [number(each, 512) for each in widths] if isinstance(widths, list) else []
    kernel = number(config.get("num_conv_pos_embeddings"), 128)
    groups = number(config.get("num_conv_pos_embedding_groups"), 16)
    head = hidden // heads
    pairs = encoded**2 * (head * size + 8 + 4 * batch * heads * size) * (limit.name == "speecht5")
    return (
        2 * batch * 64 * (encoded + 1) * (max(widths, default=512) + 1) * size,
        hidden**2 // groups * kernel * size + 4 * batch * (encoded + kernel) * hidden * size,
        pairs + 7 * batch * encoded * hidden * size,
    )


class _Blocks(NamedTuple):
    """An encoder that looks at blocks: how many tokens it pads to in attention and in a layer, and
    numbers of a token: of the scores of all heads, and of what stays in all layers."""

    tokens: int
    of_layer: int
    scores: int
    stays: int


def _blocks(limit: WorkspaceLimit, encoded: int, heads: int) -> _Blocks | None:
    config = limit.config
    if limit.name == "longt5":
        block = 1 + number(config.get("local_radius"), 127)
        scores = 3 * block
        if config.get("encoder_attention_type") == "transient-global":
            scores += encoded // number(config.get("global_block_size"), 16)
        in_all = 5 * heads * scores + 4 * limit.token_table[1]
        return _Blocks(padded(encoded, block), encoded, in_all, 2 * heads * scores)
    if limit.name == "led":
        window = config.get("attention_window")
        windows = window if isinstance(window, list) else [window]
        block = max((number(one, 512) for one in windows), default=512)
        rounded = padded(encoded, block)
        return _Blocks(rounded, rounded, 6 * heads * (block + 1), 6 * (block + 1))
    if limit.name == "pegasus_x":
        block = number(config.get("block_size"), 512)
        of_all = number(config.get("num_global_tokens"), 32)
        staggered = block if config.get("stagger_local_blocks", True) else 0
        rounded = padded(encoded, block) + staggered + of_all
        scores = block + of_all
        return _Blocks(rounded, rounded, 4 * heads * scores, 5 * scores)
    if limit.name == "bigbird_pegasus" and config.get("attention_type") != "original_full":
        block = number(config.get("block_size"), 64)
        random = config.get("num_random_blocks", 3)
        random = random if type(random) is int and random >= 0 else 3
        if encoded > (5 + 2 * random) * block:
            return _of_big_bird(limit.token_table[1] // heads, heads, encoded, block, random)
    return None


def _of_big_bird(head: int, heads: int, encoded: int, block: int, random: int) -> _Blocks:
    """All scores at last; masks of the random blocks are in int64."""
    rounded = padded(encoded, block)
    middle = rounded - 4 * block
    inner = rounded - 2 * block
    scores = rounded**2 + 4 * random * block * inner + 3 * (5 + random) * block * middle
    scores += 8 * (4 + random) * block**2 + 4 * block * rounded
    copies = head * (6 * middle + 2 * random * inner + 10 * rounded)
    return _Blocks(rounded, rounded, -(-heads * (scores + copies) // rounded), 12 * block)
