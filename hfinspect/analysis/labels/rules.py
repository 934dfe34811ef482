"""Rules for names that no module's word decides: ordered tables, the first row that applies counts.

``by_name`` reads a name in four steps, from the surest to the weakest:

1. ``BY_NEIGHBOURS``: what stands next to the tensor says more than any word;
2. ``BY_PATTERN``: the whole name says it, in lower case and with 0 for every number;
3. the words of its modules (``words`` is the vocabulary), from the last to the first;
4. ``BY_WEAK_WORD``: no module is known.

A rule holds for whatever model has such names. Where one model alone would need another, the tree
of the catalog says it, and ``tests/architectures/test_agreement.py`` lists the disagreement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from ...core.components import Component
from .words import module_word

_E = Component.EMBEDDING
_A = Component.ATTENTION
_M = Component.MLP
_N = Component.NORM
_R = Component.ROUTER
_C = Component.CONV
_P = Component.PROJECTOR
_H = Component.HEAD


class Hints(NamedTuple):
    """What the surroundings of a name show (``context``).

    ``is_vector``, ``is_filter``, ``is_pointwise``: the module's weight has one dimension, three or
    more, of these all but two are 1. ``is_recurrent``, ``is_attending``, ``is_routing``: next to
    the module stand a decay, q, k and v, experts. ``is_head``: it stands next to a classifier.
    ``is_patching``: an image's convolution next to a table of positions (CLIP's ``conv1``).
    ``is_unembedding``: it has the shape of the table of tokens. ``is_frozen``: the module is a
    batch norm that does not count its batches, or the tensor a text's table of sines.
    ``position``: of the layer's number, where no word says it.
    """

    is_vector: bool = False
    is_filter: bool = False
    is_pointwise: bool = False
    is_recurrent: bool = False
    is_attending: bool = False
    is_routing: bool = False
    is_head: bool = False
    is_patching: bool = False
    is_unembedding: bool = False
    is_frozen: bool = False
    position: int | None = None


class NamePlace(NamedTuple):
    """A name's segments in lower case, with 0 for every number, and what is known of it.

    ``position``: of the layer's number, None outside the layers. ``weak``: what its last weak word
    says, ``outer`` those before that.
    """

    words: Sequence[str]
    position: int | None
    hints: Hints
    weak: Component | None = None
    outer: Sequence[Component] = ()

    @property
    def module(self) -> str:
        """The segment before the last, the module that holds the tensor."""
        return self.words[-2] if len(self.words) > 1 else ""


class NameRule(NamedTuple):
    """``component`` where all of these hold: the whole name is of ``pattern``, the last weak word
    is one of ``weak``, and ``where``. ``why`` is for the reader."""

    component: Component
    why: str
    where: Callable[[NamePlace], bool] = lambda _: True
    pattern: str = ".*"
    weak: Sequence[Component | None] | None = None

    def applies(self, place: NamePlace, name: str) -> bool:
        """``name``: the segments of the place with dots between them."""
        return (
            (self.weak is None or place.weak in self.weak)
            and (self.pattern == ".*" or bool(re.fullmatch(self.pattern, name, re.DOTALL)))
            and self.where(place)
        )


def first_match(rules: Iterable[NameRule], place: NamePlace) -> Component | None:
    """The component of the first rule that applies; None where none does."""
    name = ".".join(place.words)
    return next((rule.component for rule in rules if rule.applies(place, name)), None)


BY_NEIGHBOURS: Final = (
    NameRule(
        _N,
        "weights of one dimension are a norm's, but for learned scales and bare tables",
        lambda at: at.hints.is_vector and at.module != "gamma" and module_word(at.module) is not _E,
    ),
    NameRule(
        _R,
        "a gate next to experts chooses among them",
        lambda at: at.hints.is_routing and at.module == "gate",
    ),
    NameRule(
        _E, "an image's convolution next to positions cuts it", lambda at: at.hints.is_patching
    ),
    NameRule(_H, "the one other matrix of the tokens' shape", lambda at: at.hints.is_unembedding),
)

BY_PATTERN: Final = (
    NameRule(_H, "GGUF's and the original Llama's LM head", pattern=r"output(\.weight|\.bias)?"),
    NameRule(_H, "a Conformer's for CTC", pattern=r"(encoder\.)?out\.[^.]*"),
    NameRule(
        _H,
        "the decoder of a masked LM's head is one matrix, any other has modules",
        pattern=r"(.*\.)?decoder(\.0)*\.(weight|bias)",
    ),
    NameRule(
        _E,
        "an encoder of one matrix makes tokens of sound or of numbers",
        lambda at: not at.hints.is_filter,
        pattern=r"(.*\.)?(?!fc_encoder\.)[^.]*encoder(\.0)*\.(weight|bias)",
    ),
)

BY_WEAK_WORD: Final = (
    NameRule(_A, "next to q, k and v", lambda at: at.hints.is_attending),
    NameRule(_C, "a filter", lambda at: at.hints.is_filter, weak=(None, _P)),
    NameRule(
        _P,
        "the end of a projection, as in pointer_proj.proj_out",
        lambda at: _P in at.outer,
        weak=(_H,),
    ),
    NameRule(
        _M,
        "a head is not in a layer, but the end of an MLP is",
        lambda at: at.position is not None,
        weak=(_H,),
    ),
    NameRule(_H, "a linear next to the whole model", pattern=r"fc\.(weight|bias)"),
    NameRule(_H, "the same of other names", pattern=r"[^.]*\.(weight|bias)", weak=(None, _A)),
    NameRule(_M, "of Linears in a row", pattern=r"(.*\.)?net\.0\.[^.]*", weak=(None,)),
)
