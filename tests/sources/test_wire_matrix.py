"""Every row of docs/wire.md, by hfinspect and by huggingface_hub.

``pytest -m wire_matrix`` runs them all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .certificates import Authority, authority
from .wire_bench import CLIENTS, bench
from .wire_rows import ROWS, Row

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")


def test_each_row_of_the_page_has_a_test() -> None:
    """And each test a row, and each difference a reason."""
    shown = PAGE.partition("<!-- table: wire -->")[2].strip().splitlines()[2:-1]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in shown]
    assert cells == [(row.section, row.what, row.ours, row.theirs, row.why) for row in ROWS]
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert [row.name for row in ROWS if (row.ours != row.theirs) != bool(row.why)] == []


def test_each_file_of_the_wire_is_on_the_page() -> None:
    folder = Path(__file__).parents[2] / "hfinspect" / "sources" / "hub" / "wire"
    names = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    assert [name for name in names if f"| [{name}](" not in PAGE] == []


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("certificates"))


@pytest.mark.wire_matrix
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_a_client_makes_of_it(row: Row, client: str, own: Authority, tmp_path: Path) -> None:
    with bench(client, own, tmp_path) as made:
        row.set_up(made)
        assert made.outcome() == (row.ours if client == "hfinspect" else row.theirs)
