"""What images, videos and sounds take, in a line each; with all details the steps to it."""

from collections.abc import Iterator, Sequence

from ..core.media_tokens import NOT_READ, MediaTokens
from ..core.text import byte_size
from .document import Paragraph


def media_lines(media: Sequence[MediaTokens], *, full: bool) -> Iterator[Paragraph]:
    for one in media:
        yield Paragraph(_line(one))
        if full:
            yield from (Paragraph(f"- {step}") for step in one.derivation)


def first_screen(media: Sequence[MediaTokens]) -> list[tuple[str, str]]:
    """The line of an inspection: what a usual item takes, and who says it of others."""
    return [(one.kind, _usual(one)) for one in media]


def _usual(one: MediaTokens) -> str:
    option = "--image 1024x1024" if one.kind == "image" else "--audio 30s"
    if one.unknown == NOT_READ:
        return f"tokens by its size: memory {option} counts them"
    if one.tokens is None:
        return f"tokens unknown: {one.unknown}"
    many = ", ".join(_counts(one, one.tokens))
    return f"{many} at {one.item}; memory {option} for others"


def _line(one: MediaTokens) -> str:
    """``image 1,024 x 1,024: 1,369 tokens, 78.5 MB of cache; 4 take 5,476 tokens (from ...)``."""
    if one.tokens is None:
        return f"{one.kind} {one.item}: tokens unknown: {one.unknown}"
    counts = _counts(one, one.tokens)
    if one.cache_bytes is not None:
        counts.append(f"{byte_size(one.cache_bytes)} of cache")
    many = f"; {one.count:,} take {one.all_tokens:,} tokens" if one.count > 1 else ""
    return f"{one.kind} {one.item}: {', '.join(counts)}{many} (by {one.settings})"


def _counts(one: MediaTokens, tokens: int) -> list[str]:
    """Tokens of the text, if it has any, and positions next to it."""
    in_text = [f"{tokens:,} token{'' if tokens == 1 else 's'}"]
    if not one.cross_tokens:
        return in_text
    return [*in_text * bool(tokens), f"{one.cross_tokens:,} positions of cross-attention"]
