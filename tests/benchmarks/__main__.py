"""hfinspect next to what else answers, whole processes in turns on one machine.

    python -m tests.benchmarks                      # everything; writes docs/benchmarks.md
    python -m tests.benchmarks --only "tiny|typer" --rounds 9

The Hub is the one of the tests, on loopback, and answers after 30 ms; so does its storage host.
In each round every contender runs once, so that a busy machine is busy for all of them; the first
round is not counted. What is not installed is left out. Ratios are what counts: seconds are those
of one machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import re
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..builders import write_config
from ..hub_server import HubServer
from . import models
from .comparisons import FEW, SCANNED, Comparison, Contender, comparisons
from .processes import ROOT, Hub, Runs, timed

LATENCY = 0.03
PAGE = ROOT / "docs" / "benchmarks.md"
PACKAGES = (
    "huggingface_hub",
    "hf-mem",
    "modelinfo-cli",
    "gguf",
    "safetensors",
    "torch",
    "transformers",
    "typer",
)


def scanned() -> list[str]:
    return [f"org/m{number:04d}" for number in range(1, SCANNED + 1)]


def fill(hub: HubServer) -> None:
    hub.add("org/tiny", models.small_files())
    hub.add("org/large", models.deepseek_files())
    for number, name in enumerate(scanned(), 1):
        hub.add(name, models.small_files(number))


def build(folder: Path, wanted: str) -> None:
    """The local models that the chosen comparisons need."""
    write_config(folder / "small", models.SMALL)
    (folder / "list.txt").write_text("".join(f"{name}\n" for name in scanned()))
    (folder / "few.txt").write_text("".join(f"{name}\n" for name in scanned()[:FEW]))
    models.write_deepseek(folder / "deepseek")
    if re.search(wanted, "1,000,000 tensors on disk"):
        models.write_million(folder / "million")
    if models.can("gguf") and models.can("numpy"):
        models.write_gguf(folder / "m.gguf")


def measured(one: Comparison, rounds: int, hub: Hub, folder: Path) -> list[Runs]:
    """The runs of each contender, after a round that does not count."""
    answers = [Runs() for _ in one.contenders]
    if one.hub is not None:
        hub.tell(one.hub)
    for number in range(rounds + 1):
        for contender, runs in zip(one.contenders, answers, strict=True):
            run = timed(contender.command, environment(contender, one, hub, folder), hub)
            if number:
                runs.runs.append(run)
    return answers


def environment(contender: Contender, one: Comparison, hub: Hub, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    cache = folder / "cache" / contender.cache
    if contender.cache == "new":
        # Not the one before emptied: where many files were just deleted, making others is slow.
        cache = Path(tempfile.mkdtemp(prefix="cache-", dir=folder))
    on_hub = hub.env if one.hub is not None else {}
    env = {**kept, **on_hub, "PYTHONPATH": str(ROOT), "HFINSPECT_CACHE": str(cache)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled, ours and theirs
    return env


def table(one: Comparison, answers: list[Runs]) -> list[str]:
    """The comparison as Markdown."""
    with_hub = one.hub is not None
    ours = answers[0]
    other = answers[1] if len(answers) > 1 else None
    lines = [f"## {one.title}", ""]
    more = " requests | bytes |" if with_hub else " memory |"
    lines += [f"| | seconds | CPU |{more} ours to this |", "| --- " * (6 if with_hub else 5) + "|"]
    for contender, runs in zip(one.contenders, answers, strict=True):
        wall = runs.middle("wall")
        cells = [contender.name, f"{wall:.3f}", f"{runs.middle('cpu'):.3f}"]
        if with_hub:
            cells += [f"{runs.middle('requests'):,.0f}", f"{runs.middle('sent'):,.0f}"]
        else:
            cells += [f"{runs.middle('memory') / 1e6:,.0f} MB"]
        ratio = "" if runs is ours else f"{ours.middle('wall') / wall:.3f}"
        lines.append("| " + " | ".join([*cells, ratio]) + " |")
    if one.wanted is not None and other is not None:
        ratio_now = ours.middle("wall") / other.middle("wall")
        cpu = ours.middle("cpu") / other.middle("cpu")
        word = "reached" if ratio_now <= one.wanted else "not reached"
        lines += ["", f"Ratio {ratio_now:.3f} (CPU {cpu:.3f}); wanted {one.wanted:.3g}: {word}."]
    if one.memory is not None:
        held = ours.middle("memory")
        word = "reached" if held < one.memory else "not reached"
        wanted = f"wanted under {one.memory / 1e6:,.0f} MB"
        lines += ["", f"Memory {held / 1e6:,.0f} MB at most; {wanted}: {word}."]
    if one.row is not None:
        further = answers[0].middle("cpu") - answers[-1].middle("cpu")
        row = 1000 * further / (SCANNED - one.fewer)
        word = "reached" if row <= one.row else "not reached"
        lines += ["", f"CPU {row:.1f} ms for each further model; wanted {one.row:.3g}: {word}."]
    return [*lines, ""]


def page(tables: list[list[str]], rounds: int) -> str:
    known = ", ".join(filter(None, map(installed, PACKAGES)))
    heading = [
        "# Benchmarks",
        "",
        "Written by `python -m tests.benchmarks`: whole processes from start to end, in turns,",
        f"medians of {rounds} rounds. The Hub is the one of the tests on loopback; it answers",
        f"after {LATENCY * 1000:.0f} ms, and so does its storage host. Ratios are what counts:",
        "seconds are those of one machine, on which other programs run.",
        "",
        f"Python {platform.python_version()}, {os.cpu_count()} cores; {known}.",
        "",
    ]
    return "\n".join([*heading, *(line for lines in tables for line in lines)]).rstrip() + "\n"


def installed(package: str) -> str | None:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="titles to run, as a regular expression")
    parser.add_argument("--scratch", type=Path, help="keep the local models here between runs")
    options = parser.parse_args()
    hub = Hub(fill, LATENCY)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = options.scratch or Path(name)
            if not (folder / "deepseek").is_dir():
                folder.mkdir(exist_ok=True, parents=True)
                # In a process of its own: a child begins with the greatest memory of its parent.
                builder = multiprocessing.get_context("fork").Process(
                    target=build, args=(folder, options.only)
                )
                builder.start()
                builder.join()
            tables = []
            for one in comparisons(folder, hub):
                if re.search(options.only, one.title):
                    tables.append(table(one, measured(one, options.rounds, hub, folder)))
                    print("\n".join(tables[-1]), flush=True)
                    if not options.only:
                        PAGE.write_text(page(tables, options.rounds), encoding="utf-8")
    finally:
        hub.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
