"""The Hub's api answers, from the repos of ``hub_repos``."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from .hub_repos import Repo, StoredFile

Query = dict[str, list[str]]

_MARKERS = ("revision", "tree", "paths-info", "refs", "safetensors-metadata", "auth-check")


@dataclass
class Reply:
    """An answer: JSON or bytes, or a file of which a range may be asked."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    file: StoredFile | None = None

    @classmethod
    def json(cls, value: object, **headers: str) -> Reply:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        named.setdefault("Content-Type", "application/json; charset=utf-8")
        return cls(200, json.dumps(value).encode(), named)


def error(status: int, code: str, message: str) -> Reply:
    headers = {"X-Error-Message": message, "Content-Type": "application/json; charset=utf-8"}
    if code:
        headers["X-Error-Code"] = code
    return Reply(status, json.dumps({"error": message}).encode(), headers)


def split_api_path(path: str) -> tuple[str, str, str]:
    """``org/name/tree/main/a`` -> (repo id, marker, rest)."""
    parts = path.split("/")
    for at in (1, 2):
        if len(parts) > at and parts[at] in _MARKERS:
            return "/".join(parts[:at]), parts[at], "/".join(parts[at + 1 :])
    return path, "", ""


def model(repo: Repo, sha: str, query: Query) -> Reply:
    info = _info(repo, sha, blobs=query.get("blobs", [""])[0].lower() == "true")
    return Reply.json(_expanded(info, query))


def _expanded(info: dict[str, object], query: Query) -> dict[str, object]:
    names = query.get("expand")
    if not names:
        return info
    return {name: info[name] for name in ("_id", "id", *names) if name in info}


def _info(repo: Repo, sha: str, *, blobs: bool) -> dict[str, object]:
    files = repo.files(sha)
    siblings = [
        {"rfilename": path, **(_blob(file) if blobs else {})} for path, file in files.items()
    ]
    return {
        "_id": sha[:24],
        "id": repo.id,
        "modelId": repo.id,
        "author": repo.id.partition("/")[0],
        "sha": sha,
        "lastModified": "2026-01-02T03:04:05.000Z",
        "private": repo.private,
        "gated": repo.gated,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "config": _config(files),
        "siblings": siblings,
        **repo.info,
    }


def _blob(file: StoredFile) -> dict[str, object]:
    blob: dict[str, object] = {"blobId": file.oid, "size": file.size}
    if file.lfs:
        blob["lfs"] = {"sha256": file.sha256, "size": file.size, "pointerSize": 135}
    return blob


def _config(files: dict[str, StoredFile]) -> dict[str, object]:
    """The few keys of config.json that the Hub repeats."""
    try:
        config = json.loads(files["config.json"].head)
        return {key: config[key] for key in ("architectures", "model_type") if key in config}
    except (KeyError, ValueError, TypeError):
        return {}


def models(repos: Iterable[Repo], query: Query, url: str, page_size: int) -> Reply:
    """``GET /api/models``: filtered, sorted, paged by a Link header."""
    matching = [repo for repo in repos if _matches(repo, query)]
    sort = query.get("sort", [""])[0]
    infos = [_info(repo, repo.sha, blobs=False) for repo in matching]
    if sort:
        infos.sort(key=lambda info: str(info["id"]))
        infos.sort(key=lambda info: _sort_key(info.get(sort)), reverse=True)
    start = int(query.get("cursor", ["0"])[0])
    limit = min(int(query.get("limit", [str(page_size)])[0]), page_size)
    reply = Reply.json([_expanded(info, query) for info in infos[start : start + limit]])
    if start + limit < len(infos):
        again = {**query, "cursor": [str(start + limit)]}
        reply.headers["Link"] = f'<{url}?{urlencode(again, doseq=True)}>; rel="next"'
    return reply


def _sort_key(value: object) -> tuple[float, str]:
    return (float(value), "") if isinstance(value, (int, float)) else (0.0, str(value))


def _matches(repo: Repo, query: Query) -> bool:
    author = query.get("author", [""])[0]
    search = query.get("search", [""])[0]
    tags = repo.info.get("tags", [])
    assert isinstance(tags, list)
    return (
        not repo.private
        and (not author or repo.id.startswith(author + "/"))
        and search.lower() in repo.id.lower()
        and all(wanted in tags for wanted in query.get("filter", []))
    )


def tree(repo: Repo, sha: str, folder: str, query: Query, url: str, page_size: int) -> Reply:
    prefix = folder + "/" if folder else ""
    entries: dict[str, dict[str, object]] = {}
    for path, file in repo.files(sha).items():
        if not path.startswith(prefix):
            continue
        rest = path[len(prefix) :]
        if "/" in rest:
            name = prefix + rest.partition("/")[0]
            entries[name] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
        if "/" not in rest or query.get("recursive", [""])[0].lower() == "true":
            entries[path] = path_info(path, file)
    if folder and not entries:
        return error(404, "EntryNotFound", f"{folder} does not exist on this revision")
    listed = list(entries.values())
    start = int(query.get("cursor", ["0"])[0])
    reply = Reply.json(listed[start : start + page_size])
    if start + page_size < len(listed):
        again = {**query, "cursor": [str(start + page_size)]}
        reply.headers["Link"] = f'<{url}?{urlencode(again, doseq=True)}>; rel="next"'
    return reply


def path_info(path: str, file: StoredFile) -> dict[str, object]:
    info: dict[str, object] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
    if file.lfs:
        info["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": 135}
    return info


def refs(repo: Repo) -> Reply:
    def listed(names: dict[str, str], kind: str) -> list[dict[str, str]]:
        return [
            {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": sha}
            for name, sha in names.items()
        ]

    return Reply.json(
        {
            "branches": listed(repo.branches, "heads"),
            "tags": listed(repo.tags, "tags"),
            "converts": [],
        }
    )


def shard_headers(repo: Repo, index_file: str) -> Reply:
    """``GET .../safetensors-metadata/{index}``: of ``main``, a shard that is missing left out."""
    files = repo.files(repo.sha)
    if index_file not in files:
        return error(404, "EntryNotFound", f"{index_file} does not exist on main")
    index = json.loads(files[index_file].head)
    folder = index_file.rpartition("/")[0]
    headers = {}
    for shard in sorted(set(index["weight_map"].values())):
        file = files.get(f"{folder}/{shard}" if folder else shard)
        if file is not None:
            (length,) = struct.unpack("<Q", file.head[:8])
            headers[shard] = json.loads(file.head[8 : 8 + length])
    return Reply.json({"index": {"metadata": index.get("metadata", {})}, "headers": headers})
