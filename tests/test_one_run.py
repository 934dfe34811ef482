"""A run enters each room once: one prediction, one result."""

from __future__ import annotations

import inspect
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

import hfinspect
from hfinspect.analysis.gguf.gguf_cache import cache_layout
from hfinspect.core.results import Inspection
from hfinspect.formats.gguf.metadata import describe
from hfinspect.pictures import portrait
from hfinspect.scanning.engine import ScanOptions
from hfinspect.scanning.row_work import Item, RowWork
from hfinspect.scanning.rows import ScanRow
from hfinspect.sizing.kv_cache import cached_layers
from hfinspect.sources import threads
from hfinspect.sources.local import LocalSource
from hfinspect.trees.prediction import predict

from .builders import write_config, write_safetensors

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def calls(of: Callable[..., object], work: Callable[[], object]) -> int:
    """How often ``work`` calls a function, in this thread or one that it starts."""
    counts: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            counts[frame.f_code] += 1

    threads._idle.clear()  # they would not be counted
    before = sys.getprofile()
    sys.setprofile(count)
    threading.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return counts[inspect.unwrap(of).__code__]


def test_key_values_and_caches_are_made_out_once() -> None:
    """Of a GGUF file what its key-values say, and of any model what its layers keep."""
    memory = partial(hfinspect.memory, on="24GB", context="8k")
    for model in ("checkpoints/gguf-v3", "checkpoints/gguf-split"):
        for verb in (hfinspect.inspect, memory, hfinspect.audit):
            assert calls(describe, partial(verb, FIXTURES / model)) == 1
        assert calls(cache_layout, partial(memory, FIXTURES / model)) == 1
    for model in ("models/llama-3-8b", "models/gpt2"):
        for sized in (memory, partial(hfinspect.memory, train="lora"), portrait):
            assert calls(cached_layers, partial(sized, FIXTURES / model)) == 1


def test_explaining_predicts_once() -> None:
    model = FIXTURES / "models/gpt2"
    assert calls(predict, lambda: hfinspect.explain(model)) == 1
    assert calls(predict, lambda: hfinspect.memory(model)) == 1


def test_a_row_with_an_audit_predicts_and_reads_once(tmp_path: Path) -> None:
    """Of one directory: the audit takes the prediction and what was read of the files."""
    config = json.loads((FIXTURES / "models/gpt2/config.json").read_text())
    write_config(tmp_path, {**config, "note": "no other test has this config"})
    write_safetensors(tmp_path / "model.safetensors", {"wte.weight": ("F32", (50257, 768))})
    work = RowWork(ScanOptions(), ("audit_errors",), audit=True)
    rows: list[ScanRow] = []
    assert calls(predict, lambda: rows.append(work(Item(str(tmp_path))))) == 1
    assert rows[0]["audit_errors"]
    read = calls(LocalSource.read, lambda: work(Item(str(tmp_path))))
    assert read == calls(LocalSource.read, lambda: hfinspect.inspect(tmp_path))


def test_a_result_is_made_once() -> None:
    """One for the whole, and one for each part of a model of several."""
    wrong = {}
    read = 0
    for target in sorted((FIXTURES / "checkpoints").iterdir()):
        inspections: list[Inspection] = []

        def work(target: Path = target, models: list[Inspection] = inspections) -> None:
            with suppress(hfinspect.HfinspectError):  # a folder of models, or of damaged ones
                models.append(hfinspect.inspect(target))

        made = calls(Inspection.__init__, work)
        read += len(inspections)
        if inspections and made != 1 + len(inspections[0].members):
            wrong[target.name] = made
    assert wrong == {}
    assert read > 8
