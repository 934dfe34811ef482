"""sentence-transformers next to what the library itself saves and counts: headers, configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.results import Inspection

from ..builders import write_safetensors
from ..cli.program import hfinspect as run
from ..oracle_folder import ORACLE
from ..schemas import conforms

RECORDED = ORACLE / "sentence_transformers"
CASES = sorted(path.stem for path in RECORDED.glob("*.json"))
#: Cases with a module whose size is that of a tokenizer, which no config says.
BY_HEADERS_ALONE = {"lstm", "lstm-one-way", "sparse-inference-free", "static", "word-weights"}


def saved(case: str, root: Path, *, weights: bool = True) -> dict[str, Any]:
    """The recorded repo on disk, its recording."""
    record: dict[str, Any] = json.loads((RECORDED / f"{case}.json").read_text())
    for path, content in record["files"].items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(json.dumps(content))
    for path, header in record["weights"].items() if weights else ():
        tensors = {}
        for line in header["tensors"]:
            name, dims, dtype = line.split(" ")
            tensors[name] = (dtype, tuple(int(n) for n in dims.split("x") if n))
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write_safetensors(root / path, tensors)
    return record


def inspect(root: Path, **options: Any) -> Inspection:
    inspection = hfinspect.inspect(root, **options)
    conforms(inspection.to_dict(tensors=True))
    assert inspection.layout == "sentence-transformers"
    return inspection


def audit(root: Path, **options: Any) -> hfinspect.AuditResult:
    """Without the rule about holes: the files of these tests are nothing else."""
    return hfinspect.audit(root, ignore=["HI106"], **options)


def test_there_are_cases() -> None:
    assert len(CASES) >= 16


@pytest.mark.parametrize("case", CASES)
def test_headers_count_what_the_library_counts(case: str, tmp_path: Path) -> None:
    recorded = saved(case, tmp_path)
    inspection = inspect(tmp_path)
    assert (inspection.parameters, inspection.buffers) == (
        recorded["parameters"],
        recorded["buffers"],
    )
    assert sum(file.tensors for file in inspection.files) == sum(
        len(header["tensors"]) for header in recorded["weights"].values()
    )
    assert {f.rule for f in inspection.findings} <= {"tied-stored-twice"}
    for member in inspection.members:
        assert member.predicted in (None, member.parameters)


@pytest.mark.parametrize("case", CASES)
def test_configs_count_what_the_library_counts(case: str, tmp_path: Path) -> None:
    recorded = saved(case, tmp_path, weights=False)
    if case in BY_HEADERS_ALONE:
        if case == "static":  # nothing but a table
            assert run(tmp_path).code != 0
            return
        inspection = inspect(tmp_path, source="config")
        assert inspection.parameters is None
        assert any("the size of its tokenizer" in finding.text for finding in inspection.findings)
        return
    inspection = inspect(tmp_path, source="config")
    assert (inspection.parameters, inspection.buffers) == (
        recorded["parameters"],
        recorded["buffers"],
    )


@pytest.mark.parametrize("case", CASES)
def test_a_sound_repo_passes_the_audit(case: str, tmp_path: Path) -> None:
    saved(case, tmp_path)
    audit_result = audit(tmp_path)
    assert [f for f in audit_result.findings if f.severity != "note"] == []
    for path in json.loads((RECORDED / f"{case}.json").read_text())["weights"]:
        assert audit(tmp_path, file=path).ok


def test_a_wrong_module_fails_the_audit(tmp_path: Path) -> None:
    """Modules are judged by their own class, not left alone."""
    saved("dense", tmp_path)
    (tmp_path / "2_Dense" / "config.json").write_text('{"in_features": 16, "out_features": 8}')
    codes = {f.code for f in audit(tmp_path).findings if f.severity == "error"}
    assert codes == {"HI303"}
    (tmp_path / "2_Dense" / "config.json").write_text('{"in_features": "x"}')
    audit_result = audit(tmp_path)
    assert [(f.code, f.file) for f in audit_result.failing()] == [("HI323", "2_Dense/config.json")]


def test_the_parts_have_the_names_of_their_folders(tmp_path: Path) -> None:
    saved("router-after-pooling", tmp_path)
    by_header, by_config = (
        {m.name: (m.architecture, m.parameters) for m in inspect(tmp_path, source=source).members}
        for source in ("checkpoint", "config")
    )
    assert by_header == by_config
    assert by_header == {
        "transformer": ("BertModel", 5072),
        "2_Router/query_0_Dense": ("Dense", 102),
        "2_Router/document_0_Dense": ("Dense", 102),
        "2_Router/document_1_LayerNorm": ("LayerNorm", 12),
    }


def test_the_older_router_and_folder_names(tmp_path: Path) -> None:
    """Asym of versions before 5: its parts are in config.json, under numbers."""
    dense = {"in_features": 16, "out_features": 6, "bias": True}
    saved("pooling", tmp_path)
    modules = json.loads((tmp_path / "modules.json").read_text())
    kind = "sentence_transformers.models"
    modules.append({"idx": 3, "name": "3", "path": "3_Asym", "type": f"{kind}.Asym"})
    modules.append({"idx": 4, "name": "4", "path": "own-name", "type": f"{kind}.Dense"})
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    folder = "140363_Dense"
    for place in (tmp_path / "3_Asym" / folder, tmp_path / "own-name"):
        place.mkdir(parents=True)
        (place / "config.json").write_text(json.dumps(dense))
        write_safetensors(
            place / "model.safetensors",
            {"linear.weight": ("F32", (6, 16)), "linear.bias": ("F32", (6,))},
        )
    (tmp_path / "3_Asym" / "config.json").write_text(
        json.dumps({"types": {folder: f"{kind}.Dense"}, "structure": {"query": [folder]}})
    )
    write_safetensors(tmp_path / "9_Left" / "model.safetensors", {"x": ("F32", (2,))})
    for source in ("checkpoint", "config"):
        inspection = inspect(tmp_path, source=source)
        assert inspection.parameters == 5072 + 2 * 102
    assert "9_Left/model.safetensors" in inspect(tmp_path).other_files
    assert audit(tmp_path).ok


def test_one_module_by_its_folder(tmp_path: Path) -> None:
    saved("cnn", tmp_path)
    inspection = hfinspect.inspect(tmp_path, file="1_CNN")
    assert (inspection.architecture, inspection.catalogued, inspection.parameters) == (
        "CNN",
        True,
        1323,
    )


def test_set_changes_the_transformer_of_the_whole(tmp_path: Path) -> None:
    saved("dense", tmp_path)
    before = inspect(tmp_path)
    after = inspect(tmp_path, overrides={"num_hidden_layers": 1})
    assert [m.name for m in after.members] == ["transformer", "2_Dense"]
    assert (after.parameters or 0) < (before.parameters or 0)
    assert after.overrides[0].was == 2
    assert "with num_hidden_layers = 1" in run(tmp_path, "--set", "num_hidden_layers=1").out


def test_tree_and_explain_know_the_parts(tmp_path: Path) -> None:
    saved("dense", tmp_path)
    out = run("tree", tmp_path).out
    assert "BertModel(" in out
    assert "2_Dense (sentence_transformers.base.modules.dense.Dense)" in out
    refused = run("explain", tmp_path)
    assert "is a model of several parts" in refused.err
    assert "file: config.json; --file config.json" in " ".join(refused.err.split())
    assert "\nlayout  sentence-transformers of 2 parts\n" in run(tmp_path).out
    assert run("explain", tmp_path, "--file", "config.json").code == 0


@pytest.mark.parametrize("content", ['{"types": 1}', "[1]", "x", '{"types": {"a": 1}}'])
def test_a_malformed_router_is_a_finding(content: str, tmp_path: Path) -> None:
    saved("asymmetric", tmp_path)
    (tmp_path / "router_config.json").write_text(content)
    inspection = inspect(tmp_path)
    assert "unreadable" in {finding.rule for finding in inspection.findings}
    assert inspection.parameters == 6464
    assert run(tmp_path, "--source", "config").code == 4
