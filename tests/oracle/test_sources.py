"""What a package's digest depends on: the code that decides shapes, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hfinspect.core.library_versions import TRANSFORMERS, TRANSFORMERS_RUN

from . import release, sources

MODEL = '''
"""A model."""
from torch import nn

SIZES = (1, 2)


def inner(config):
    return config.hidden_size * SIZES[0]


def rotate(x):
    return x


class Layer(nn.Module):
    """One layer."""

    def __init__(self, config: object) -> None:
        super().__init__()
        self.up = nn.Linear(config.hidden_size, self.width(config))

    def width(self, config):
        return inner(config)

    def forward(self, x: int) -> int:
        return rotate(self.up(x))


class Model(nn.Module):
    _tied_weights_keys = ["a"]

    def __init__(self, config):
        self.layer = Layer(config)
'''
CONFIG = """
class LayerConfig(Base):
    model_type = "layer"
    base_model_tp_plan = {"up": "colwise"}
    hidden_size: int = 32
"""


def _digest(model: str = MODEL, config: str = CONFIG) -> str:
    return sources.digest_of({"modeling_a.py": model, "configuration_a.py": config})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rotate(self.up(x))", "rotate(self.up(x) + 1)"),
        ("def rotate(x):\n    return x", "def rotate(x):\n    return -x"),
        ('"""One layer."""', '"""A layer."""'),
        ("config: object) -> None", "config)"),
    ],
)
def test_how_a_model_runs_has_no_part(old: str, new: str) -> None:
    assert old in MODEL
    assert _digest(MODEL.replace(old, new)) == _digest()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nn.Linear(config.hidden_size,", "nn.Linear(2 * config.hidden_size,"),
        ("return inner(config)", "return inner(config) + 1"),
        ("config.hidden_size * SIZES[0]", "config.hidden_size"),
        ("SIZES = (1, 2)", "SIZES = (3, 2)"),
        ('_tied_weights_keys = ["a"]', '_tied_weights_keys = ["b"]'),
        ("class Layer(nn.Module)", "class Layer(Other)"),
    ],
)
def test_what_a_constructor_reaches_has(old: str, new: str) -> None:
    assert old in MODEL
    assert _digest(MODEL.replace(old, new)) != _digest()


def test_a_default_of_the_config_has_and_a_plan_has_not() -> None:
    assert _digest(config=CONFIG.replace("= 32", "= 64")) != _digest()
    assert _digest(config=CONFIG.replace("colwise", "rowwise")) == _digest()


def _running(room: Path, **texts: str) -> dict[str, str]:
    for name, text in texts.items():
        (room / name).mkdir(exist_ok=True)
        (room / name / f"modeling_{name}.py").write_text(text)
    return sources.running(room)


def test_how_a_model_runs_has_a_digest_of_its_own(tmp_path: Path) -> None:
    before = _running(tmp_path, a=MODEL, b=f"from ..a.modeling_a import Layer\n{MODEL}", c=MODEL)
    assert before["b"] != before["c"]
    assert _running(tmp_path, a=MODEL.replace("One layer", "A layer")) == before
    after = _running(tmp_path, a=MODEL.replace("rotate(self", "inner(self"))
    assert sources.changed(before, after) == ["a", "b"]  # b imports from a
    assert (
        _running(tmp_path, a=MODEL.replace("    def forward", "    @other\n    def forward"))
        != before
    )


def test_what_all_models_run_through_is_by_what_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "generation").mkdir()
    (tmp_path / "cache_utils.py").write_text("class Cache:\n    pass")
    (tmp_path / "generation" / "utils.py").write_text("def generate():\n    return 1")
    before = sources.shared(tmp_path)
    (tmp_path / "generation" / "utils.py").write_text("def generate():\n    return 2")
    assert sources.changed(before, sources.shared(tmp_path)) == ["workspace"]


def test_a_package_that_came_or_went_has_not_changed() -> None:
    before = {"a": "1", "b": "2", "gone": "3"}
    now = {"a": "1", "b": "9", "came": "4"}
    assert sources.changed(before, now) == ["b"]


def test_the_record_is_of_the_release_that_the_package_speaks_of() -> None:
    record = sources.recorded()
    assert record["version"] == TRANSFORMERS, "run `python -m tests.oracle release VERSION`"
    assert len(record["packages"]) > 400
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in record["packages"].values())


def test_taking_a_release_writes_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constant = tmp_path / "library_versions.py"
    constant.write_text(release.CONSTANT.read_text())
    monkeypatch.setattr(release, "CONSTANT", constant)
    release.write_constant("6.7.8")
    text = constant.read_text()
    assert 'TRANSFORMERS: Final = "6.7.8"' in text
    assert f'TRANSFORMERS_RUN: Final = "{TRANSFORMERS_RUN}"' in text


def test_the_report_begins_with_what_is_left_to_do() -> None:
    report = release.Report("1.0", "1.1")
    report.add(release.EQUAL, "a: 3 recordings")
    report.add(release.BY_HAND, "b: 1 of 2 recordings changed")
    with report.step("building"):
        pass
    text = report.text()
    assert text.startswith("# transformers 1.1, taken after 1.0\n")
    assert text.index(release.BY_HAND) < text.index(release.EQUAL)
    assert "- building: 0.0" in text


def test_parts_are_recorded_before_what_holds_them() -> None:
    class Nested:
        def sections(self, kind: str, class_name: str) -> dict[str, str]:
            if kind == "broken":
                raise ValueError(kind)
            return {"a_whole": {"text_config": "b_text"}, "b_text": {}}[kind]

    order = release.in_order(Nested(), ["a_whole", "b_text", "broken"])  # type: ignore[arg-type]
    assert order.index("b_text") < order.index("a_whole")
    assert sorted(order) == ["a_whole", "b_text", "broken"]
