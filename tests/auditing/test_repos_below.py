"""A directory of repos: the layout of each is its own, as in an audit of it alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import hfinspect

from ..cli.program import ROOT

MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


def test_a_pooling_folder_below_is_not_judged_as_a_model(tmp_path: Path) -> None:
    repo = tmp_path / "models" / "st"
    pooling = repo / "1_Pooling"
    pooling.mkdir(parents=True)
    shutil.copy(ROOT / "fixtures/models/bert-one-layer/config.json", repo)
    (pooling / "config.json").write_text(json.dumps({"word_embedding_dimension": 768}))
    before = {finding.code for finding in hfinspect.audit(tmp_path).findings}
    assert "HI323" in before  # without modules.json it is a config that names nothing
    (repo / "modules.json").write_text(json.dumps(MODULES))
    assert hfinspect.audit(tmp_path).findings == ()
