"""The recorded files of ``make_benign``."""

from __future__ import annotations

import base64
import json
import lzma
from functools import cache
from pathlib import Path

RECORDED = Path(__file__).parents[2] / "fixtures" / "trust" / "benign.json"


@cache
def benign_files() -> dict[str, bytes]:
    """Content by ``library/path``."""
    files = json.loads(RECORDED.read_text(encoding="utf-8"))["files"]
    return {name: lzma.decompress(base64.b64decode(entry["lzma"])) for name, entry in files.items()}
