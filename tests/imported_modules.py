"""Which modules a command imports, on its way to an answer: start-up is most of the time that an
ordinary model takes.

``python -m tests.imported_modules`` writes ``imported_modules.json``: for each command the
top-level modules, of the package the rooms. Names with an underscore are left out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from .builders import Tensors
from .hub_repos import weights
from .hub_server import HubServer, running_hub

ROOT = Path(__file__).resolve().parents[1]
PINNED = Path(__file__).with_suffix(".json")
CONFIG = ROOT / "fixtures" / "models" / "gpt2" / "config.json"
TENSORS: Tensors = {"wte.weight": ("BF16", (50257, 768))}

#: What each command answers from, and its arguments.
COMMANDS = {
    "a local config": (str(CONFIG),),
    "a repo of the Hub": ("org/model",),
    "help": ("--help",),
}
_IMPORT = re.compile(r"^import time: .*\| +(\S+)$", re.MULTILINE)


def imported(arguments: tuple[str, ...], hub: HubServer, home: Path) -> set[str]:
    """Top-level modules that a process of its own imports for these arguments.

    Raises AssertionError where the command fails.
    """
    if "org/model" not in hub.repos:
        config = CONFIG.read_bytes()
        file = weights(TENSORS)
        hub.add("org/model", {"config.json": config, "model.safetensors": file})
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "hfinspect", *arguments],
        env={**hub.env(home), "PYTHONPATH": str(ROOT), "HFINSPECT_CACHE": os.fspath(home)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    tops = {shortened(name) for name in _IMPORT.findall(done.stderr)}
    tops -= _of_the_machine()
    return {name for name in tops if not name.startswith("_") and "._" not in name}


@cache
def _of_the_machine() -> set[str]:
    """What an empty program imports that is not Python's own: hooks of the distribution."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", ""],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    modules = {shortened(name) for name in _IMPORT.findall(done.stderr)}
    return (modules - sys.stdlib_module_names) | {"sitecustomize", "usercustomize"}


def shortened(name: str) -> str:
    """The top-level module; of this package the room."""
    return ".".join(name.split(".")[: 2 if name.startswith("hfinspect.") else 1])


def versions() -> dict[str, str]:
    """Of what decides which modules are imported apart from this package itself."""
    version_of = {name: version(name) for name in ("huggingface_hub", "typer", "tabulate")}
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}", **version_of}


def pinned() -> dict[str, set[str]]:
    return {what: set(names) for what, names in json.loads(PINNED.read_text())["modules"].items()}


def comparable(names: set[str]) -> set[str]:
    """Those that can be compared with the pinned ones here: with other versions of Python or of
    the dependencies, the package's own rooms alone."""
    same = json.loads(PINNED.read_text())["versions"] == versions()
    return {name for name in names if same or name.startswith("hfinspect.")}


def main() -> None:
    with running_hub() as hub, tempfile.TemporaryDirectory() as home:
        modules = {
            what: sorted(imported(arguments, hub, Path(home)))
            for what, arguments in COMMANDS.items()
        }
    PINNED.write_text(json.dumps({"versions": versions(), "modules": modules}, indent=1) + "\n")


if __name__ == "__main__":
    main()
