"""Which family a config without model_type, or with one that takes another's classes, gets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hfinspect.errors import ConfigError
from hfinspect.trees import catalog as registry
from hfinspect.trees.prediction import predict

from ..catalog_index import INDEX, index_text
from ..regenerate import CASES
from . import recordings


def _first_of_each_file() -> dict[str, dict[str, object]]:
    """One recorded config per family file, in the spelling it was given in."""
    configs: dict[str, dict[str, object]] = {}
    for family, _, record in recordings.everything():
        if record["library"] != "diffusers" and not recordings.is_default(record):
            configs.setdefault(family, recordings.spellings(record)["given"])
    return configs


def test_every_family_has_a_judge() -> None:
    """A case file that a library builds; published numbers, which name one of its types; or another
    family that it is a part of; a trace has recordings of its own."""
    family_files = sorted(Path(registry.__file__).parents[1].glob("architectures/*.py"))
    sources = "".join(path.read_text() for path in family_files)
    parts = set(re.findall(r"^from \.(\w+) import|^from \. import (\w+)", sources, re.MULTILINE))
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    names: dict[str, set[str]] = {}
    for model_type, family in registry.registered()[0].items():
        names.setdefault(family.file, {family.file}).update({model_type, *family.classes})
    without = {
        file
        for file, known in names.items()
        if not (CASES.parent / f"{file}.json").exists()  # fixtures/oracle/traced/
        and not any((CASES / f"{name}.json").exists() or f'"{name}"' in tests for name in known)
        and not any(file in part for part in parts)
    }
    assert without == set(), (
        "no judge: write fixtures/oracle/cases/FILE.json and run `python -m tests.regenerate "
        "FILE`, or give the published count of a model in PUBLISHED of test_remote_catalog.py"
    )


def test_the_class_alone_tells_the_family() -> None:
    """architectures without model_type gives the same tensors, whatever was loaded before."""
    registry.load_all()
    differing = set()
    for file, config in _first_of_each_file().items():
        with_type = predict(config)
        without = predict({key: value for key, value in config.items() if key != "model_type"})
        if {(t.name, t.shape) for t in with_type.tensors} != {
            (t.name, t.shape) for t in without.tensors
        }:
            differing.add(file)
    # Their classes are another type's by name, and that type's they are without model_type.
    assert differing == {"exaone", "internlm3", "iquestcoder", "sarvam_mla", "sarvam_moe"}


@pytest.mark.parametrize(
    ("class_name", "model_type", "taker"),
    [
        ("LlamaForCausalLM", "llama", "internlm3"),
        ("GPT2LMHeadModel", "gpt2", "gpt-sw3"),
        ("DeepseekV3ForCausalLM", "deepseek_v3", "kimi_k2"),
    ],
)
def test_a_class_belongs_to_the_type_it_is_named_after(
    class_name: str, model_type: str, taker: str
) -> None:
    assert registry.find_type(taker) is not None
    family = registry.find_class(class_name)
    assert family is not None
    assert model_type in family.model_types


def test_the_first_code_of_phi_has_modules_of_its_own() -> None:
    """Same class name, other keys and other names: nothing is taken from the later defaults."""
    config = {"model_type": "phi-msft", "architectures": ["PhiForCausalLM"], "n_embd": 640}
    names = {spec.name: spec.shape for spec in predict(config).tensors}
    assert names["transformer.embd.wte.weight"][1] == 640
    assert not [name for name in names if name.startswith("model.")]


@pytest.mark.parametrize(
    ("model_type", "old", "new"),
    [
        ("t5", "T5WithLMHeadModel", "T5ForConditionalGeneration"),
        ("llama", "LLaMAForCausalLM", "LlamaForCausalLM"),
        ("wav2vec2", "Wav2Vec2ForMaskedLM", "Wav2Vec2ForCTC"),
    ],
)
def test_the_first_name_of_a_class(model_type: str, old: str, new: str) -> None:
    first, now = ({"model_type": model_type, "architectures": [name]} for name in (old, new))
    assert predict(first).tensors == predict(now).tensors


@pytest.mark.parametrize("config", [{"model_type": ""}, {"architectures": []}, {}])
def test_a_config_that_names_nothing(config: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="model_type"):
        predict(config)


def test_the_index_is_what_the_families_register() -> None:
    """``python -m tests.regenerate`` writes it."""
    text = INDEX.read_text(encoding="utf-8")
    assert text == index_text(), "run `python -m tests.regenerate`: it writes trees/index.json"


def test_what_is_left_out_has_a_reason() -> None:
    """Of the model; that time ran out or something raised is none."""
    reasons = json.loads((CASES.parent / "left_out.json").read_text())
    said = {place: why for rows in reasons.values() for place, why in rows.items()}
    kinds = {place.partition(" ")[0] for place in said}
    assert len(kinds) <= 20, "too many types are left out: trace them, or write them by hand"
    bare = {p: why for p, why in said.items() if re.search(r"no time|nothing fits|Error:", why)}
    assert not bare, (
        "fixtures/oracle/left_out.json: no reason of the model. Trace again with more time "
        "(python -m tests.oracle trace --seconds 300 TYPE), or write what the model needs"
    )


def test_one_class_imports_one_family() -> None:
    """Nothing but the index is read to find a file."""
    code = (
        "import sys\n"
        "from hfinspect.trees.prediction import predict\n"
        "predict({'architectures': ['BertForMaskedLM']})\n"
        "print(*[name for name in sys.modules if name.startswith('hfinspect.architectures.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["hfinspect.architectures.bert"]
