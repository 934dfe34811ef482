"""A plain command about a model of the Hub sends its first requests before the command line is set
up, which takes as long as an answer."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

#: Commands that read a model as ``inspect`` does, if they have no options.
_COMMANDS: Final = frozenset({"inspect", "explain", "memory"})
#: A repo with its owner, perhaps at a revision. Other names of models are left to the command.
_REPO: Final = re.compile(r"\w[\w.-]*/[\w.-]+(?:@[\w.-]+)?", re.ASCII)
#: Seconds after which a thread that computes lets another go on: an answer that has come in waits
#: for it. Python's five milliseconds are as long as many a request.
_SWITCH: Final = 0.0005


def begin(arguments: Sequence[str]) -> None:
    """Begin to read the model that is named, where nothing but a model is. Errors are left to the
    command, which comes upon them again."""
    words = list(arguments)
    if words and words[0] in _COMMANDS:
        del words[0]
    if len(words) != 1 or not _REPO.fullmatch(words[0]) or os.path.lexists(words[0]):
        return
    from ..errors import HfinspectError

    with suppress(HfinspectError):
        _begin(words[0])


def _begin(target: str) -> None:
    from ..checkpoints.first_reads import reading_ahead
    from ..sources import ahead
    from ..sources.hub.client import HubClient
    from ..sources.opening import Access
    from .kept_headers import kept_headers

    client = HubClient()
    access = Access(client=client, cache=kept_headers())
    ref = access.resolve(target)
    if ref.repo_id is None:
        return
    client.prepare()
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    source = reading_ahead(access.open(ref))
    source.wanted = lambda: sys.setswitchinterval(usual)  # dozens of threads would fight for turns
    ahead.begin(ref, source)
