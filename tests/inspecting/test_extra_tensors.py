"""What the class holds, and what the files hold beyond it, are two numbers in every command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.tensor import TensorSpec
from hfinspect.scanning.rows import COLUMNS, row_of
from hfinspect.trees.prediction import Prediction, predict

from ..architectures.test_agreement import PREDICTORS
from ..builders import Tensors, write_config, write_safetensors
from ..cli.program import hfinspect as program
from ..schemas import conforms

ROOT = Path(__file__).resolve().parents[2]
DEEPSEEK = json.loads((ROOT / "fixtures/models/deepseek-v3/config.json").read_text())
CORPUS = ROOT.parent / "shared" / "corpus" / "deepseek-ai--DeepSeek-R1" / "config.json"

#: What no token is served by: 248 of 256 experts in 58 layers, three matrices each.
IDLE = 58 * 248 * 3 * 7168 * 2048


def released(prediction: Prediction) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The files as they are on the Hub: with the layers that predict further tokens."""
    specs = [*prediction.tensors, *(s for s in prediction.extras if s.part == "mtp")]
    return {spec.name: ("BF16", spec.shape) for spec in specs}


def in_fp8(prediction: Prediction) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The same with a block of 128 x 128 for each scale, as DeepSeek-V3 is released."""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (dtype, shape) in released(prediction).items():
        packed = name.endswith("_proj.weight") or "kv_a_proj_with_mqa" in name
        tensors[name] = ("F8_E4M3" if packed else dtype, shape)
        if packed:
            blocks = (-(-shape[0] // 128), -(-shape[1] // 128))
            tensors[f"{name}_scale_inv"] = ("F32", blocks)
    return tensors


def write(directory: Path, config: dict[str, Any], tensors: Tensors) -> Path:
    write_config(directory, config)
    write_safetensors(directory / "model.safetensors", tensors)
    return directory


@pytest.fixture(scope="module")
def deepseek(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DeepSeek-V3 in width, of four layers, in FP8 with its layer of multi-token prediction."""
    config = {**DEEPSEEK, "num_hidden_layers": 4}
    directory = tmp_path_factory.mktemp("deepseek")
    return write(directory, config, in_fp8(predict(config)))


def test_a_config_gives_the_figures_that_explain_derives() -> None:
    """671,026,404,352 in the class, of which 37,552,282,624 are used per token."""
    inspection = hfinspect.inspect(DEEPSEEK)
    derived = hfinspect.explain(DEEPSEEK)
    for result in (inspection, derived):
        assert result.parameters == 671_026_404_352
        assert result.active_parameters == 671_026_404_352 - IDLE == 37_552_282_624
        assert [(g.kind, g.parameters) for g in result.extra_tensors] == [("mtp", 13_463_426_048)]


def test_headers_give_them_too(deepseek: Path) -> None:
    prediction = predict({**DEEPSEEK, "num_hidden_layers": 4})
    inspection = hfinspect.inspect(deepseek)
    assert inspection.parameters == prediction.parameters
    assert inspection.active_parameters == prediction.active_parameters
    (beyond,) = inspection.extra_tensors
    assert (beyond.kind, beyond.parameters) == ("mtp", 13_463_426_048)
    assert inspection.nbytes is not None
    assert beyond.nbytes is not None
    # FP8 for the projections with a float32 for each block; the rest of the layer in BF16.
    assert 13_463_426_048 < beyond.nbytes < 2 * 13_463_426_048
    held = sum(totals.nbytes or 0 for totals in inspection.components.values())
    assert held + beyond.nbytes == inspection.nbytes
    assert sum(t.nbytes or 0 for t in inspection.dtypes.values()) == inspection.nbytes
    for groups in (inspection.components, inspection.parts, inspection.dtypes):
        assert sum(totals.parameters or 0 for totals in groups.values()) == inspection.parameters
    assert inspection.expectation is not None
    assert inspection.expectation.agrees


def test_every_command_says_the_same(deepseek: Path) -> None:
    inspection = hfinspect.inspect(deepseek)
    document = inspection.to_dict(tensors=True)
    conforms(document)
    derived = hfinspect.explain(deepseek).to_dict()
    conforms(derived, "explanation")
    models = hfinspect.compare(deepseek, deepseek).to_dict()["models"]
    row = row_of(next(iter(hfinspect.scan([deepseek]))), tuple(COLUMNS))
    keys = ("parameters", "active_parameters")
    for other in (derived, row, *models):
        assert {key: other[key] for key in keys} == {key: document[key] for key in keys}
    assert derived["beyond"] == models[0]["beyond"] == document["beyond"]
    assert row["beyond"] == 13_463_426_048
    assert {t["beyond"] for t in document["tensors"]} == {None, "mtp"}
    assert derived["measured"]["differences"] == []


def test_the_screen_names_what_is_beyond_and_nothing_that_is_not_there(deepseek: Path) -> None:
    line = "not loaded 13,463,426,048 for multi-token prediction"
    for command in ((), ("explain",)):
        shown = " ".join(program(*command, deepseek).out.split())
        assert line in shown
        assert "0 missing" not in shown
    for by in ("layer", "part", "component"):
        assert "model.layers.4" not in program(deepseek, "--by", by).out
    config = " ".join(program(deepseek, "--source", "config").out.split())
    assert "13,463,426,048 for multi-token prediction (if in the files)" in config


@pytest.mark.parametrize("model_type", PREDICTORS)
def test_multi_token_prediction_of_every_kind_is_apart(model_type: str, tmp_path: Path) -> None:
    config = {"model_type": model_type, **PREDICTORS[model_type]}
    prediction = predict(config)
    further = [spec for spec in prediction.extras if spec.part == "mtp"]
    if not further:
        pytest.skip("the class itself holds and loads it")
    inspection = hfinspect.inspect(write(tmp_path, config, released(prediction)))
    assert inspection.parameters == prediction.parameters
    assert (inspection.active_parameters or inspection.parameters) == prediction.active_parameters
    assert inspection.extra_parameters == sum(spec.parameters for spec in further)
    assert {group.kind for group in inspection.extra_tensors} == {"mtp"}
    assert "mtp" not in inspection.parts


# ---- other tensors that the class does not hold

BERT = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "vocab_size": 40,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
MORE = {"cls.seq_relationship.weight": ("F32", (2, 8)), "cls.seq_relationship.bias": ("F32", (2,))}


def of_class(config: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    def stored(spec: TensorSpec) -> tuple[str, tuple[int, ...]]:
        return ("F32", spec.shape)

    return {spec.name: stored(spec) for spec in predict(config).tensors}


def test_a_head_that_the_class_does_not_have(tmp_path: Path) -> None:
    write(tmp_path, BERT, {**of_class(BERT), **MORE})
    inspection = hfinspect.inspect(tmp_path)
    assert (
        inspection.parameters == predict(BERT).parameters == hfinspect.explain(tmp_path).parameters
    )
    assert [(g.kind, g.parameters, g.nbytes) for g in inspection.extra_tensors] == [
        ("unexpected", 18, 72)
    ]
    shown = " ".join(program(tmp_path).out.split())
    assert "not loaded 18 parameters: tensors that BertForMaskedLM does not define" in shown
    assert "cls.seq_relationship.weight and 1 more" in shown


def test_where_one_of_its_own_is_missing_nothing_is_said_to_be_beyond(tmp_path: Path) -> None:
    """A name that nobody knows may be that of the missing tensor."""
    tensors = of_class(BERT)
    weight = tensors.pop("bert.encoder.layer.0.attention.self.query.weight")
    write(tmp_path, BERT, {**tensors, "bert.encoder.layer.0.attention.self.q.weight": weight})
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.extra_tensors == ()
    assert inspection.parameters == predict(BERT).parameters


@pytest.mark.skipif(not CORPUS.exists(), reason="no corpus of real configs")
def test_the_released_config() -> None:
    config = json.loads(CORPUS.read_text())
    inspection = hfinspect.inspect(config)
    assert inspection.parameters == 671_026_404_352
    assert inspection.active_parameters == 37_552_282_624
    assert inspection.extra_parameters == 13_463_426_048
