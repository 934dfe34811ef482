"""A plain command is known before there is a parser of options, which takes as long as an answer:
of a model of the Hub the first requests are sent meanwhile, and a model alone needs no parser."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..sources.opening import Access

#: Commands in the order of --help; each is a file of this folder with ``register(app)``.
COMMANDS: Final = tuple(
    "inspect tensors tree explain memory runs tokenizer compare audit scan report "
    "architectures cache serve".split()
)
#: Commands that read a model as ``inspect`` does, if they have no options.
_COMMANDS: Final = frozenset({"inspect", "explain", "memory"})
#: A repo with its owner, perhaps at a revision. Other names of models are left to the command.
_REPO: Final = re.compile(r"\w[\w.-]*/[\w.-]+(?:@[\w.-]+)?", re.ASCII)
#: Seconds after which a thread that computes lets another go on: an answer that has come in waits
#: for it. Python's five milliseconds are as long as many a request.
_SWITCH: Final = 0.0005


def is_plain(arguments: Sequence[str]) -> bool:
    """Whether the arguments are one model and nothing else. A bare word is left to the parser, for
    it may be a command spelt wrong."""
    if len(arguments) != 1 or completes():
        return False
    word = arguments[0]
    if word.startswith("-") or word in COMMANDS:
        return False
    return not word.isalpha() and ("/" in word or "." in word or os.path.lexists(word))


def completes() -> bool:
    """Whether the shell wants to complete a command, which it says by a variable."""
    return any(name.startswith("_HF") and name.endswith("_COMPLETE") for name in os.environ)


def begin(arguments: Sequence[str]) -> Access | None:
    """Begin to read the model that is named, where nothing but a model is: what has it open. Errors
    are left to the command, which comes upon them again."""
    words = list(arguments)
    if words and words[0] in _COMMANDS:
        del words[0]
    if len(words) != 1 or not _REPO.fullmatch(words[0]) or os.path.lexists(words[0]):
        return None
    from ..errors import HfinspectError

    try:
        return _begin(words[0])
    except HfinspectError:
        return None


def _begin(target: str) -> Access | None:
    from ..checkpoints.prefetch_plan import with_prefetch
    from ..sources.hub.client import HubClient
    from ..sources.opening import Access
    from .cache_directory import header_cache

    client = HubClient()
    access = Access(client=client, cache=header_cache())
    ref = access.resolve(target)
    if ref.repo_id is None:
        return None
    client.prepare()
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    source = with_prefetch(access.open(ref))
    source.on_list = lambda: sys.setswitchinterval(usual)  # dozens of threads would fight for turns
    return Access(client=client, sources={ref: source})
