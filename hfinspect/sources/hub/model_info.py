"""The Hub's answer about a model: which commit, which files, how large."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from ...core.hub_info import HubInfo
from ...core.records import dataclass
from ...core.text import clean
from ...errors import UsageError
from ..source import FileEntry
from .hub_errors import RequestContext, own_error
from .settings import IN_BROWSER
from .wire.answer import BrokenAnswerError

#: A file list of 100,000 entries is about 25 MB; nothing that is a model comes near.
MAX_LISTING_BYTES = 64 << 20

#: Real repos have up to some fifty.
MAX_TAGS = 200

#: Commits go into addresses and file names, so they are letters and digits only.
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPO_ID = re.compile(r"(?:\w[\w.-]{0,95}/)?\w[\w.-]{0,95}", re.ASCII)


@dataclass(frozen=True)
class Listing:
    """One model at one commit.

    Fields:
        repo_id: ``org/name``, as it is called now: it may have been renamed
        commit: the commit that was listed, 40 hex digits
        files: the files of the repo
        gated: ``auto``, ``manual`` or False
        private: whether the repo is private
        info: the Hub's other facts about the repo
    """

    repo_id: str
    commit: str | None
    files: Mapping[str, FileEntry]
    gated: str | bool | None = None
    private: bool | None = None
    info: HubInfo | None = None

    @property
    def is_public(self) -> bool:
        """Whether everybody may read its files, by the Hub."""
        return self.private is False and self.gated is False


def parse_listing(answer: object, repo_id: str) -> Listing:
    """``GET /api/models/{repo}?blobs=true``. Raises BrokenAnswerError if it is something else."""
    if not isinstance(answer, dict) or not isinstance(answer.get("siblings"), list):
        raise BrokenAnswerError("answered something that is not a model's file list")
    files: dict[str, FileEntry] = {}
    for sibling in answer["siblings"]:
        entry = _entry(sibling)
        files[entry.path] = entry
    name = answer.get("id")
    gated = answer.get("gated")
    private = answer.get("private")
    return Listing(
        repo_id=name if isinstance(name, str) and _REPO_ID.fullmatch(name) else repo_id,
        commit=commit_of(answer),
        files=files,
        gated=gated if isinstance(gated, (str, bool)) else None,
        private=private if isinstance(private, bool) else None,
        info=info_of(answer),
    )


def info_of(answer: Mapping[str, Any]) -> HubInfo:
    """What else the answer says; anything of another type counts as not said."""
    card = answer.get("cardData")
    card = card if isinstance(card, Mapping) else {}
    gated = answer.get("gated")
    tags = answer.get("tags")
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    tagged = next((tag.partition(":")[2] for tag in texts if tag.startswith("license:")), None)
    licence = _text(card.get("license")) or _text(tagged)
    if licence == "other":
        licence = _text(card.get("license_name")) or licence
    return HubInfo(
        license=licence,
        gated=gated if isinstance(gated, (str, bool)) else None,
        last_modified=_text(answer.get("lastModified")),
        library=_text(answer.get("library_name")),
        task=_text(answer.get("pipeline_tag")),
        tags=tuple(clean(tag) for tag in texts[:MAX_TAGS]),
    )


def _text(value: object) -> str | None:
    """A short text; a card may list several licences."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ", ".join(value)
    return clean(value) if isinstance(value, str) and value else None


def commit_of(answer: object) -> str | None:
    """The ``sha`` of a model's answer, if it has one that can be one."""
    sha = answer.get("sha") if isinstance(answer, dict) else None
    return sha if isinstance(sha, str) and is_commit(sha) else None


def _entry(sibling: object) -> FileEntry:
    path = sibling.get("rfilename") if isinstance(sibling, dict) else None
    if not isinstance(path, str) or not _stays_below_root(path):
        raise BrokenAnswerError("lists a file whose name no repository can hold")
    assert isinstance(sibling, dict)
    lfs = sibling.get("lfs")
    sha256 = lfs.get("sha256") if isinstance(lfs, dict) else None
    return FileEntry(
        path,
        _size(sibling.get("size")),
        sha256 if isinstance(sha256, str) and _SHA256.fullmatch(sha256) else None,
        _object_id(sibling, is_large=isinstance(lfs, dict)),
    )


def _object_id(sibling: Mapping[str, object], *, is_large: bool) -> str | None:
    """The hash under which the file's content is stored. Of a large file Git has a pointer, whose
    hash is not the content's."""
    xet = sibling.get("xetHash")
    git = sibling.get("blobId")
    if isinstance(xet, str) and _SHA256.fullmatch(xet):
        return f"xet:{xet}"
    if isinstance(git, str) and _COMMIT.fullmatch(git) and not is_large:
        return f"git:{git}"
    return None


def _size(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def is_commit(text: str) -> bool:
    return _COMMIT.fullmatch(text) is not None


def is_repo_id(text: str) -> bool:
    return _REPO_ID.fullmatch(text) is not None


#: A repo id that is one by huggingface_hub's rules, whatever its version.
_USUAL_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9])?"
_USUAL_ID = re.compile(rf"(?!.*(?:--|\.\.|\.git\Z)){_USUAL_PART}/{_USUAL_PART}")


def check_repo_id(context: RequestContext) -> None:
    """UsageError if a repo id is none by huggingface_hub's rules."""
    if _USUAL_ID.fullmatch(context.repo_id):
        return  # what judges the others takes longer to import than a request
    if IN_BROWSER:
        raise UsageError(context.repo_id, "is not a repo id", expected="org/name")
    from huggingface_hub.errors import HFValidationError

    try:
        _validate(context.repo_id)
    except HFValidationError as error:
        raise own_error(error, context) or error from error


@functools.lru_cache(maxsize=64)  # each repo is checked before its cache is read, and its list
def _validate(repo_id: str) -> None:
    from huggingface_hub import utils

    utils.validate_repo_id(repo_id)  # type: ignore[attr-defined]


def _stays_below_root(path: str) -> bool:
    """Odd names (backslashes, line feeds) occur and do no harm here; those that climb do."""
    parts = path.split("/")
    return "\0" not in path and not any(part in ("", ".", "..") for part in parts)
