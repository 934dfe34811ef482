"""No token is overlooked where huggingface_hub itself does not look."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _auth

from hfinspect.sources.hub.hub_errors import RequestContext
from hfinspect.sources.hub.request_headers import TOKEN_VARIABLES, hub_headers, may_have_token

ASKED = RequestContext("https://hub")


def test_it_looks_where_huggingface_hub_does() -> None:
    """A new place there is a new place here."""
    called = {
        node.func.id
        for node in ast.walk(ast.parse(inspect.getsource(_auth.get_token)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    known = {"oidc", "environment", "file", "file_refreshed", "google_colab"}
    assert called <= {f"_get_token_from_{place}" for place in known}


def test_nothing_is_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    assert not may_have_token()


@pytest.mark.parametrize("name", TOKEN_VARIABLES)
def test_variables(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "hf_value")
    assert may_have_token()
    if name != "HF_OIDC_RESOURCE":
        assert hub_headers(None, ASKED)["authorization"] == "Bearer hf_value"
    assert "authorization" not in hub_headers(False, ASKED)


def test_a_token_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "token"
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(path))
    path.write_text("hf_saved\n")
    assert may_have_token()
    assert hub_headers(None, ASKED)["authorization"] == "Bearer hf_saved"
