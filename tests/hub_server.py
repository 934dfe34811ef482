"""A Hub on loopback: real HTTP, a second port as its storage host, a meter, and every mishap.

Tests build repos from dicts of files, ask through the real huggingface_hub session, and then look
at ``hub.meter``: what was asked, in what order, and how many bytes were sent.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from . import hub_api
from .hub_api import Query, Reply, error
from .hub_http import Listener, Request
from .hub_repos import Files, Repo, StoredFile

#: Token -> user. Anything else in Authorization is refused.
TOKENS = {"hf_reader": "reader", "hf_stranger": "stranger"}


@dataclass
class Fault:
    """Something that goes wrong for the next ``times`` requests whose path has ``match`` in it.

    ``kind``: ``status`` (an error answer with ``body``), ``page`` (200 with a portal's HTML),
    ``body`` (200 with ``body``), ``drip`` (one byte of the head every ``seconds``), ``reset`` (the
    connection dies after ``after`` bytes of the body), ``cut`` (a body that ends early but
    properly framed), ``short`` (Content-Length too large), ``stall`` (``seconds`` of silence after
    ``after`` bytes), ``trickle`` (a byte every ``seconds``), ``range`` (a wrong Content-Range).
    """

    kind: str
    match: str = ""
    host: str = ""
    times: int = 1_000_000
    status: int = 503
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b'{"error":"fault"}'
    after: int = 0
    seconds: float = 0.0


@dataclass
class Meter:
    """Every request that came in, in order."""

    requests: list[Request] = field(default_factory=list)
    connections: dict[str, int] = field(default_factory=lambda: {"hub": 0, "cdn": 0})

    def count(self, host: str, match: str = "") -> int:
        return sum(1 for request in self.requests if request.host == host and match in request.path)

    def sent(self, host: str = "") -> int:
        """Bytes of bodies sent."""
        return sum(request.sent for request in self.requests if host in ("", request.host))

    def paths(self, host: str = "hub") -> list[str]:
        return [request.path for request in self.requests if request.host == host]

    @property
    def tokens_leaked(self) -> int:
        """Requests to the storage host that carried Authorization."""
        return sum(1 for r in self.requests if r.host == "cdn" and "authorization" in r.headers)

    def clear(self) -> None:
        self.requests.clear()
        self.connections.update(hub=0, cdn=0)


class HubServer:
    """The server. Its attributes are switches that tests may turn at any time."""

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.renamed: dict[str, str] = {}
        self.faults: list[Fault] = []
        self.meter = Meter()
        self.latency = 0.0  # seconds before each answer
        self.has_headers_endpoint = True
        self.says_commit_of_headers = False  # X-Repo-Commit on the answer of that endpoint
        self.ignores_range = False
        self.joins_ranges = True  # several in one answer
        self.refuses_several = 0  # the status where several are requested
        self.lists_sizes = True  # mirrors may not
        self.gzips = False  # small files, without Content-Length
        self.has_resolve_cache = False  # 307 for small files
        self.redirects_relatively = False
        self.page_size = 1000
        self.moved_to = ""  # another Hub, to which every request is led
        self.more_headers: dict[str, str] = {}  # of every answer
        self.hides_content_range = False  # the storage host
        self.quota = ""  # RateLimit of good api answers
        self.stopping = threading.Event()
        self.at_close: list[Callable[[], None]] = []  # clients that a test leaves to the server
        self._signatures = 0
        self._signed: dict[str, StoredFile] = {}
        self._lock = threading.Lock()
        self._hub = Listener("hub", self)
        self._cdn = Listener("cdn", self)

    @property
    def endpoint(self) -> str:
        return self._hub.url

    @property
    def cdn(self) -> str:
        return self._cdn.url

    def env(self, home: str | os.PathLike[str], token: str | None = None) -> dict[str, str]:
        """Environment for a subprocess that shall know this Hub and no other."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        env = {
            **kept,
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": os.fspath(home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
        }
        return {**env, "HF_TOKEN": token} if token else env

    def add(self, repo_id: str, files: Files, **fields: object) -> Repo:
        """A new repo with one commit on main; ``fields`` are those of Repo."""
        repo = Repo(repo_id, **fields)  # type: ignore[arg-type]
        repo.commit(files)
        self.repos[repo_id] = repo
        return repo

    def fail(self, kind: str, match: str = "", **fields: object) -> None:
        self.faults.append(Fault(kind, match, **fields))  # type: ignore[arg-type]

    def expire_signatures(self) -> None:
        """From now on, addresses on the storage host that were given out are refused."""
        with self._lock:
            self._signed.clear()

    def take_fault(self, host: str, path: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.times > 0 and fault.match in path and fault.host in ("", host):
                    fault.times -= 1
                    return fault
        return None

    def answer(self, request: Request) -> Reply:
        if self.latency:
            time.sleep(self.latency)
        if request.host == "cdn":
            return self._storage(request)
        if self.moved_to:
            where = self.moved_to + request.path + request.query_string
            return Reply(308, b"Permanent Redirect", {"Location": where})
        path = unquote(request.path)
        if path == "/api/whoami-v2":
            user = self._user(request)
            if user is None:
                return error(401, "", "Invalid username or password.")
            return Reply.json({"type": "user", "name": user, "auth": {"type": "access_token"}})
        if path == "/api/models":
            url = self.endpoint + path
            return hub_api.models(self.repos.values(), request.query, url, self.page_size)
        if path.startswith("/api/resolve-cache/models/"):
            name, _, rest = path.removeprefix("/api/resolve-cache/models/").partition("@")
            sha, _, file = rest.partition("/")
            return self._small(self.repos[name], sha, self.repos[name].files(sha)[file])
        if path.startswith("/api/models/"):
            reply = self._api(request, path.removeprefix("/api/models/"))
            if self.quota:
                reply.headers["RateLimit"] = self.quota
            return reply
        name, marker, rest = path[1:].partition("/resolve/")
        if marker:
            return self._resolve(request, name, rest)
        return error(404, "", "Sorry, we can't find the page you are looking for.")

    def _user(self, request: Request) -> str | None:
        return TOKENS.get(request.headers.get("authorization", "").removeprefix("Bearer "))

    def _repo(self, request: Request, name: str) -> Repo | Reply:
        if "authorization" in request.headers and self._user(request) is None:
            return error(401, "", "Invalid credentials in Authorization header")
        repo = self.repos.get(name)
        user = self._user(request)
        if repo is None or (repo.private and user not in repo.readers):
            if user is None:
                return error(401, "RepoNotFound", "Invalid username or password.")
            return error(404, "RepoNotFound", "Repository not found")
        return repo

    def _gate(self, request: Request, repo: Repo) -> Reply | None:
        user = self._user(request)
        if not repo.gated or user in repo.readers:
            return None
        message = f"Access to model {repo.id} is restricted."
        return error(401 if user is None else 403, "GatedRepo", message)

    def _api(self, request: Request, path: str) -> Reply:
        name, marker, rest = hub_api.split_api_path(path)
        if name in self.renamed:
            return self._moved(request, f"/api/models/{name}", f"/api/models/{self.renamed[name]}")
        repo = self._repo(request, name)
        if isinstance(repo, Reply):
            return repo
        if marker == "refs":
            return hub_api.refs(repo)
        if marker == "auth-check":
            return self._gate(request, repo) or Reply.json({})
        if marker == "safetensors-metadata":
            return self._headers(request, repo, rest)
        revision, folder = self._revision(repo, rest)
        sha = repo.resolve(revision or "main")
        if sha is None:
            return error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if marker == "tree":
            url = self.endpoint + request.path
            return hub_api.tree(repo, sha, folder, request.query, url, self.page_size)
        if marker == "paths-info":
            files = repo.files(sha)
            paths = [path for path in request.form.get("paths", []) if path in files]
            return Reply.json([hub_api.path_info(path, files[path]) for path in paths])
        query: Query = request.query if self.lists_sizes else {}
        return hub_api.model(repo, sha, query)

    def _headers(self, request: Request, repo: Repo, index_file: str) -> Reply:
        if not self.has_headers_endpoint:
            return error(404, "", "Not found")
        gate = self._gate(request, repo)
        if gate is not None:
            return gate
        reply = hub_api.shard_headers(repo, index_file)
        if self.says_commit_of_headers:
            reply.headers["X-Repo-Commit"] = repo.sha
        return reply

    def _revision(self, repo: Repo, rest: str) -> tuple[str, str]:
        """Split ``revision/path`` where revisions may hold slashes (refs/pr/1)."""
        for name in sorted((*repo.branches, *repo.tags), key=len, reverse=True):
            if rest == name or rest.startswith(name + "/"):
                return name, rest[len(name) + 1 :]
        revision, _, path = rest.partition("/")
        return revision, path

    def _moved(self, request: Request, old: str, new: str) -> Reply:
        target = new + unquote(request.path)[len(old) :] + request.query_string
        return Reply(307, b"Temporary Redirect", {"Location": target})

    def _resolve(self, request: Request, name: str, rest: str) -> Reply:
        if name in self.renamed:
            return self._moved(request, f"/{name}", f"/{self.renamed[name]}")
        repo = self._repo(request, name)
        if isinstance(repo, Reply):
            return repo
        revision, path = self._revision(repo, rest)
        sha = repo.resolve(revision)
        if sha is None:
            return error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        denied = self._gate(request, repo)
        if denied is not None:
            return denied
        file = repo.files(sha).get(path)
        if file is None:
            return error(404, "EntryNotFound", "Entry not found")
        if file.lfs:
            return self._elsewhere(sha, file)
        if self.has_resolve_cache:
            target = f"/api/resolve-cache/models/{name}@{sha}/{path}"
            where = target if self.redirects_relatively else self.endpoint + target
            return Reply(307, b"", {"Location": where, "X-Repo-Commit": sha})
        return self._small(repo, sha, file)

    def _small(self, repo: Repo, sha: str, file: StoredFile) -> Reply:
        headers = {"X-Repo-Commit": sha, "ETag": f'"{file.oid}"', "Content-Type": "text/plain"}
        return Reply(200, b"", headers, file)

    def _elsewhere(self, sha: str, file: StoredFile) -> Reply:
        with self._lock:
            self._signatures += 1
            key = f"/repos/{file.sha256}/{self._signatures}"
            self._signed[key] = file
        headers = {
            "Location": f"{self.cdn}{key}?Expires=1767322800&Signature=abc~def",
            "X-Repo-Commit": sha,
            "X-Linked-Size": str(file.size),
            "X-Linked-Etag": f'"{file.sha256}"',
            "ETag": f'"{file.sha256}"',
        }
        return Reply(302, b"Found. Redirecting", headers)

    def _storage(self, request: Request) -> Reply:
        if "authorization" in request.headers:
            return Reply(400, b"<Error><Code>InvalidArgument</Code></Error>")
        with self._lock:
            file = self._signed.get(request.path)
        if file is None:
            return Reply(403, b"<Error><Code>AccessDenied</Code></Error>")
        return Reply(200, b"", {"ETag": f'"{file.sha256}"'}, file)

    def close(self) -> None:
        for close in self.at_close:
            close()
        self.at_close.clear()
        self.stopping.set()
        self._hub.close()
        self._cdn.close()


@contextmanager
def running_hub() -> Iterator[HubServer]:
    server = HubServer()
    try:
        yield server
    finally:
        server.close()
