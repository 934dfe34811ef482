"""The notebooks of docs/, run as they stand (``pytest -m notebooks``)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ..cli.program import ROOT
from ..hub_server import HubServer
from ..scanning.scan_support import model_files

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_four_and_they_hold_no_outputs() -> None:
    """An output would be of somebody's machine, and old."""
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code and not any(cell["outputs"] or cell["execution_count"] for cell in code)


@pytest.mark.notebooks
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    for name in ("small", "large", "other"):
        hub.add(f"acme/{name}", model_files())
    hub.add("acme/nothing", {"README.md": b"none"})
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("AUTHOR", "acme")
    monkeypatch.setenv("PYTHONPATH", os.fspath(ROOT))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": ROOT}})
    client.execute()
    shown = json.dumps(notebook)
    assert "parameters" in shown or "HI201" in shown
