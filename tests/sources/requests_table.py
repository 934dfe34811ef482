"""How many requests each question sends to a Hub: the table of docs/bytes.md."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import hfinspect
from hfinspect.pictures import portrait
from hfinspect.sources.header_cache import HeaderCache
from hfinspect.web.answering import Reach, answer
from hfinspect.web.open_models import OpenModels

from ..builders import Tensors, shard_names
from ..hub_http import Request
from ..hub_repos import StoredFile, weights
from ..hub_server import HubServer

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
#: What lies next to the weights of most models: each of the JSON files is read by an audit.
BESIDE: dict[str, bytes | StoredFile] = {
    "config.json": json.dumps(CONFIG).encode(),
    "generation_config.json": b'{"bos_token_id": 1}',
    "tokenizer.json": b'{"model": {"vocab": {"a": 0}}}',
    "tokenizer_config.json": b"{}",
    "README.md": b"---\nlicense: mit\n---\n",
}
#: Shards of the large model.
SHARDS = 24


class Asked(NamedTuple):
    """One request: the host, its path, its query and its range."""

    host: str
    path: str
    query: str
    span: str

    @classmethod
    def of(cls, request: Request) -> Asked:
        return cls(
            request.host, request.path, request.query_string, request.headers.get("range", "")
        )

    @property
    def kind(self) -> str:
        if self.host == "cdn":
            return "range"
        return "api" if self.path.startswith("/api/") else "file"


def tensors() -> Tensors:
    predicted = hfinspect.predict(CONFIG).specs
    return {spec.name: ("BF16", tuple(int(size) for size in spec.shape)) for spec in predicted}


def sharded(shards: int = SHARDS) -> dict[str, bytes | StoredFile]:
    """The model in so many shards, with their index."""
    names = shard_names("model", ".safetensors", shards)
    all_tensors = list(tensors().items())
    parts = [dict(all_tensors[at::shards]) for at in range(shards)]
    weight_map = {name: shard for shard, part in zip(names, parts, strict=True) for name in part}
    index = json.dumps({"metadata": {}, "weight_map": weight_map}).encode()
    files = {shard: weights(part) for shard, part in zip(names, parts, strict=True)}
    return {**BESIDE, "model.safetensors.index.json": index, **files}


@contextmanager
def a_hub() -> Iterator[HubServer]:
    """With one model in one file, and one in shards on two branches."""
    hub = HubServer()
    try:
        hub.add("org/small", {**BESIDE, "model.safetensors": weights(tensors())})
        hub.add("org/large", sharded())
        repo = hub.repos["org/large"]
        repo.branches["dev"] = repo.sha
        yield hub
    finally:
        hub.close()


def during(hub: HubServer, work: Callable[[], object]) -> list[Asked]:
    """What is requested meanwhile."""
    hub.meter.clear()
    work()
    return [Asked.of(request) for request in hub.meter.requests]


def repeated(asked: list[Asked]) -> list[Asked]:
    """Requests that were sent more than once."""
    return [one for one, times in Counter(asked).items() if times > 1]


def questions(hub: HubServer) -> dict[str, Callable[..., object]]:
    """What is asked about a target, by what the user does."""
    here: dict[str, Any] = {"endpoint": hub.endpoint, "token": False}
    return {
        "`inspect`, `tensors`, `tree`": partial(hfinspect.inspect, **here),
        "`explain`": partial(hfinspect.explain, **here),
        "`memory`": partial(hfinspect.memory, **here),
        "`--source config`": partial(hfinspect.inspect, source="config", **here),
        "`tokenizer`": partial(hfinspect.tokenizer, **here),
        "`audit`": partial(hfinspect.audit, **here),
        "`--output x.html`": partial(portrait, **here),
    }


def tabs(hub: HubServer, target: str) -> dict[str, list[Asked]]:
    """What the tabs of the app request, one after the other."""
    reach = Reach(opened=OpenModels(hub.endpoint))
    requests = {}
    for kind in ("report", "memory", "explain", "audit"):
        question = json.dumps({"kind": kind, "target": target})
        requests[kind] = during(hub, lambda text=question: _told(answer(text, reach)))  # type: ignore[misc]
    return requests


def _told(text: str) -> None:
    assert "error" not in json.loads(text), text


@cache
def table() -> str:
    """Requests to the api, to the Hub for a file, and to the storage host for a range."""
    heads = ("question", "one file", f"{SHARDS} shards, main", "another branch", "main again")
    lines = [f"| {' | '.join(heads)} |", "| --- | ---: | ---: | ---: | ---: |"]
    targets = ("org/small", "org/large", "org/large@dev")
    with a_hub() as hub:
        for name, ask in questions(hub).items():
            cells = [_cell(during(hub, partial(ask, target))) for target in targets]
            with tempfile.TemporaryDirectory() as folder:
                kept = HeaderCache(Path(folder))
                ask("org/large", cache=kept)
                cells.append(_cell(during(hub, partial(ask, "org/large", cache=kept))))
            lines.append(f"| {name} | {' | '.join(cells)} |")
        all_tabs = [tabs(hub, target) for target in targets]
        for kind in all_tabs[0]:
            cells = [_cell(one_tab[kind]) for one_tab in all_tabs]
            lines.append(f"| the app: {kind} | {' | '.join(cells)} | |")
    return "\n".join(lines)


def _cell(asked: list[Asked]) -> str:
    counts = Counter(one.kind for one in asked)
    return " + ".join(str(counts[kind]) for kind in ("api", "file", "range"))
