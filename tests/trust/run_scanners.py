"""Asks other scanners about files: picklescan, modelscan and fickling, each file in a process.

    python run_scanners.py FOLDER < manifest.json

The manifest lists ``[key, file]``; each file lies in ``FOLDER/key/file``. Prints a JSON object:
scanner -> key -> "flagged", "unread" (the scanner reports that it could not read the file, fails or
takes more than 20 s) or "silent". Needs the scanners in the interpreter that runs it, nothing else.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

SECONDS = 20
ANSWERS = ("silent", "flagged", "unread")


def ask_picklescan(path: str) -> str:
    from picklescan.scanner import scan_file_path

    result = scan_file_path(path)
    if result.issues_count:
        return "flagged"
    return "unread" if result.scan_err else "silent"


def ask_modelscan(path: str) -> str:
    from modelscan.modelscan import ModelScan

    result = ModelScan().scan(path)
    if result["summary"]["total_issues"]:
        return "flagged"
    return "unread" if result["errors"] else "silent"


def ask_fickling(path: str) -> str:
    """By its own rule: anything above "likely safe" is not safe."""
    from fickling.analysis import Severity
    from fickling.loader import scan_file, scan_zip_archive

    if zipfile.is_zipfile(path):
        results = scan_zip_archive(path, graceful=True)
        parts = list(results.values()) if isinstance(results, dict) else results
        parts = parts if isinstance(parts, list) else [parts]
    else:
        parts = [scan_file(path, graceful=True)]
    analysed = [one for part in parts for one in part.results]
    if any(one.severity > Severity.LIKELY_SAFE for one in analysed):
        return "flagged"
    return "unread" if any(part.errors for part in parts) else "silent"


SCANNERS: dict[str, Callable[[str], str]] = {
    "picklescan": ask_picklescan,
    "modelscan": ask_modelscan,
    "fickling": ask_fickling,
}


def ask(scanner: str, path: str) -> str:
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        answer = "unread"
        with open(os.devnull, "r+") as nothing:  # noqa: PTH123
            for number in (0, 1, 2):
                os.dup2(nothing.fileno(), number)
        with contextlib.suppress(BaseException):
            answer = SCANNERS[scanner](path)
        os._exit(ANSWERS.index(answer))
    status = os.waitpid(child, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    return ANSWERS[code] if 0 <= code < len(ANSWERS) else "unread"


def main() -> None:
    logging.disable()
    for warm in ("picklescan.scanner", "modelscan.modelscan", "fickling.loader"):
        __import__(warm)
    root = Path(sys.argv[1])
    manifest = json.load(sys.stdin)
    verdicts = {
        f"{scanner} {version(scanner)}": {
            key: ask(scanner, str(root / key / file)) for key, file in manifest
        }
        for scanner in SCANNERS
    }
    sys.stdout.write(json.dumps(verdicts))


if __name__ == "__main__":
    main()
