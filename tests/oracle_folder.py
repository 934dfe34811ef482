"""Where the recordings are: what transformers and other libraries built, saved and kept.

A source distribution is without them, 20 MB of small files. Tests that need them are then skipped,
with the place where they are.
"""

from __future__ import annotations

from pathlib import Path

import hfinspect

ORACLE = Path(__file__).resolve().parents[1] / "fixtures" / "oracle"

if not (ORACLE / "recorded").is_dir():
    import pytest  # only here: recorders read the folder where there is no pytest

    pytest.skip(
        f"no recordings in a source distribution: a clone of the repository at v"
        f"{hfinspect.__version__} has them, in fixtures/oracle",
        allow_module_level=True,
    )
