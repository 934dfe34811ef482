"""Lines for a shell: flags that the engines have, and one word for whatever a model is called."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.engine_answers import EngineAnswers
from hfinspect.core.refs import Origin
from hfinspect.core.runs_options import RunsOptions
from hfinspect.inspecting.build import from_prediction
from hfinspect.inspecting.config_alone import predict
from hfinspect.running.answers import answered
from hfinspect.running.engine_lists import engine_lists, transformers_types
from hfinspect.running.loader import PASSED, Check, Launch, Loader
from hfinspect.sizing.engine_classes import class_lists
from hfinspect.sizing.engines.registry import ENGINES

from ..examples import examples
from ..sizing.llama_gguf import llama_file
from .test_runs import FP8, LLAMA, MODELS, packed

FLAGS_FILE = Path(__file__).resolve().parents[2] / "fixtures" / "running" / "flags.json"
FLAGS = json.loads(FLAGS_FILE.read_text())
#: First words of a command -> the program whose parser takes the rest.
PROGRAMS = {
    "vllm serve": "vllm",
    "python -m sglang.launch_server": "sglang",
    "llama-server": "llama-server",
    "python convert_hf_to_gguf.py": "convert_hf_to_gguf.py",
    "llama-quantize": "llama-quantize",
    "mlx_lm.server": "mlx_lm.server",
    "mlx_lm.generate": "mlx_lm.generate",
    "trtllm-serve": "trtllm-serve",
    "optimum-cli export onnx": "optimum-cli",
    "accelerate launch": "accelerate",
}
CASES: list[tuple[Any, dict[str, Any]]] = [
    (MODELS / "llama-3-8b", {}),
    (MODELS / "llama-3-8b", {"on": "RTX 4090", "context": 4096}),
    (MODELS / "llama-3-8b", {"on": "8xH100", "train": "full", "checkpointing": True}),
    (MODELS / "llama-3-8b", {"on": "2x24GB", "pipeline_parallel": 2}),
    (MODELS / "mixtral-8x7b", {"on": "RTX 4090"}),
    (MODELS / "bert-base-uncased", {"on": "T4"}),
    (MODELS / "mamba-2.8b", {"on": "T4"}),
    (packed(quant_method="fbgemm_fp8"), {"on": "H100"}),
    (packed(**FP8), {"on": "RTX 3060"}),
    (MODELS / "llama-3-8b", {"on": "M4 32GB", "engine": "mlx-lm"}),
    (MODELS / "llama-3-8b", {"on": "M4 24GB", "engine": "mlx-lm", "batch": 2}),
    (MODELS / "deepseek-v3", {"on": "8xB200", "engine": "tensorrt-llm"}),
    ("gguf", {"on": "RTX 4090"}),
]


def commands(answers: EngineAnswers) -> list[str]:
    lines = [line.command for one in answers.answers for line in one.launch]
    return lines + [one.launch.command for one in answers.training if one.launch is not None]


@pytest.mark.parametrize(("model", "options"), CASES)
def test_every_flag_is_one_of_the_engines_own(
    model: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    model = llama_file(tmp_path) if model == "gguf" else model
    for command in commands(hfinspect.runs(model, **options)):
        if command.startswith("python -c"):
            continue
        (program,) = {PROGRAMS[first] for first in PROGRAMS if command.startswith(first)}
        words = shlex.split(command)
        flags = {word for word in words if word.startswith("-")} - {"-m", "-"}
        assert flags <= set(FLAGS[program]), command
        if program == "llama-quantize":
            assert words[-1] in FLAGS[program]


def test_python_lines_are_python() -> None:
    for command in commands(hfinspect.runs(MODELS / "llama-3-8b", engine="transformers")):
        first, flag, code = shlex.split(command)
        assert (first, flag) == ("python", "-c")
        compile(code, "line", "exec")


@settings(max_examples=examples(12))  # each answers of all engines
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_a_name_is_one_word_of_the_shell(name: str) -> None:
    prediction = predict(LLAMA)
    inspection = from_prediction(name, Origin("directory", name), prediction, config=LLAMA)
    answers = answered(inspection, prediction, RunsOptions(on="8xH100"))
    for command in commands(answers):
        words = shlex.split(command)
        if words[0] in ("llama-server", "llama-quantize"):
            continue  # of what the converter wrote
        if words[1] == "-c":
            compile(words[2], "line", "exec")
            assert repr(name) in words[2]
        else:
            assert name in words


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_any_words_of_a_config_get_an_answer(kind: str, cls: str, method: str) -> None:
    config = {"model_type": kind, "architectures": [cls], "quantization_config": {}}
    config["quantization_config"] = {"quant_method": method, "format": method, "bits": 4}
    inspection = hfinspect.inspect(LLAMA)
    other = replace(inspection, config=config, model_type=kind, architecture=cls)
    answers = answered(other, None, RunsOptions())
    for one in answers.answers:
        assert one.answer in ("yes", "no", "unknown")
        assert one.reasons
        texts = (*one.reasons, *one.notes, *commands(answers))
        assert not any(category(letter) == "Cc" for text in texts for letter in text)


# ---- the recorded lists


def test_versions_are_those_of_the_classes_and_of_the_memory_rules() -> None:
    lists = engine_lists()
    classes = class_lists()
    for name, other in (("vllm", "vllm"), ("sglang", "sglang"), ("llama_cpp", "llama.cpp")):
        assert lists[name]["version"] == classes[other]["version"]
    for name in ("vllm", "sglang"):
        assert lists[name]["version"] == ENGINES[name].version


def test_spans_are_in_order_and_no_type_is_in_two() -> None:
    lists = engine_lists()["transformers"]
    types = [kind for kinds in lists["types"].values() for kind in kinds]
    assert len(types) == len(set(types)) == len(transformers_types())
    for span in lists["types"]:
        low, high = map(int, span.split("-"))
        assert 0 <= low <= high < len(lists["versions"])


def test_methods_with_a_capability_and_kernels_are_well_formed() -> None:
    for name in ("vllm", "sglang"):
        for least in engine_lists()[name]["methods"].values():
            assert least is None or 0 <= least < 130
    for rows in engine_lists()["vllm"]["kernels"].values():
        assert rows
        for _, least, families in rows:
            assert 0 <= least < 130
            assert all(60 <= family < 130 for family in families)


# ---- a new engine


class _Half(Loader):
    name = "half"
    label = "Half"


class _Unsaid(_Half):
    def of_class(self, subject: object) -> Check:
        return PASSED

    def of_packing(self, subject: object) -> Check:
        return PASSED

    def launch(self, subject: object) -> Launch:
        return Launch()


def test_an_engine_that_leaves_a_member_out_does_not_start() -> None:
    with pytest.raises(TypeError, match="abstract method"):
        _Half()  # type: ignore[abstract]
    with pytest.raises(TypeError, match="_Unsaid does not say key"):
        _Unsaid()


def test_a_repo_at_a_revision_is_named_with_it() -> None:
    prediction = predict(LLAMA)
    origin = Origin("hub", "org/name", repo_id="org/name", revision="v1; rm")
    inspection = from_prediction("org/name@v1", origin, prediction, config=LLAMA)
    answers = answered(inspection, prediction, RunsOptions(on="8xH100", engine="vllm,llama.cpp"))
    vllm, converts, serves = commands(answers)
    assert shlex.split(vllm)[2:5] == ["org/name", "--revision", "v1; rm"]
    assert "org/name --outfile model.gguf --remote" in converts
    assert serves.startswith("llama-server -m model.gguf")


# ---- training

FIELDS = json.loads((FLAGS_FILE.parent / "training_fields.json").read_text())


def files_of(**options: Any) -> list[dict[str, Any]]:
    answers = hfinspect.runs(MODELS / "llama-3-8b", engine="vllm", train="full", **options)
    return [json.loads(way.config) for way in answers.training if way.config]


@pytest.mark.parametrize("precision", ["mixed", "bf16", "amp", "fp32"])
@pytest.mark.parametrize("card", ["8xB200", "8xL40S", "2xRTX 4090"])
def test_every_key_is_one_of_deepspeeds_own(card: str, precision: str) -> None:
    for config in files_of(on=card, precision=precision, batch=2, checkpointing=True):
        assert config.keys() <= set(FIELDS[""])
        assert config["train_micro_batch_size_per_gpu"] == 2
        sections = {**config, **config["zero_optimization"]}
        for name, section in sections.items():
            if isinstance(section, dict):
                assert section.keys() <= set(FIELDS[name]), name


def test_weights_without_masters_are_deepspeeds_from_stage_1() -> None:
    (config,) = files_of(on="8xB200", precision="bf16")
    assert config["zero_optimization"]["stage"] == 1
    assert config["bf16"]["bf16_master_weights_and_grads"]
    (mixed,) = files_of(on="8xB200")
    assert mixed["bf16"] == {"enabled": True}


def test_what_fits_on_no_stage_goes_to_main_memory() -> None:
    (config,) = files_of(on="2xRTX 4090", checkpointing=True)
    assert config["zero_optimization"]["stage"] == 3
    assert config["zero_optimization"]["offload_optimizer"]["device"] == "cpu"
    assert "offload_param" not in config["zero_optimization"]
    (config,) = files_of(on="2x12GB", checkpointing=True)
    assert config["zero_optimization"]["offload_param"]["device"] == "cpu"
    assert files_of(on="2x4GB", checkpointing=True) == []


def test_the_command_is_after_what_writes_its_file() -> None:
    answers = hfinspect.runs(MODELS / "llama-3-8b", engine="vllm", train="full", on="8xL40S")
    printed = answers.to_markdown()
    written, _, rest = printed.partition("cat > ds_config.json <<'END'\n")[2].partition("\nEND\n")
    (deepspeed,) = (way for way in answers.training if way.framework == "DeepSpeed")
    assert json.loads(written) == json.loads(deepspeed.config)
    assert rest.startswith("accelerate launch")
    assert f"--deepspeed_config_file {deepspeed.file}" in rest.partition("\n")[0]
