"""Which question is asked of whom, and what ratio is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import peers
from .models import can
from .peers import hfinspect, program
from .processes import Hub

#: Models of a scan, all of one config, and of one by which it is known what a model costs.
SCANNED = 200
FEW = 20


@dataclass(frozen=True)
class Contender:
    """``needs`` is a module without which this one is left out. ``cache`` is what becomes of our
    header cache before a run: ``none`` of it is used, it is ``new``, or ``filled`` before."""

    name: str
    command: Sequence[str]
    needs: str = "hfinspect"
    cache: str = "none"


@dataclass(frozen=True)
class Comparison:
    """The first contender is ours, the second is what its ratio is with. ``wanted`` is the greatest
    ratio of seconds, ``memory`` the most bytes that ours may hold at once; ``hub`` says how headers
    are served, None where no Hub is asked. ``row`` is the most CPU in milliseconds for one model,
    where the last contender does what the first does for ``fewer`` models."""

    title: str
    contenders: Sequence[Contender]
    wanted: float | None = None
    hub: str | None = None
    memory: float | None = None
    row: float | None = None
    fewer: int = 0


def comparisons(folder: Path, hub: Hub) -> list[Comparison]:
    """All of them. ``folder`` holds the local models."""
    small = str(folder / "small" / "config.json")
    deepseek = str(folder / "deepseek")
    config = f"{deepseek}/config.json"
    million = str(folder / "million")
    gguf = folder / "m.gguf"
    tiny = "org/tiny"
    large = "org/large"
    listed = str(folder / "list.txt")
    scan = ["scan", listed, "--jobs", "32", "--quiet", "--format", "jsonl"]
    few = ["scan", str(folder / "few.txt"), *scan[2:]]
    at_commit = f"{large}@{hub.commits[large]}"
    results = [
        Comparison(
            "A small config.json on disk",
            [
                Contender("hfinspect CONFIG", hfinspect(small)),
                Contender("import typer", program(peers.IMPORT_TYPER)),
            ],
            2.2,
        ),
        Comparison(
            "DeepSeek-V3's config.json",
            [
                Contender("hfinspect CONFIG", hfinspect(config)),
                Contender(
                    "transformers, meta device", program(peers.META_DEVICE, config), "transformers"
                ),
            ],
            1 / 25,
        ),
        Comparison(
            "91,991 tensors on disk",
            [
                Contender("hfinspect DIRECTORY", hfinspect(deepseek)),
                Contender("json.loads of the headers", program(peers.ONLY_JSON, deepseek)),
                Contender(
                    "huggingface_hub, local metadata", program(peers.LOCAL_METADATA, deepseek)
                ),
                Contender(
                    "safetensors, names and shapes", program(peers.SAFETENSORS, deepseek), "numpy"
                ),
                Contender(
                    "modelinfo-cli",
                    peers.modelinfo(f"{deepseek}/model.safetensors.index.json"),
                    "modelinfo",
                ),
            ],
            1.5,
        ),
        Comparison(
            "A GGUF file of 2,400 tensors",
            [
                Contender("hfinspect FILE", hfinspect(str(gguf))),
                Contender("gguf, GGUFReader", program(peers.GGUF, str(gguf)), "gguf"),
            ],
        ),
        Comparison(
            "A tiny repo",
            [
                Contender("hfinspect REPO", hfinspect(tiny), cache="new"),
                Contender("get_safetensors_metadata", program(peers.METADATA, tiny)),
                Contender("hf-mem", program(peers.HF_MEM, tiny), "hf_mem"),
            ],
            0.75,
            "ready",
        ),
        Comparison(
            "The tiny repo again",
            [
                Contender("hfinspect REPO, known", hfinspect(tiny), cache="filled"),
                Contender("hfinspect REPO, at first", hfinspect(tiny), cache="new"),
            ],
            0.7,
            "ready",
        ),
        Comparison(
            "163 shards, main",
            [
                Contender("hfinspect REPO", hfinspect(large), cache="new"),
                Contender(
                    "get_sharded_safetensors_metadata", program(peers.SHARDED_METADATA, large)
                ),
                Contender("hf-mem", program(peers.HF_MEM, large), "hf_mem"),
            ],
            1.0,
            "ready",
        ),
        Comparison(
            "163 shards, by ranges",
            [
                Contender("hfinspect REPO", hfinspect(large), cache="new"),
                Contender("get_safetensors_metadata", program(peers.METADATA, large)),
                Contender("hf-mem", program(peers.HF_MEM, large), "hf_mem"),
            ],
            0.35,
            "ranges",
        ),
        Comparison(
            "163 shards again",
            [
                Contender("hfinspect REPO, known", hfinspect(large), cache="filled"),
                Contender("hfinspect REPO, at first", hfinspect(large), cache="new"),
            ],
            0.7,
            "ready",
        ),
        Comparison(
            "163 shards again, at a commit",
            [
                Contender("hfinspect REPO@COMMIT, known", hfinspect(at_commit), cache="filled"),
                Contender("hfinspect REPO@COMMIT, at first", hfinspect(at_commit), cache="new"),
            ],
            0.7,
            "ready",
        ),
        Comparison(
            "A scan of 200 repos",
            [
                Contender("hfinspect scan --jobs 32", hfinspect(*scan), cache="new"),
                Contender("get_safetensors_metadata in a loop", program(peers.IN_A_LOOP, listed)),
            ],
            1 / 15,
            "ready",
        ),
        Comparison(
            "The scan again",
            [
                Contender("hfinspect scan, known", hfinspect(*scan), cache="filled"),
                Contender("hfinspect scan, at first", hfinspect(*scan), cache="new"),
                Contender(f"hfinspect scan of {FEW}, known", hfinspect(*few), cache="filled"),
            ],
            None,
            "ready",
            row=3.0,
            fewer=FEW,
        ),
        Comparison(
            "1,000,000 tensors on disk",
            [
                Contender("hfinspect DIRECTORY", hfinspect(million)),
                Contender("json.loads of the headers", program(peers.ONLY_JSON, million)),
            ],
            memory=250e6,
        ),
    ]
    return [replace(one, contenders=[c for c in one.contenders if can(c.needs)]) for one in results]
