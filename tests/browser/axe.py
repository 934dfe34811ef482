"""What axe-core finds on a page that is open: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from .chromium import Chromium

#: axe-core's one file (npm install axe-core), where it is.
AXE = os.environ.get("HFINSPECT_AXE", "")


def serious_findings(browser: Chromium) -> Any:
    """Serious and critical ones, with everything unfolded. Skips the test without axe-core."""
    if not AXE:
        pytest.skip("no axe-core: npm install axe-core, HFINSPECT_AXE=.../axe.min.js")
    browser.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.value(Path(AXE).read_text(encoding="utf-8") + ";1")
    return browser.value(
        "axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))"
        ".map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200), "
        "(v.nodes[0].any[0] || {}).message]))"
    )
