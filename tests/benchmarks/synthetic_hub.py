"""A Hub of as many repos as one likes, each made when it is requested and forgotten afterwards.

What a repo holds follows from its number: a family of the catalog (a few are much more frequent
than the others), a number of layers and a vocabulary; config.json says so, and the safetensors
header has the tensors that the family predicts. One repo in a hundred has a mishap. Quotas are
those of the Hub, in scaled time.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import random
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from hfinspect.errors import HfinspectError
from hfinspect.trees.prediction import predict

from ..hub_api import Reply, error
from ..hub_http import Request
from ..hub_repos import Repo, StoredFile, sparse, weights
from ..hub_server import Fault, HubServer

CASES: Final = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "cases"
AUTHOR: Final = "synthetic"
PAGE: Final = 1000
#: Requests of a window of 300 seconds with a token, of the order of the Hub's own.
QUOTAS: Final = {"api": 1000, "resolve": 5000}
WINDOW: Final = 300.0
#: Vocabularies of a family, a thousand apart: with the numbers of layers some 15,000 checkpoints.
VOCABULARIES: Final = 8
LAYERS: Final = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")

#: Number modulo 1,000 -> what happens, and the error kind of the row (None: none).
MISHAPS: Final[dict[int, tuple[str, str | None]]] = {
    17: ("absent", "repo_not_found"),
    117: ("gated", "gated"),
    217: ("broken header", "malformed_file"),
    317: ("broken config", None),  # counted from the header
    417: ("503", None),
    517: ("429", None),
    617: ("reset", None),
    717: ("cut", None),
    817: ("page", None),
    917: ("short", None),
}
_FAULTS: Final = {
    "503": Fault("status", status=503),
    "429": Fault("status", status=429, headers={"Retry-After": "1"}),
    "reset": Fault("reset", after=10),
    "cut": Fault("cut"),
    "page": Fault("page"),
    "short": Fault("short"),
}


def name_of(number: int) -> str:
    return f"{AUTHOR}/m{number:07d}"


def mishap(number: int) -> tuple[str, str | None]:
    return MISHAPS.get(number % 1000, ("", None))


@cache
def families() -> tuple[dict[str, Any], ...]:
    """A config of each family that has a number of layers, in an order of chance."""
    configs = []
    for path in sorted(CASES.glob("*.json")):
        recorded = json.loads(path.read_text())
        if not isinstance(recorded, dict) or "model_type" not in recorded:
            continue  # timm's names, pipelines of diffusers
        case = recorded["cases"][0]
        config = {
            "model_type": recorded["model_type"],
            "architectures": [case["architecture"]],
            **recorded.get("tiny", {}),
            **case.get("config", {}),
        }
        if any(name in config for name in LAYERS):
            configs.append(config)
    random.Random(1).shuffle(configs)
    return tuple(configs)


def config_of(number: int) -> dict[str, Any]:
    """Deterministic: a family by a long-tailed chance, and sizes."""
    chance = random.Random(number)
    at = min(int(chance.paretovariate(0.4)) - 1, len(families()) * 50) % len(families())
    config = dict(families()[at])
    for name in LAYERS:
        if name in config:
            config[name] = chance.choice((2, 4, 6, 8, 12, 16, 24, 32))
    if "vocab_size" in config:
        config["vocab_size"] += 1000 * chance.randrange(VOCABULARIES)
    return config


@lru_cache(maxsize=15_000)
def checkpoint_of(text: bytes) -> tuple[bytes, StoredFile]:
    """config.json and weights of a config. The Hub would take longer than the scan of it if each
    repo, of which many are alike, were computed anew; the scan computes each anew."""
    try:
        tensors = {t.name: ("BF16", t.shape) for t in predict(json.loads(text)).tensors}
    except HfinspectError:  # of layers that this family does not have
        number = zlib.crc32(text)
        text = json.dumps(families()[number % len(families())]).encode()
        tensors = {"model.weight": ("BF16", (number % 1000 + 1, 64))}
    return text, weights(tensors)


@lru_cache(maxsize=256)
def repo_of(number: int) -> Repo | None:
    kind, _ = mishap(number)
    if kind == "absent":
        return None
    text = json.dumps(config_of(number)).encode()
    text, stored = checkpoint_of(text)
    if kind == "broken config":
        text = b"{"
    if kind == "broken header":
        stored = sparse(b"\xff" * 64, 1 << 20)
    files = {
        "config.json": StoredFile(text, len(text), lfs=False),
        "model.safetensors": stored,
    }
    commit = sha_of(number)
    gated = "manual" if kind == "gated" else False
    return Repo(name_of(number), gated=gated, commits={commit: files}, branches={"main": commit})


def sha_of(number: int) -> str:
    return hashlib.sha1(name_of(number).encode()).hexdigest()


class LazyRepos(Mapping[str, Repo]):
    """Repos by name, made when they are requested."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __getitem__(self, name: str) -> Repo:
        author, _, text = name.partition("/m")
        number = int(text) if author == AUTHOR and text.isdecimal() else -1
        repo = repo_of(number) if 0 <= number < self.count else None
        if repo is None:
            raise KeyError(name)
        return repo

    def __iter__(self) -> Iterator[str]:
        return map(name_of, range(self.count))

    def __len__(self) -> int:
        return self.count


class Latest(dict[str, StoredFile]):
    """Addresses of the storage host: the last few thousand are good."""

    def __setitem__(self, key: str, value: StoredFile) -> None:
        super().__setitem__(key, value)
        while len(self) > 2000:
            del self[next(iter(self))]


class Counts(list[Request]):
    """Requests are counted, not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def append(self, request: Request) -> None:
        kind = "api" if request.path.startswith("/api/") else "resolve"
        self.counts["range" if request.host == "cdn" else kind] += 1


class SyntheticHub(HubServer):
    """``count`` repos; ``times`` is how much faster than the Hub's its quotas' time goes."""

    def __init__(self, count: int, times: float, quotas: Mapping[str, int] = QUOTAS) -> None:
        super().__init__()
        self.quotas = quotas
        self.repos = LazyRepos(count)  # type: ignore[assignment]
        self.requests = self.meter.requests = Counts()
        self._signed = Latest()
        self._window = WINDOW / times
        self._used: dict[str, tuple[int, int]] = {}  # quota -> window, requests in it
        self._happened: set[str] = set()
        self._guard = threading.Lock()
        self.refusals = 0
        self.most: Counter[str] = Counter()  # requests granted in one window, by quota
        self.used_up: defaultdict[str, float] = defaultdict(
            float
        )  # seconds in which a quota granted nothing

    def take_fault(self, host: str, path: str) -> Fault | None:
        name = path[1:].partition("/resolve/")[0]
        if host == "cdn" or "/resolve/" not in path or not name.startswith(AUTHOR):
            return None
        fault = _FAULTS.get(mishap(int(name.partition("/m")[2]))[0])
        if fault is None or not path.endswith("config.json") or name in self._happened:
            return None
        self._happened.add(name)
        return fault

    def answer(self, request: Request) -> Reply:
        if request.host == "cdn":
            return super().answer(request)
        quota = "api" if request.path.startswith("/api/") else "resolve"
        left, seconds = self._left(quota)
        headers = {
            "RateLimit": f'"{quota}";r={max(left, 0)};t={math.ceil(seconds)}',
            "RateLimit-Policy": f'"fixed window";"{quota}";q={self.quotas[quota]};w='
            f"{math.ceil(self._window)}",
        }
        if left < 0:
            self.refusals += 1
            reply = error(429, "", "You have exceeded your rate limit.")
        elif request.path == "/api/models":
            reply = self._page(request)
        else:
            reply = super().answer(request)
        reply.headers.update(headers)
        return reply

    def _left(self, quota: str) -> tuple[int, float]:
        """What is left of a window after this request, and its seconds."""
        now = time.monotonic()
        window = int(now / self._window)
        with self._guard:
            before, used = self._used.get(quota, (window, 0))
            used = used + 1 if before == window else 1
            self._used[quota] = window, used
            left = self.quotas[quota] - used
            seconds = (window + 1) * self._window - now
            self.most[quota] = max(self.most[quota], min(used, self.quotas[quota]))
            if left == 0:
                self.used_up[quota] += seconds
        return left, seconds

    def told(self) -> dict[str, float]:
        """What the quotas did, and the seconds of processors that the Hub took."""
        return {
            "refused": self.refusals,
            **{f"most {quota} of a window": most for quota, most in self.most.items()},
            **{f"seconds without {quota}": seconds for quota, seconds in self.used_up.items()},
            "seconds of the Hub's processors": time.process_time(),
        }

    def _page(self, request: Request) -> Reply:
        query = request.query
        start = int(query.get("cursor", ["0"])[0])
        stop = min(start + min(int(query.get("limit", ["1000"])[0]), PAGE), len(self.repos))
        expand = query.get("expand", [])
        reply = Reply.json([entry(number, expand) for number in range(start, stop)])
        if stop < len(self.repos):
            again = urlencode({**query, "cursor": [str(stop)]}, doseq=True)
            reply.headers["Link"] = f'<{self.endpoint}/api/models?{again}>; rel="next"'
        return reply


def entry(number: int, expand: list[str]) -> dict[str, object]:
    """One entry of the list. Its totals are numbers of the Hub's own, which nobody counts."""
    chance = random.Random(f"entry {number}")  # Random(-1) is Random(1)
    total = int(10 ** chance.uniform(6, 11))
    values: dict[str, object] = {
        "sha": sha_of(number),
        "siblings": [{"rfilename": "config.json"}, {"rfilename": "model.safetensors"}],
        "private": False,
        "gated": "manual" if mishap(number)[0] == "gated" else False,
        "lastModified": "2026-01-02T03:04:05.000Z",
        "library_name": "transformers",
        "pipeline_tag": chance.choice(("text-generation", "fill-mask", "image-classification")),
        "tags": [f"license:{chance.choice(('mit', 'apache-2.0', 'llama3', 'other'))}"],
        "safetensors": {"parameters": {"BF16": total}, "total": total},
    }
    if "config" in expand:
        config = config_of(number)
        values["config"] = {key: config[key] for key in ("architectures", "model_type")}
    return {"id": name_of(number), **{key: values[key] for key in expand if key in values}}


class HubProcess:
    """The Hub in a process of its own."""

    def __init__(self, count: int, times: float) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(count, times, other), daemon=True)
        self._process.start()
        other.close()  # so that the end of the process is heard
        self.env: dict[str, str] = self._pipe.recv()

    def counts(self) -> dict[str, float]:
        self._pipe.send("counts")
        counters: dict[str, float] = self._pipe.recv()
        return counters

    def close(self) -> None:
        self._pipe.send("stop")
        self._process.join(10)


def _serve(count: int, times: float, pipe: Connection) -> None:
    families()
    hub = SyntheticHub(count, times)
    pipe.send(hub.env("/nonexistent/home", "hf_reader"))
    while pipe.recv() == "counts":
        pipe.send({**hub.requests.counts, **hub.told()})
    hub.close()
