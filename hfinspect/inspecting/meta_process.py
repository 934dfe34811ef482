"""The process in which transformers builds a class: what it is given, and how it ends.

It has no network, no token and no home (``meta_child`` gives up what it can by itself), an
environment that is listed here name by name, and a folder of its own that goes when it ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..errors import ConfigError, LimitError
from .meta_child import ANSWER, ANSWER_LIMIT, MEMORY_LIMIT, REQUEST

#: Seconds from start to answer, as many as any model may take. A usual class takes ten of a
#: processor, and two hundred were seen on a machine with ten times as much to do as it can.
BUILD_SECONDS: Final = 600.0

#: Of this process's environment the child has these alone: where libraries and the system lie.
KEPT_VARIABLES: Final = (
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
)

#: Where programs look for a home, for caches, and for tokens in them: the child's own folder.
_HOMES: Final = (
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "HF_HOME",
    "TORCH_HOME",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
)

#: What keeps the libraries from a network, and from more threads and devices than this takes.
_SETTINGS: Final = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_EVALUATE_OFFLINE": "1",
    "DIFFUSERS_OFFLINE": "1",
    "HF_ENDPOINT": "http://127.0.0.1:9",  # nobody listens there
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_XET": "1",
    "DO_NOT_TRACK": "1",
    "USE_HUB_KERNELS": "OFF",
    "TRUST_REMOTE_CODE": "0",
    "USER": "nobody",
    "LOGNAME": "nobody",
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

#: Isolated, Python takes neither the environment's paths nor the user's own packages: where this
#: process finds its modules is handed over.
_PATHS: Final = "paths.json"
_PROGRAM: Final = f"""
import json, sys
with open(sys.argv[1] + "/{_PATHS}", encoding="utf-8") as file:
    sys.path[:] = json.load(file)
from hfinspect.inspecting.meta_child import main
main(sys.argv[1])
"""


def environment(folder: str, variables: Mapping[str, str]) -> dict[str, str]:
    """All variables that the child has: of ``variables`` those that are listed."""
    passed = {name: variables[name] for name in KEPT_VARIABLES if name in variables}
    return {**passed, **dict.fromkeys(_HOMES, folder), **_SETTINGS}


def answer_to(
    config: Mapping[str, Any], *, program: str = _PROGRAM, seconds: float = BUILD_SECONDS
) -> bytes:
    """What the process answers to a config, as it wrote it.

    ``program`` is its source; its argument is the folder. Whatever ends the wait ends the process.
    Raises LimitError where it takes longer than ``seconds`` or answers too much, ConfigError where
    it ends without an answer or the config is none, OSError where it cannot be started.
    """
    request = _request(config)
    with tempfile.TemporaryDirectory(
        prefix="hfinspect-build-", ignore_cleanup_errors=True
    ) as folder:
        place = Path(folder)
        paths = [os.path.abspath(path) for path in sys.path]  # noqa: PTH100 - as it is, unresolved
        (place / _PATHS).write_text(json.dumps(paths), encoding="utf-8")
        (place / REQUEST).write_text(request, encoding="utf-8")
        code = _run(folder, program, seconds)
        return _answer_in(place / ANSWER, code)


def _request(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(config)
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("config.json", "holds values that JSON does not have") from None


def _run(folder: str, program: str, seconds: float) -> int:
    """The exit code. Standard input stays open as long as somebody waits."""
    process = subprocess.Popen(  # noqa: S603 - this Python, and a program that is written here
        [sys.executable, "-I", "-c", program, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment(folder, os.environ),
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise LimitError(
            "config.json",
            f"takes transformers more than {seconds:g} seconds to build",
            hint="a checkpoint's headers are read without it",
        ) from None
    finally:  # Ctrl-C too
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def _answer_in(path: Path, code: int) -> bytes:
    try:
        with path.open("rb") as file:
            answer = file.read(ANSWER_LIMIT + 1)
    except FileNotFoundError:
        answer = b""
    if len(answer) > ANSWER_LIMIT:
        raise LimitError("config.json", f"has an answer of more than {ANSWER_LIMIT:,} bytes")
    if code or not answer:
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise ConfigError(
            "config.json",
            f"could not be built by transformers: the process ended with {ended}",
            hint="a checkpoint's headers are read without it",
        )
    return answer


def exhausted() -> LimitError:
    """The error where the memory did not do."""
    return LimitError(
        "config.json",
        f"takes transformers more than {MEMORY_LIMIT // 2**30} GiB to build",
        hint="a checkpoint's headers are read without it",
    )
