"""The app as a folder: what is in it, and that it may lie anywhere."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from hfinspect.errors import EntryNotFoundError
from hfinspect.web.assemble import PYODIDE, assemble, packed, policy, served_files


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Put together with files that have the names of Pyodide's."""
    pyodide = tmp_path_factory.mktemp("pyodide")
    folder = tmp_path_factory.mktemp("site")
    for name in PYODIDE:
        (pyodide / name).write_text(name)
    assemble(folder, pyodide)
    return folder


def test_every_file_has_its_hash(site: Path) -> None:
    hashes = json.loads((site / "hashes.json").read_text())
    there = {str(p.relative_to(site)) for p in site.rglob("*") if p.is_file()} - {"hashes.json"}
    assert there == set(hashes)
    for name, expected in hashes.items():
        assert hashlib.sha256((site / name).read_bytes()).hexdigest() == expected


def test_its_readme_is_a_space_and_says_how_to_host_it(site: Path) -> None:
    text = (site / "README.md").read_text(encoding="utf-8")
    head = text.split("---\n")[1]
    assert "sdk: static\n" in head
    assert "app_file: index.html\n" in head
    for words in ("actions/upload-pages-artifact", "hf upload", "<iframe"):
        assert words in text
    assert "@" not in re.sub(r"@revision", "", text.partition("## On your machine")[0])
    assert (site / ".nojekyll").read_bytes() == b""


def test_addresses_are_relative(site: Path) -> None:
    page = (site / "index.html").read_text()
    for address in re.findall(r'(?:href|src)="([^"]*)"', page):
        assert not address.startswith(("/", "http")), address
    for name in ("app.js", "in_page.js", "worker.js"):
        assert not re.search(r"""["'`]/[a-z]+\.(js|json|bin)""", (site / name).read_text())


def test_the_package_is_whole_and_equal_from_run_to_run() -> None:
    data = packed()
    assert data == packed()
    assert len(data) < 2_000_000
    names = zipfile.ZipFile(io.BytesIO(gzip.decompress(data))).namelist()
    assert "hfinspect/web/answering.py" in names
    assert not [name for name in names if "/cli/" in name or "/serving/" in name]


def test_each_page_reaches_what_it_needs_alone() -> None:
    assert "connect-src 'self' https://huggingface.co" in policy()
    assert "connect-src 'self'; " in policy(in_page=False)
    assert "wasm" not in policy(in_page=False)
    served = served_files()
    assert {"index.html", "app.js", "by_server.js", "style.css", "settings.json"} == set(served)
    assert b"@" not in re.sub(rb"@revision|@media", b"", served["index.html"])


def test_without_pyodide_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EntryNotFoundError, match="has no pyodide"):
        assemble(tmp_path / "site", tmp_path)
