"""What the tests of scans share: models on the loopback Hub, and the program in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from hfinspect.scanning.engine import close_shared
from hfinspect.trees.prediction import predict

from ..cli.program import ROOT, Result, hfinspect, process
from ..hub_repos import Files, weights
from ..hub_server import HubServer

CONFIG: dict[str, object] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
PARAMETERS = 2344


@cache
def _tensors() -> dict[str, tuple[str, tuple[int, ...]]]:
    return {tensor.name: ("BF16", tensor.shape) for tensor in predict(CONFIG).tensors}


def model_files(number: int = 0) -> Files:
    """A small model; each number makes files of another content."""
    tensors = {**_tensors(), f"extra.{number}.weight": ("BF16", (1,))} if number else _tensors()
    return {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": weights(tensors)}


def fill(hub: HubServer, count: int, author: str = "org") -> list[str]:
    """``count`` models, no two of one content; their names."""
    names = [f"{author}/m{number:04d}" for number in range(1, count + 1)]
    for number, name in enumerate(names, 1):
        hub.add(name, model_files(number))
    return names


def write_list(path: Path, names: Iterable[str]) -> Path:
    path.write_text("".join(f"{name}\n" for name in names))
    return path


class Scanner:
    """``hfinspect scan`` against one Hub, with a home and a cache of its own below ``home``."""

    def __init__(self, hub: HubServer, home: Path) -> None:
        self.hub = hub
        self.home = home
        self.env = {**hub.env(home / "hf"), "HFINSPECT_CACHE": str(home / "cache")}

    def list_of(self, names: Iterable[str]) -> Path:
        return write_list(self.home / "list.txt", names)

    def __call__(self, *arguments: str | Path) -> Result:
        """In this process. The client reads HF_ENDPOINT once, when it is imported."""
        from huggingface_hub import constants

        before = constants.ENDPOINT
        constants.ENDPOINT = self.hub.endpoint
        try:
            return hfinspect("scan", *arguments, env=self.env, cwd=self.home)
        finally:
            constants.ENDPOINT = before
            close_shared()

    def process(self, *arguments: str | Path, stdin: str | None = None) -> Result:
        return process("scan", *arguments, env=self.env, cwd=self.home, stdin=stdin)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """The scan as a process that goes on meanwhile."""
        return subprocess.Popen(
            [sys.executable, "-m", "hfinspect", "scan", *map(str, arguments)],
            env={**os.environ, **self.env, "PYTHONPATH": str(ROOT)},
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def rows_in(path: Path) -> list[dict[str, Any]]:
    """Every line of a jsonl file, none of them cut."""
    text = path.read_text()
    assert not text or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]
