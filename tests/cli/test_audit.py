"""``hfinspect audit``: exit codes, formats, several targets."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from hfinspect.auditing.registry import rules

from ..auditing.damage import cut, pickle_of, remove, rename_tensor, symlink
from ..auditing.sound import made, write
from ..schemas import conforms
from .program import hfinspect, process

Q1 = "model.layers.1.self_attn.q_proj.weight"

#: What SARIF 2.1.0 requires of the objects used here (sections 3.13, 3.14, 3.18, 3.19, 3.20, 3.27,
#: 3.28, 3.29, 3.33, 3.49), and what GitHub's code scanning asks beyond it.
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/run"}},
    },
    "$defs": {
        "message": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": {"type": "string", "minLength": 1}},
        },
        "level": {"enum": ["none", "note", "warning", "error"]},
        "run": {
            "type": "object",
            "required": ["tool", "results", "invocations"],
            "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "tool": {
                    "type": "object",
                    "required": ["driver"],
                    "properties": {"driver": {"$ref": "#/$defs/driver"}},
                },
                "invocations": {"type": "array", "items": {"$ref": "#/$defs/invocation"}},
                "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
            },
        },
        "driver": {
            "type": "object",
            "required": ["name", "rules"],
            "properties": {
                "rules": {
                    "type": "array",
                    "uniqueItems": True,
                    "items": {
                        "type": "object",
                        "required": ["id", "name", "shortDescription", "help"],
                        "properties": {
                            "shortDescription": {"$ref": "#/$defs/message"},
                            "fullDescription": {"$ref": "#/$defs/message"},
                            "help": {"$ref": "#/$defs/message"},
                            "defaultConfiguration": {
                                "properties": {"level": {"$ref": "#/$defs/level"}}
                            },
                        },
                    },
                }
            },
        },
        "invocation": {
            "type": "object",
            "required": ["executionSuccessful"],
            "properties": {
                "executionSuccessful": {"type": "boolean"},
                "toolExecutionNotifications": {
                    "type": "array",
                    "items": {
                        "required": ["message"],
                        "properties": {
                            "message": {"$ref": "#/$defs/message"},
                            "level": {"$ref": "#/$defs/level"},
                        },
                    },
                },
            },
        },
        "result": {
            "type": "object",
            "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
            "properties": {
                "message": {"$ref": "#/$defs/message"},
                "level": {"$ref": "#/$defs/level"},
                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                "locations": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "required": ["physicalLocation"],
                        "properties": {
                            "physicalLocation": {
                                "required": ["artifactLocation"],
                                "properties": {
                                    "artifactLocation": {
                                        "required": ["uri"],
                                        "properties": {
                                            "uri": {
                                                "type": "string",
                                                "pattern": "^[A-Za-z0-9._~:/@%!$&'()*+,;=-]+$",
                                            }
                                        },
                                    }
                                },
                            }
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return write(made("single"), tmp_path / "sound")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    files = made("sharded")
    cut(files, "model-00002-of-00004.safetensors", -10)
    rename_tensor(files, "model-00003-of-00004.safetensors", *_odd_name())
    remove(files, "README.md")
    pickle_of(files, "a b\u00e9.pkl", "os", "system")
    return write(files, tmp_path / "broken")


def _odd_name() -> tuple[str, str]:
    return "model.layers.2.mlp.up_proj.weight", "bell\u0007 & <b> ]]> \u202e"


def test_exit_codes(sound: Path, broken: Path, tmp_path: Path) -> None:
    assert hfinspect("audit", sound).code == 0
    assert hfinspect("audit", broken).code == 1
    assert hfinspect("audit", broken, "--select", "HI5").code == 0
    assert hfinspect("audit", broken, "--select", "HI5", "--fail-on", "warning").code == 0
    assert hfinspect("audit", broken, "--select", "HI5", "--fail-on", "note").code == 1
    assert (
        hfinspect("audit", broken, "--ignore", "HI1,HI2", "--ignore", "HI3", "--ignore", "HI4").code
        == 0
    )
    assert hfinspect("audit").code == 2
    assert hfinspect("audit", sound, "--fail-on", "always").code == 2
    assert hfinspect("audit", sound, "--select", "HI9").code == 2
    assert hfinspect("audit", sound, "--format", "xml").code == 2
    assert hfinspect("audit", tmp_path / "absent").code == 3
    assert hfinspect("audit", sound, tmp_path / "absent").code == 3


def test_one_line_a_finding(broken: Path) -> None:
    done = hfinspect("audit", broken, env={"COLUMNS": "60"})
    lines = [line for line in done.out.splitlines() if line.startswith(("error", "warn", "note"))]
    matching = [line for line in lines if "HI110" in line]
    assert len(matching) == 1
    assert matching[0].startswith(
        "error    HI110  model-00002-of-00004.safetensors: the last 10 of"
    )
    assert "\u202e" not in done.out
    assert "\a" not in done.out
    summary = next(line for line in done.out.splitlines() if line.startswith("found"))
    assert "errors," in summary
    assert "not checked  values and checksums" in done.out


def test_json_by_its_schema(broken: Path, sound: Path, tmp_path: Path) -> None:
    done = hfinspect("audit", broken, sound, tmp_path / "absent", "--format", "json")
    document = json.loads(done.out)
    conforms(document, "audit")
    kinds = ["error" if "error" in item else "audit" for item in document["results"]]
    assert kinds == ["audit", "audit", "error"]
    assert done.code == 3
    assert "absent: does not exist" in done.err


def test_sarif(broken: Path, sound: Path) -> None:
    done = hfinspect("audit", broken, sound, "--format", "sarif")
    assert done.code == 1
    document = json.loads(done.out)
    jsonschema.validate(document, SARIF, cls=jsonschema.Draft202012Validator)
    run = document["runs"][0]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    prints = [result["partialFingerprints"]["hfinspect/v1"] for result in run["results"]]
    assert len(prints) == len(set(prints))
    pickled = next(result for result in run["results"] if result["ruleId"] == "HI401")
    uri = pickled["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.endswith("broken/a%20b%C3%A9.pkl")
    tensor = next(result for result in run["results"] if result["ruleId"] == "HI203")
    logical = tensor["locations"][0]["logicalLocations"][0]
    assert logical["fullyQualifiedName"] == "model.layers.2.mlp.up_proj.weight"


def test_junit_is_well_formed(broken: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    done = hfinspect("audit", broken, absent, "--format", "junit", "--fail-on", "warning")
    root = ElementTree.fromstring(done.out.split("?>", 1)[1])
    assert [suite.tag for suite in root] == ["testsuite", "testsuite"]
    first, second = root
    failed = [case for case in first if case.find("failure") is not None]
    assert int(first.get("failures", "0")) == len(failed) > 0
    assert int(first.get("tests", "0")) == len(first.findall("testcase"))
    assert int(root.get("tests", "0")) == len(root.findall("*/testcase"))
    assert second[0].find("error") is not None
    names = {str(case.get("name"))[:5] for case in failed}
    assert "HI401" in names
    assert "HI503" not in names  # only a note


def test_markdown_and_csv(broken: Path, tmp_path: Path) -> None:
    markdown = hfinspect("audit", broken, "--format", "markdown").out
    assert re.search(
        r"\| HI110 \| [a-z-]+ \| error \| model-00002-of-00004.safetensors \|", markdown
    )
    out = tmp_path / "out.csv"
    assert hfinspect("audit", broken, "--format", "csv", "--output", out).code == 1
    assert out.read_text().splitlines()[0] == (
        "target,code,severity,rule,file,tensor,found,expected"
    )


def test_every_rule_explains_itself() -> None:
    for code, rule in rules().items():
        assert all(len(text) > 10 for text in (rule.what, rule.why, rule.fix)), code
    for code, rule in list(rules().items())[::9]:
        done = hfinspect("audit", "--explain", code.lower(), "--format", "json")
        told = json.loads(done.out)
        assert done.code == 0
        assert (told["code"], told["severity"]) == (code, rule.severity)
        assert all(len(told[key]) > 10 for key in ("what", "why", "fix"))
    assert "HI203 tensor-not-in-shards" in hfinspect("audit", "--explain", "HI203").out
    assert hfinspect("audit", "--explain", "HI999").code == 2


def test_recursive(tmp_path: Path) -> None:
    for name in ("runs/a/checkpoint-1", "runs/a/checkpoint-2", "runs/b"):
        write(made("single"), tmp_path / name)
    write(made("single"), tmp_path / "runs" / "b" / "checkpoint-9")
    (tmp_path / "empty").mkdir()
    done = hfinspect("audit", tmp_path / "runs", "--recursive", "--format", "json")
    targets = [result["target"] for result in json.loads(done.out)["results"]]
    root = str(tmp_path / "runs")
    assert targets == [f"{root}/a/checkpoint-1", f"{root}/a/checkpoint-2", f"{root}/b"]
    assert hfinspect("audit", tmp_path / "empty", "--recursive").code == 3


def test_reference(tmp_path: Path, sound: Path) -> None:
    files = made("single")
    remove(files, "config.json")
    other = write(files, tmp_path / "other")
    done = hfinspect("audit", other, "--reference", sound, "--select", "HI33")
    assert (done.code, f"against {sound}" in " ".join(done.out.split())) == (0, True)


def test_links_are_not_followed_out(tmp_path: Path, sound: Path) -> None:
    symlink(sound, "vocab.txt", "../outside.txt")
    assert "HI408" in hfinspect("audit", sound).out


def test_no_progress_where_there_is_no_terminal(sound: Path) -> None:
    done = process("audit", sound, "--deep")
    assert (done.code, done.err) == (0, "")


def test_rules_are_listed() -> None:
    """All of them, or those of --select and --ignore, in every format but those of findings."""
    listed_rules = json.loads(hfinspect("audit", "--list", "-f", "json").out)["rules"]
    assert [rule["code"] for rule in listed_rules] == list(rules())
    assert list(listed_rules[0]) == ["code", "rule", "severity", "deep", "what", "why", "fix"]
    some = hfinspect("audit", "--list", "--select", "HI32", "--ignore", "HI321", "-f", "csv")
    head, *rows = csv.reader(io.StringIO(some.out))
    assert head == ["code", "severity", "deep", "rule", "what", "why", "fix"]
    wanted = [code for code in rules() if code.startswith("HI32") and code != "HI321"]
    assert [row[0] for row in rows] == wanted
    text = hfinspect("audit", "--list", env={"COLUMNS": "60"}).out
    assert all(f"\n{code} " in f"\n{text}" for code in rules())
    assert max(map(len, text.splitlines())) <= 60
    assert f"{len(rules())} rules" in text
    assert "| HI201 |" in hfinspect("audit", "--list", "-f", "markdown").out
    assert hfinspect("audit", "--list", "-f", "sarif").code == 2


def test_several_targets_end_with_a_sum(broken: Path, sound: Path, tmp_path: Path) -> None:
    done = hfinspect("audit", broken, sound, sound, tmp_path / "absent", env={"COLUMNS": "80"})
    *_, sum_ = done.out.partition("all 4 targets:\n")
    assert "targets  2 without findings, 1 with errors, 1 not audited" in sum_
    one = json.loads(hfinspect("audit", broken, "-f", "json").out)["results"][0]
    assert f"found    {one['counts']['error']} errors, " in sum_
    assert "HI110" in sum_
    form = json.loads(
        hfinspect("audit", broken, sound, sound, tmp_path / "absent", "-f", "json").out
    )
    conforms(form, "audit")
    assert (form["sum"]["targets"], form["sum"]["audited"]) == (4, 3)
    assert (form["sum"]["without_findings"], form["sum"]["codes"]["HI110"]) == (2, 1)
    assert form["sum"]["counts"] == one["counts"]
    assert "all 1 targets" not in hfinspect("audit", broken).out
