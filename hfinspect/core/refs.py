"""ModelRef: what a user typed, as a repo at a revision or a path.

Accepted: ``org/name``, ``name`` (an old canonical repo such as gpt2), either with ``@revision``,
``hf://org/name[@revision][/file]``, a URL of the Hub (``https://<endpoint>/org/name[/tree/REV]``,
``/blob/REV/FILE``, ``/resolve/REV/FILE``), and local files and directories.  A local path that
exists wins over a repo of the same name; what starts with ``./``, ``../``, ``/`` or ``~`` is never
a repo.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from ..errors import UsageError
from .hub_info import HubInfo
from .json_form import JsonForm
from .records import dataclass

#: Characters the Hub allows in a repo name (huggingface_hub.utils._validators).
_REPO_ID = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,95}/)?[A-Za-z0-9_][\w.-]{0,95}", re.ASCII)
_SCHEME = re.compile(r"(?:hf|https?)://", re.IGNORECASE)
_HUB_HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
#: What stands first in the addresses of what is no model. No organisation can have these names.
_OTHER_KINDS = {
    "datasets": "a dataset",
    "spaces": "a Space",
    "buckets": "a bucket",
    "collections": "a collection",
    "papers": "a paper",
    "docs": "documentation",
}


@dataclass(frozen=True)
class ModelRef:
    """A target: exactly one of ``repo_id`` and ``path`` is set; ``file`` is a file in a repo."""

    text: str
    repo_id: str | None = None
    revision: str | None = None
    path: str | None = None
    file: str | None = None

    @property
    def is_local(self) -> bool:
        return self.path is not None


#: Where a model was read.
OriginKind: TypeAlias = Literal["hub", "cache", "directory", "file", "mapping"]


@dataclass(frozen=True)
class Origin(JsonForm, without="hub"):
    """What was read, as reports name it.

    Fields:
        kind: ``hub``, ``directory``, ``file``, ``cache`` (the Hub's files in the local cache) or
            ``mapping`` (a config given in Python)
        name: the model, as reports name it
        repo_id: ``org/name``; None for local targets
        revision: the branch, tag or commit that was named
        commit: the commit that was read, 40 hex digits
        path: on this disk; None where it was read from the Hub
        hub: the Hub's facts about the repo when it listed its files; None without a request
    """

    kind: OriginKind
    name: str
    repo_id: str | None = None
    revision: str | None = None
    commit: str | None = None
    path: str | None = None
    hub: HubInfo | None = None

    @property
    def short_name(self) -> str:
        """What others call the model: the repo, or the folder's own name (and the file's, where a
        file was named), never where it lies on this disk."""
        if self.repo_id is not None or self.path is None:
            return self.repo_id or self.name
        path = Path(os.path.abspath(self.path))  # noqa: PTH100 - of text alone, no disk
        folder = path.parent.name
        return f"{folder}/{path.name}" if self.kind == "file" and folder else path.name or self.name


def parse_ref(
    text: str,
    *,
    revision: str | None = None,
    endpoint: str | None = None,
    exists: Callable[[str], bool] = lambda _path: False,
) -> ModelRef:
    """Parse a target.

    ``exists`` says whether a local path exists (the core does not touch the disk itself).
    ``endpoint`` is the Hub in use, so that URLs of a private one are recognised.
    Raises UsageError.
    """
    if not text or not text.strip() or "\0" in text:
        raise UsageError("target", "is empty", expected="a repo id, a path or a URL")
    ref = _parse(text, endpoint, exists)
    if revision is not None:
        if ref.is_local:
            raise UsageError(
                text, "is a local path, which has no revisions", hint="leave the revision out"
            )
        if ref.revision not in (None, revision):
            raise UsageError(text, f"names revision {ref.revision} but {revision} was given too")
        ref = replace(ref, revision=revision)
    return ref


def _parse(text: str, endpoint: str | None, exists: Callable[[str], bool]) -> ModelRef:
    if _SCHEME.match(text):
        return _from_hf_uri(text) if text[:2].lower() == "hf" else _from_url(text, endpoint)
    if text.startswith(("./", "../", "/", "~", ".\\", "..\\")) or text in (".", ".."):
        return ModelRef(text, path=text)
    if exists(text):
        return ModelRef(text, path=text)
    if text.partition("/")[0] in _HUB_HOSTS:  # as browsers show an address
        return replace(_from_url(f"https://{text}", endpoint), text=text)
    name, _, revision = text.partition("@")
    if _REPO_ID.fullmatch(name) and not name.endswith((".git", ".")) and "--" not in name:
        folder = name.rpartition("/")[0]
        if _looks_like_file(name) and (not folder or exists(folder)):
            return ModelRef(text, path=text)
        return ModelRef(text, repo_id=name, revision=_checked_revision(text, revision))
    if text.count("/") != 1 or "\\" in text or _looks_like_file(text):
        return ModelRef(text, path=text)
    raise UsageError(
        text, "is neither a local path nor a repo id", expected="org/name, org/name@revision"
    )


def _looks_like_file(text: str) -> bool:
    return text.lower().endswith((".safetensors", ".bin", ".gguf", ".pt", ".pth", ".ckpt", ".json"))


def _checked_revision(text: str, revision: str) -> str | None:
    if "@" in text and not revision:
        raise UsageError(text, "has an empty revision after @", expected="org/name@revision")
    return revision or None


def _from_hf_uri(text: str) -> ModelRef:
    body = text[len("hf://") :].strip("/")
    _refuse_other_kinds(text, body, "hf://org/name")
    body = body.removeprefix("models/")
    # hf://org/name@revision/file; revisions with a slash are written %2F or refs/pr/N.
    match = re.fullmatch(r"([^/@]+(?:/[^/@]+)?)(?:@(refs/[^/]+/[^/]+|[^/]+))?(?:/(.+))?", body)
    halved = match and match[3] and not match[2] and "/" not in match[1]  # hf://org/name@
    if not match or halved or not _REPO_ID.fullmatch(match[1]):
        raise UsageError(text, "is not a model address", expected="hf://org/name[@revision][/file]")
    revision = unquote(match[2]) if match[2] else None
    return ModelRef(text, repo_id=match[1], revision=revision, file=match[3])


def _from_url(text: str, endpoint: str | None) -> ModelRef:
    try:
        url = urlsplit(text)
    except ValueError:  # brackets that enclose no address
        raise UsageError(
            text, "is not an address", expected="https://huggingface.co/org/name"
        ) from None
    prefix = ""
    if endpoint:
        base = urlsplit(endpoint)
        if url.netloc == base.netloc:
            prefix = base.path
        elif url.hostname not in _HUB_HOSTS:
            raise UsageError(text, "is not an address of the Hub in use", expected=masked(endpoint))
    elif url.hostname not in _HUB_HOSTS:
        raise UsageError(text, "is not an address of the Hub", expected="https://huggingface.co")
    parts = [unquote(part) for part in url.path.removeprefix(prefix).split("/") if part]
    for marker in ("tree", "blob", "resolve", "commit"):
        if marker in parts[1:3]:
            at = parts.index(marker, 1)
            name = parts[:at]
            rest = parts[at + 1 :]
            take = 3 if rest[:1] == ["refs"] else 1
            revision = "/".join(rest[:take]) or None
            file = "/".join(rest[take:]) or None
            break
    else:
        name = parts[:2]
        revision = None
        file = None
    repo_id = "/".join(name)
    expected = f"{masked(endpoint or 'https://huggingface.co')}/org/name"
    _refuse_other_kinds(text, "/".join(parts), expected)
    if len(name) not in (1, 2) or not _REPO_ID.fullmatch(repo_id):
        raise UsageError(text, "is not a model's address", expected=expected)
    return ModelRef(text, repo_id=repo_id, revision=revision, file=file)


def _refuse_other_kinds(text: str, path: str, expected: str) -> None:
    """UsageError for what the Hub keeps that is no model, named by the first word of its path."""
    word, _, rest = path.partition("/")
    if rest and word in _OTHER_KINDS:
        raise UsageError(
            text, f"is {_OTHER_KINDS[word]}, and only models are read", expected=expected
        )


def masked(address: str) -> str:
    """An address as messages show it: without its password, and without what follows a ``?``."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an invalid address"
    user, at, host = parts.netloc.rpartition("@")
    if not (at or parts.query or parts.fragment or "@" in parts.path):
        return address
    return urlunsplit(
        (
            parts.scheme,
            f"***@{host}" if user else host,
            parts.path.rpartition("@")[2],
            "***" if parts.query else "",
            "",
        )
    )
