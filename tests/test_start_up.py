"""What a command imports is pinned, so that start-up cannot grow unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from .hub_server import HubServer
from .imported_modules import COMMANDS, comparable, imported, pinned


@pytest.mark.parametrize("what", COMMANDS)
def test_nothing_new_is_imported(hub: HubServer, tmp_path: Path, what: str) -> None:
    """Modules of the standard library and of other packages, and rooms of this one. Meant to be?
    Then ``python -m tests.imported_modules``."""
    modules = comparable(imported(COMMANDS[what], hub, tmp_path))
    assert sorted(modules - pinned()[what]) == []


def test_the_pinned_lists_are_short() -> None:
    """Neither a validation library, nor a colour library, nor (without the network) a client."""
    lists = pinned()
    everywhere = {
        "numpy",
        "pydantic",
        "pydantic_core",
        "pygments",
        "rich",
        "tabulate",
        "torch",
        "transformers",
    }
    assert all(not names & everywhere for names in lists.values())
    for what in ("a local config", "a repo of the Hub"):
        assert not lists[what] & {"click", "shutil", "typer"}
    clients = {"anyio", "email", "h11", "http", "httpcore", "httpcore2", "httpx", "httpx2"}
    assert not lists["a repo of the Hub"] & {*clients, "certifi"}
    offline = {*clients, "huggingface_hub", "safetensors", "ssl", "yaml"}
    assert not lists["a local config"] & offline
    assert not lists["help"] & {*offline, "hfinspect.api", "hfinspect.inspecting"}
