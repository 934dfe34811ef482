"""``runs``: each answer by the recorded lists, each number by the rules of ``memory``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.choices import LOADERS as NAMES
from hfinspect.core.engine_answers import EngineAnswer, EngineAnswers
from hfinspect.errors import UsageError

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..schemas import conforms
from ..sizing.llama_gguf import llama_file

MODELS = ROOT / "fixtures" / "models"
LLAMA = json.loads((MODELS / "llama-3-8b" / "config.json").read_text())
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}


def asked(target: Any, engine: str, **options: Any) -> EngineAnswer:
    (answer,) = hfinspect.runs(target, engine=engine, **options).answers
    return answer


def packed(**quantization: Any) -> dict[str, Any]:
    return {**LLAMA, "quantization_config": quantization}


# ---- classes and types


def test_a_llama_is_loaded_by_all() -> None:
    answers = hfinspect.runs(MODELS / "llama-3-8b")
    assert [one.engine for one in answers.answers] == list(NAMES)
    assert {one.answer for one in answers.answers} == {"yes"}
    assert answers.answer == "yes"


def test_a_class_that_an_engine_dropped_names_its_last_version() -> None:
    config = {"model_type": "mpt", "architectures": ["MPTForCausalLM"]}
    answer = asked(config, "vllm")
    assert answer.answer == "no"
    assert "0.28.0 was the last version that had it" in answer.reasons[0]


def test_vllm_makes_a_classifier_of_a_class_that_writes() -> None:
    answer = asked({**LLAMA, "architectures": ["LlamaForSequenceClassification"]}, "vllm")
    assert (answer.answer, answer.runs_as) == ("yes", "LlamaForCausalLM")


def test_transformers_names_the_releases_around_the_first_that_knows_a_type() -> None:
    config = json.loads((MODELS / "gpt-oss-120b" / "config.json").read_text())
    (reason,) = asked(config, "transformers").reasons
    assert reason == "type gpt_oss since 4.55.4 at the latest, not in 4.53.3"


def test_an_unknown_type_is_loaded_by_its_own_code_alone() -> None:
    config = {**LLAMA, "model_type": "never_heard_of"}
    assert asked(config, "transformers").answer == "no"
    own = asked({**config, "auto_map": {"AutoConfig": "a.B"}}, "transformers")
    assert own.answer == "yes"
    assert "trust_remote_code" in own.reasons[0]


def test_a_module_of_diffusers_is_none_of_the_types() -> None:
    config = {"_class_name": "AutoencoderKL", "architectures": ["AutoencoderKL"]}
    answers = hfinspect.runs(config)
    assert answers.answer == "no"


def test_an_encoder_is_exported_for_the_task_of_its_class() -> None:
    answer = asked(MODELS / "bert-base-uncased", "onnx")
    assert (answer.answer, answer.runs_as) == ("yes", "fill-mask")
    assert "--task fill-mask" in answer.launch[0].command


def test_gguf_goes_to_llama_cpp(tmp_path: Path) -> None:
    answers = {one.engine: one for one in hfinspect.runs(llama_file(tmp_path)).answers}
    assert answers["llama.cpp"].answer == "yes"
    assert answers["vllm"].answer == answers["mlx-lm"].answer == "no"
    assert "no loader for GGUF" in answers["vllm"].reasons[0]


# ---- packings and cards


@pytest.mark.parametrize(
    ("method", "engine", "answer"),
    [
        ("bitsandbytes", "vllm", "no"),  # 0.33.0 has no such method
        ("bitsandbytes", "sglang", "yes"),
        ("awq", "vllm", "yes"),
        ("awq", "llama.cpp", "no"),
        ("gptq", "llama.cpp", "yes"),
        ("gptq", "mlx-lm", "yes"),
        ("quanto", "transformers", "yes"),
        ("quanto", "sglang", "no"),
        ("fp8", "mlx-lm", "unknown"),
        ("fp8", "onnx", "unknown"),
    ],
)
def test_a_packing_is_one_of_the_recorded_methods(method: str, engine: str, answer: str) -> None:
    config = packed(quant_method=method, bits=4, group_size=128, sym=True, zero_point=True)
    assert asked(config, engine).answer == answer


def test_gptq_of_three_bits_is_refused_by_its_width() -> None:
    answer = asked(packed(quant_method="gptq", bits=3, group_size=128, sym=True), "vllm")
    assert answer.answer == "no"
    assert "4 and 8 bits, and this has 3" in answer.reasons[0]


def test_a_card_below_the_least_capability_is_refused() -> None:
    answer = asked(packed(**FP8), "sglang", on="T4")
    assert answer.answer == "no"
    assert "fp8 needs compute capability 8.0, and T4 has 7.5" in answer.reasons


def test_kernels_follow_the_generation() -> None:
    rows = {row.generation: row.kernels for row in asked(packed(**FP8), "vllm").kernels}
    assert rows["Ampere 8.0, 8.6"][0] == "MarlinFP8"
    assert rows["Hopper 9.0"][:2] == ("DeepGemmFp8", "CutlassFp8")
    (row,) = asked(packed(**FP8), "vllm", on="H100").kernels
    assert row.kernels == rows["Hopper 9.0"]


def test_nvfp4_is_native_on_blackwell_and_unpacked_by_marlin_before() -> None:
    config = packed(quant_method="modelopt", quant_algo="NVFP4", group_size=16)
    rows = {row.generation: row.kernels for row in asked(config, "vllm").kernels}
    assert rows["Blackwell 10.0, 10.3"][0].startswith("FlashInfer")
    assert all(rows[name][0] == "MarlinNvFp4" for name in rows if "Blackwell" not in name)


@pytest.mark.parametrize(("card", "answer"), [("M3 Max 64GB", "no"), ("MI300X", "yes")])
def test_vllm_runs_on_its_platforms(card: str, answer: str) -> None:
    assert asked(MODELS / "llama-3-8b", "vllm", on=card).answer == answer


def test_turing_gets_half_precision() -> None:
    small = {**LLAMA, "num_hidden_layers": 2}
    assert "--dtype half" in asked(small, "vllm", on="T4").launch[0].command
    assert "--dtype" not in asked(small, "vllm", on="A100 80GB").launch[0].command


# ---- lines


@pytest.mark.parametrize("card", ["RTX 4090", "2x24GB", "8xH100"])
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_numbers_are_those_of_memory(engine: str, card: str) -> None:
    model = MODELS / "llama-3-8b"
    words = shlex.split(asked(model, engine, on=card).launch[0].command)
    sized = hfinspect.memory(model, engine=engine, on=card)
    context = words[words.index("--max-model-len" if engine == "vllm" else "--context-length") + 1]
    assert int(context) == sized.max_context
    flag = "--tensor-parallel-size" if engine == "vllm" else "--tp-size"
    split = int(words[words.index(flag) + 1]) if flag in words else 1
    assert split == sized.tensor_parallel


def test_llama_cpp_leaves_experts_in_main_memory() -> None:
    model = MODELS / "mixtral-8x7b"
    answer = asked(model, "llama.cpp", on="RTX 4090")
    sized = hfinspect.memory(model, engine="llama.cpp", on="RTX 4090", context=8192)
    assert sized.offload is not None
    best = sized.offload.plans[-1]
    wanted = f"-ngl {best.gpu_layers} --n-cpu-moe {best.cpu_experts} -c 8192 -np 1"
    assert wanted in answer.launch[-1].command
    assert answer.answer == "yes"


def test_a_card_that_is_too_small_is_a_no_with_the_bytes() -> None:
    answer = asked(MODELS / "gpt-oss-120b", "vllm", on="RTX 4090")
    assert answer.answer == "no"
    assert "on one card at 8,192 tokens, which has 23.7 GB" in answer.reasons[0]
    assert answer.launch == ()


def test_without_a_card_no_number_is_given() -> None:
    answer = asked(MODELS / "llama-3-8b", "vllm")
    assert answer.launch == ()
    assert "--on" in answer.launch_unknown


@pytest.mark.parametrize(("card", "stage"), [("8xH100", 1), ("8xL40S", 3), ("2x8GB", None)])
def test_training_takes_the_lowest_stage_that_fits(card: str, stage: int | None) -> None:
    answers = hfinspect.runs(MODELS / "llama-3-8b", engine="vllm", on=card, train="full")
    ways = {one.framework: one for one in answers.training}
    deepspeed = ways["DeepSpeed"]
    if stage is None:
        assert deepspeed.launch is None
        assert deepspeed.fits is False
        return
    assert deepspeed.launch is not None
    assert json.loads(deepspeed.config)["zero_optimization"]["stage"] == stage
    count = int(card.partition("x")[0])
    sized = hfinspect.memory(
        MODELS / "llama-3-8b", on=card, train="full", gpus=count, zero=stage
    ).training
    assert sized is not None
    assert deepspeed.least == sized.least


# ---- the command


@pytest.mark.parametrize(
    ("engine", "code"), [("vllm", 0), ("mlx-lm", 1), ("onnx,mlx-lm", 0), ("llama.cpp", 0)]
)
def test_exit_codes(engine: str, code: int) -> None:
    model = MODELS / ("bert-base-uncased" if "mlx" in engine else "llama-3-8b")
    assert program("runs", model, "--engine", engine).code == code


def test_undecided_is_six(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps(packed(**FP8)))
    assert program("runs", tmp_path, "--engine", "onnx").code == 6


def test_json_is_as_the_schema_says() -> None:
    for more in ((), ("--on", "8xH100", "--train", "full")):
        printed = program("runs", MODELS / "gpt-oss-120b", "-f", "json", *more)
        conforms(json.loads(printed.out), "runs")
        assert printed.code == 0


@pytest.mark.parametrize("form", ["table", "csv", "markdown", "html"])
def test_every_form_says_the_answer(form: str) -> None:
    printed = program("runs", MODELS / "llama-3-8b", "--on", "RTX 4090", "-f", form)
    assert printed.code == 0
    assert "vllm serve" in printed.out


def test_a_page_does_not_show_the_way_to_a_folder() -> None:
    printed = program("runs", MODELS / "llama-3-8b", "-f", "html")
    shown, _, data = printed.out.partition('<script type="application/json"')
    assert data
    assert str(ROOT) not in shown


def test_unknown_words_are_refused_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match="engine 'vlm': is unknown"):
        hfinspect.runs("no/such-model", engine="vlm")
    with pytest.raises(UsageError, match="neither a size nor a known card"):
        hfinspect.runs("no/such-model", on="abacus")


def test_a_result_shows_itself() -> None:
    answers = hfinspect.runs(MODELS / "llama-3-8b", engine="vllm")
    assert isinstance(answers, EngineAnswers)
    assert repr(answers).endswith("llama-3-8b: vllm yes>")
    assert "vLLM" in answers.to_markdown()


# ---- TensorRT-LLM


@pytest.mark.parametrize(
    ("quantization", "card", "answer", "reason"),
    [
        (FP8, "H100", "yes", "class LlamaForCausalLM"),
        (FP8, "RTX 4090", "no", "no FP8(block scaling) on RTX 4090"),
        ({**FP8, "weight_block_size": [64, 64]}, "H100", "no", "blocks of 128 by 128"),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "RTX 4090", "yes", "class"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "A10", "yes", "class"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "A10", "no", "64 or 128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "B200", "no", "W4A16 GPTQ"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "A10", "no", "reads no awq"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "H100", "no", "no NVFP4 on H100"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "B200", "yes", "class"),
        ({"quant_method": "mxfp4"}, "H100", "yes", "class LlamaForCausalLM"),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "T4", "unknown", "like T4"),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "MI300X", "no", "NVIDIA"),
    ],
)
def test_tensorrt_llm_takes_packings_by_generation(
    quantization: dict[str, Any], card: str, answer: str, reason: str
) -> None:
    config = {**packed(**quantization), "num_hidden_layers": 4}
    one = asked(config, "tensorrt-llm", on=card)
    assert one.answer == answer
    assert reason in "; ".join(one.reasons)


def test_tensorrt_llm_leaves_a_tenth_of_what_is_free() -> None:
    one = asked(LLAMA, "tensorrt-llm", on="RTX 4090")
    words = shlex.split(one.launch[0].command)
    tokens = int(words[words.index("--max_seq_len") + 1])
    sized = hfinspect.memory(LLAMA, on="RTX 4090", context=tokens)
    assert sized.device is not None and sized.main is not None
    held = sized.weights.nbytes
    card = sized.device[1]
    assert held is not None and sized.main.workspace is not None
    free = card - held - sized.main.workspace.nbytes
    assert sized.main.cache.nbytes <= free * 0.9
    if tokens != sized.own_context:
        assert sized.main.cache.nbytes > free * 0.89
    requests = int(words[words.index("--max_batch_size") + 1])
    at_least = hfinspect.memory(LLAMA, on="RTX 4090", context=min(8192, tokens), batch=requests)
    assert at_least.fits is True


def test_a_class_of_autodeploy_is_started_by_it() -> None:
    config = {**LLAMA, "architectures": ["SmolLM3ForCausalLM"]}
    one = asked(config, "tensorrt-llm", on="H100")
    assert one.launch[0].command.endswith("--backend _autodeploy")
    assert asked({**LLAMA, "architectures": ["X"]}, "tensorrt-llm").answer == "no"


# ---- MLX-LM


def test_mlx_has_what_the_card_leaves_for_caches() -> None:
    server, generate = asked(LLAMA, "mlx-lm", on="M4 32GB").launch
    words = shlex.split(server.command)
    sized = hfinspect.memory(LLAMA, on="M4 32GB")
    assert sized.device is not None and sized.main is not None
    assert sized.weights.nbytes is not None and sized.max_context is not None
    assert sized.main.workspace is not None
    left = sized.device[1] - sized.weights.nbytes - sized.main.workspace.nbytes
    assert int(words[words.index("--prompt-cache-bytes") + 1]) == left
    assert any(f"{sized.max_context:,} tokens" in reason for reason in server.because)
    assert "--max-kv-size" not in generate.command  # llama makes caches of its own


def test_mlx_limits_the_cache_of_a_type_that_takes_a_limit() -> None:
    config = {**LLAMA, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
    _, generate = asked(config, "mlx-lm", on="M4 32GB").launch
    sized = hfinspect.memory(config, on="M4 32GB")
    limit = f"--max-kv-size {sized.max_context}"
    assert (limit in generate.command) is (sized.max_context != sized.own_context)


# ---- llama.cpp and packings that its converter unpacks


def test_an_unpacked_model_gets_the_widest_recipe_that_fits() -> None:
    config = packed(**FP8)
    for card, recipe in (("RTX 4090", "Q8_0"), ("RTX 3060", "Q8_0"), ("RTX 4060", "Q6_K")):
        lines = asked(config, "llama.cpp", on=card).launch
        sized = hfinspect.memory(config, engine="llama.cpp", on=card, width=recipe, context=8192)
        assert sized.fits is True
        assert lines[-1].command.startswith("llama-server -m model.gguf -ngl 33 ")
        if recipe == "Q8_0":
            assert lines[0].command.endswith("--outfile model.gguf --outtype q8_0")
        else:
            assert lines[0].command.endswith("--outfile model-bf16.gguf --outtype bf16")
            assert lines[1].command == f"llama-quantize model-bf16.gguf model.gguf {recipe}"


def test_a_model_that_no_recipe_makes_small_enough_stays_partly_in_main_memory() -> None:
    lines = asked(packed(**FP8), "llama.cpp", on="4GB").launch
    assert lines[1].command.endswith("Q4_K_M")
    words = shlex.split(lines[2].command)
    assert 0 < int(words[words.index("-ngl") + 1]) < 33


def test_repacked_weights_are_converted_as_they_are() -> None:
    config = packed(quant_method="modelopt", quant_algo="NVFP4", group_size=16)
    answer = asked(config, "llama.cpp", on="RTX 4090")
    assert "its converter repacks NVFP4 as it is" in answer.notes
    assert "--outtype" not in answer.launch[0].command
    assert "bytes" in answer.launch_unknown  # this config does not say what is packed
    answers = hfinspect.runs(config, engine="llama.cpp", on="RTX 4090")
    assert "no further line for llama.cpp" in " ".join(answers.to_markdown().split())


def test_a_model_without_a_class_gets_no_line() -> None:
    config = {name: value for name, value in LLAMA.items() if name != "architectures"}
    answers = hfinspect.runs({**config, "model_type": "never_heard_of"}, on="H100")
    assert {one.engine for one in answers.answers if one.launch} == set()
    for name in ("vllm", "tensorrt-llm", "llama.cpp"):
        (one,) = (one for one in answers.answers if one.engine == name)
        assert (one.answer, one.launch_unknown) == ("unknown", "the config names no class")


def test_a_context_that_was_named_is_the_one_of_the_line() -> None:
    one = asked(LLAMA, "tensorrt-llm", on="H100", context=5001)
    assert "--max_seq_len 5001 " in one.launch[0].command
