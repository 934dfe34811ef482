"""The pages that the site adds to the documents, and its navigation.

``.ci/run`` builds the whole site.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import hfinspect
from hfinspect.cli import fast_path

from ..cli.program import ROOT
from . import gallery, reference
from .staging import embed, with_links

DOCS = ROOT / "docs"
#: What the build makes.
MADE = {"reference/cli.md", "reference/json.md", "reference/families.md", "gallery/index.md"}
#: Counts of the models' own files on the Hub.
KNOWN = {
    "Qwen2.5-7B": 7_615_616_512,
    "Qwen3-8B": 8_190_735_360,
    "Qwen3-30B-A3B": 30_532_122_624,
    "Mistral-7B-v0.1": 7_241_732_096,
    "Phi-3-mini-4k": 3_821_079_552,
    "Gemma-2-9B": 9_241_705_984,
    "T5-small": 60_506_624,
    "Whisper-large-v3": 1_543_490_560,
}


def test_the_navigation_has_every_document() -> None:
    pages = set(re.findall(r": (\S+\.md)$", (DOCS / "mkdocs.yml").read_text(), re.MULTILINE))
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert pages == {page for page in written if not page.startswith("rules/")} | MADE


def test_every_command_and_every_form_is_in_the_reference() -> None:
    commands = reference.commands()
    assert [name for name in fast_path.COMMANDS if f"## hfinspect {name}\n" not in commands] == []
    forms = reference.schemas()
    schemas = (ROOT / "hfinspect" / "schemas").glob("*.json")
    assert [path.name for path in schemas if f"[{path.name}]" not in forms] == []


def test_the_gallery_shows_twenty_models_with_their_counts(tmp_path: Path) -> None:
    models = gallery.models()
    assert len(models) >= 20
    counts = {name: hfinspect.predict(models[name]).parameters for name in KNOWN}
    assert counts == KNOWN
    some = {"gpt2": models["gpt2"]}
    gallery.write(tmp_path / "gallery", some)
    index = (tmp_path / "gallery" / "index.md").read_text()
    assert "| [gpt2](gpt2.html) | 124,439,808 | 0.2 GB | GPT2LMHeadModel |" in index
    assert "124,439,808" in (tmp_path / "gallery" / "gpt2.html").read_text()


def test_links_out_of_the_documents_lead_to_the_repository() -> None:
    text = "[a](../README.md#try-it) [b](memory.md) [c](https://x.org) [d](nowhere.md)"
    there = "https://github.com/hfinspect/hfinspect/blob/main/README.md#try-it"
    expected = f"[a]({there}) [b](memory.md) [c](https://x.org) [d](nowhere.md)"
    assert with_links(text, DOCS) == expected


def test_the_app_stands_below_the_title(tmp_path: Path) -> None:
    page = tmp_path / "browser.md"
    page.write_text("# In the browser\n\nText.\n")
    embed(page)
    title, _, frame, *_ = page.read_text().splitlines()
    assert title == "# In the browser"
    assert 'src="app/index.html"' in frame


def test_configs_of_the_gallery_hold_sizes_alone() -> None:
    configs = json.loads((DOCS / "gallery" / "models.json").read_text())
    assert all(not isinstance(v, dict) for config in configs.values() for v in config.values())
