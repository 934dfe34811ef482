"""What training holds: states, adapters, activations and FLOPs against papers and recordings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.choices import OPTIMIZERS as SHOWN
from hfinspect.core.training_bytes import Training
from hfinspect.errors import UsageError
from hfinspect.sizing.activations import Step, framework_kept, korthikanti
from hfinspect.sizing.lora import adapted
from hfinspect.sizing.optimizers import OPTIMIZERS, Trained, find_optimizer, state_bytes
from hfinspect.sizing.training import PRECISIONS, nf4_bytes
from hfinspect.sizing.zero import deepspeed_estimate, divides, share

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..oracle_folder import ORACLE
from ..schemas import conforms
from .recordings import BASE, FLOPS

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
TRUTHS = ROOT.parent / "shared" / "truths"
KEPT = json.loads((ORACLE / "activations.json").read_text())


def _training(target: Any, how: str = "full", **more: Any) -> Training:
    found = hfinspect.memory(target, context=64, train=how, **more)
    assert found.training is not None, found.training_unknown
    return found.training


def _of_optimizer(name: str, width: int, shape: tuple[int, ...] = (1024, 512)) -> float:
    return state_bytes(find_optimizer(name), [Trained(shape, True)], width) / math.prod(shape)


# ---- states


def test_mixed_precision_is_sixteen_bytes_a_parameter() -> None:
    """ZeRO, section 3.1: 2 + 2 + 4 + 4 + 4."""
    found = _training(LLAMA)
    assert found.trainable == 8_030_261_248
    assert found.states_nbytes == 16 * 8_030_261_248
    assert [line.nbytes // found.trainable for line in found.states] == [2, 2, 4, 8]


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_zero_divides_as_figure_1_says(stage: int, gigabytes: float) -> None:
    """7.5 billion parameters on 64 devices."""
    assert _by_stage(stage) / 10**9 == pytest.approx(gigabytes, rel=0.02)


def _by_stage(stage: int) -> int:
    parts = zip((2, 2, 12), divides(stage), strict=True)
    return sum(share(7_500_000_000 * size, 64, divided=cut) for size, cut in parts)


def test_zero_of_a_model() -> None:
    parameters = 8_030_261_248
    whole = {stage: _training(LLAMA, gpus=8, zero=stage).states_nbytes for stage in range(4)}
    assert whole == {
        0: parameters * 16, 1: parameters * 4 + parameters * 12 // 8,
        2: parameters * 2 + parameters * 14 // 8, 3: parameters * 16 // 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stage", "offload", "gibibytes"),
    [(2, "optimizer offloaded", 5.31), (2, "no offload", 15.93), (3, "no offload", 6.10),
     (3, "optimizer offloaded", 0.79), (3, "all offloaded", 0.12)],
)  # fmt: skip
def test_the_estimator_of_deepspeed(stage: int, offload: str, gibibytes: float) -> None:
    """Its documentation prints these for T5-3B (2,851M, largest layer 32M) on 8 devices."""
    found = deepspeed_estimate(2_851_000_000, 32_000_000, 8, stage)[offload]
    assert found / 2**30 == pytest.approx(gibibytes, rel=0.01)


@pytest.mark.parametrize(
    ("name", "size"),
    [("adamw", 8), ("adam-amsgrad", 12), ("sgd", 0), ("sgd-momentum", 4), ("rmsprop", 4),
     ("adagrad", 4), ("adafactor", 0.01171875), ("muon", 4), ("lion", 4),
     ("adamw8bit", 2 + 8 / 256)],
)  # fmt: skip
def test_optimizer_state_a_parameter(name: str, size: float) -> None:
    assert _of_optimizer(name, 4) == size


def test_small_and_flat_tensors() -> None:
    """8-bit states below 4,096 elements are float32; a vector has no rows and columns; Muon leaves
    tables to AdamW."""
    assert _of_optimizer("adamw8bit", 4, (4095,)) == 8
    assert _of_optimizer("adafactor", 4, (100,)) == 4
    assert state_bytes(find_optimizer("muon"), [Trained((10, 10), False)], 4) == 800


def test_the_optimizers_of_help_are_those_with_rules() -> None:
    assert list(OPTIMIZERS) == list(SHOWN)


# ---- adapters


def test_default_targets_are_those_of_peft() -> None:
    found = _training(LLAMA, "lora", rank=8)
    assert found.targets == ("q_proj", "v_proj")
    assert found.trainable == 32 * 8 * (4096 + 4096 + 4096 + 1024) == 3_407_872
    assert found.frozen == 8_030_261_248
    frozen, *rest = found.states
    assert frozen.nbytes == 2 * 8_030_261_248
    assert sum(line.nbytes for line in rest) == 16 * found.trainable


def test_all_linear_leaves_the_head_out() -> None:
    found = _training(str(MODELS / "gpt2"), "lora", rank=64, targets="all-linear",
                      overrides={"dtype": "float32"})  # fmt: skip
    assert found.trainable == 9_437_184
    assert {group.name for group in found.adapters} == {"c_attn", "c_fc", "c_proj"}


def test_qlora_packs_what_is_linear() -> None:
    found = _training(LLAMA, "qlora")
    tables = 2 * 128_256 * 4096 + 65 * 4096
    packed = 8_030_261_248 - tables
    assert found.states[0].nbytes - 2 * tables == pytest.approx(packed * 4.127 / 8, rel=1e-4)
    assert nf4_bytes(4096 * 4096) == 2**23 + 2**18 + 4 * 2**10 + 4


@pytest.mark.parametrize(
    ("target", "more"),
    [
        (LLAMA, {"targets": "qproj"}), (LLAMA, {"targets": "q_proj,"}), (LLAMA, {"rank": 0}),
        (str(MODELS / "mixtral-8x7b"), {"targets": "w1"}),
        (str(MODELS / "deepseek-v3"), {}), (LLAMA, {"zero": 4}), (LLAMA, {"gpus": 0}),
        (LLAMA, {"optimizer": "adam9"}), (LLAMA, {"precision": "fp9"}), (LLAMA, {"seq": "x"}),
        (LLAMA, {"tensor_parallel": 2}), (LLAMA, {"train": "some"}),
        (LLAMA, {"train": "full", "targets": "q_proj"}),
    ],
)  # fmt: skip
def test_nonsense_is_refused(target: str, more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        hfinspect.memory(target, **{"train": "lora", **more})


def test_what_is_not_known_is_refused_by_name() -> None:
    mixtral, packed = str(MODELS / "mixtral-8x7b"), {"quantization_config": {"quant_method": "awq"}}
    assert "experts" in hfinspect.memory(mixtral, train="qlora").training_unknown
    assert "Muon" in hfinspect.memory(mixtral, train="full", optimizer="muon").training_unknown
    found = hfinspect.memory(LLAMA, train="lora", overrides=packed)
    assert "packed" in found.training_unknown
    lora = _training(LLAMA, "lora", targets="q_proj")
    assert lora.total is None
    assert lora.activations is None
    assert "default targets" in lora.activations_unknown
    assert "float32" in _training(LLAMA, precision="fp32").activations_unknown
    deepseek = _training(str(MODELS / "deepseek-v3")).activations_unknown
    assert "no recorded rule" in deepseek


# ---- activations


@pytest.mark.parametrize(
    "case", KEPT, ids=[f"{case['rule']}-{i % 2}" for i, case in enumerate(KEPT)]
)
def test_kept_activations_equal_the_recording(case: dict[str, Any]) -> None:
    """tests/oracle/record_activations.py saw these."""
    kind, attention, way, *_ = case["rule"].split()
    config = {
        **case["config"], "model_type": kind, "architectures": [case["architecture"]],
    }  # fmt: skip
    step = Step(case["tokens"], case["batch"], attention, way, case["rank"])
    found = framework_kept(hfinspect.predict(config), config, step)
    assert not isinstance(found, str), found
    assert (found.layer, found.outside, found.layers) == (case["layer"], case["outside"], 2)


def test_attention_by_a_flash_kernel_keeps_no_square() -> None:
    """A Llama layer: per token 16 h + 8 + 4 (queries and keys) + 8 I + 4 a; eager 8 queries and
    6 a s instead."""
    square = 512 * 512 * 6 * 32
    by_sdpa, by_eager = (
        _training(LLAMA, seq=512, attention=kernel) for kernel in ("sdpa", "eager")
    )
    assert by_sdpa.activations is not None
    assert by_eager.activations is not None
    other = 512 * (8 * 4096 - 4 * (4096 + 1024) - 4 * 32)
    assert by_eager.activations.nbytes - by_sdpa.activations.nbytes == 32 * (square + other)


def test_frozen_weights_keep_fewer_activations() -> None:
    """Adapters of rank 8 at queries and values keep their inputs in float32 and 2 · 8 numbers; the
    frozen gate, up, key and output layers keep none of theirs."""
    full = _training(LLAMA, seq=512).activations
    lora = _training(LLAMA, "lora", rank=8, seq=512).activations
    assert full is not None
    assert lora is not None
    outside = 512 * (8 * 4096 + 12)
    assert full.nbytes - lora.nbytes == 32 * 512 * (2 * 14336 - 8 * 8) + outside


@pytest.mark.parametrize("targets", [None, "all-linear"])
def test_layers_in_nf4_keep_what_frozen_layers_keep(targets: str | None) -> None:
    """bitsandbytes 0.50.2 on the CPU kept as many bytes as LoRA in each of 16 drawn models
    (python -m tests.oracle.record_activations --packed)."""
    lora, packed = (_training(LLAMA, how, seq=512, targets=targets) for how in ("lora", "qlora"))
    assert packed.activations is not None
    assert packed.activations == lora.activations


def test_checkpointing_keeps_inputs_and_one_layer() -> None:
    whole, again = (_training(LLAMA, seq=512, checkpointing=on) for on in (False, True))
    assert whole.activations is not None
    assert again.activations is not None
    layer = 512 * (16 * 4096 + 8 + 4 * (4096 + 1024) + 8 * 14336 + 4 * 32)
    outside = 512 * (8 * 4096 + 12 + 4 * 128)
    assert whole.activations.nbytes == 32 * layer + outside
    assert again.activations.nbytes == 32 * 2 * 512 * 4096 + layer + outside


def test_dropout_and_other_activations_have_no_rule() -> None:
    for more in ({"attention_dropout": 0.1}, {"hidden_act": "relu"}):
        config = {**BASE, **more, "model_type": "llama", "num_hidden_layers": 2}
        step = Step(8, 1, "eager")
        assert isinstance(framework_kept(hfinspect.predict(config), config, step), str)
    partly = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.0}
    found = framework_kept(hfinspect.predict(partly), partly, Step(8, 1, "eager"))
    assert found == "its rates of dropout are partly zero, which no recorded rule counts"
    assert not isinstance(framework_kept(hfinspect.predict(partly), partly, Step(8, 1)), str)


def test_korthikanti() -> None:
    """Equation 1 for GPT-3: 34 s b h + 5 a s² b."""
    assert korthikanti(2048, 1, 12288, 96) == 2_868_903_936
    assert korthikanti(2048, 1, 12288, 96, selective=True) == 855_638_016


# ---- FLOPs


@pytest.mark.parametrize(
    ("config", "tokens", "count"), FLOPS, ids=[row[0]["model_type"] for row in FLOPS]
)
def test_flops_equal_the_recording(config: dict[str, Any], tokens: int, count: int) -> None:
    found = hfinspect.memory(config, context=tokens)
    assert found.flops is not None, found.flops_unknown
    assert found.flops.forward == count


def test_flops_of_gpt2_are_those_of_nanogpt() -> None:
    flops = hfinspect.memory(str(MODELS / "gpt2"), context=1024).flops
    assert flops is not None
    assert (flops.forward, flops.step) == (291_648_307_200, 874_944_921_600)
    assert flops.forward_causal == flops.forward - flops.attention_full // 2
    assert flops.six_nd == 6 * 124_439_808 * 1024
    assert flops.six_nd_error == pytest.approx(-0.126, abs=0.001)


def test_flops_of_other_mixers_are_refused() -> None:
    mamba = {"model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 2, "num_heads": 8,
             "head_dim": 16}  # fmt: skip
    found = hfinspect.memory(mamba, context=64)
    assert found.flops is None
    assert found.flops_unknown


# ---- the program


def test_the_program() -> None:
    done = program("memory", LLAMA, "--train", "lora", "--rank", "8", "--on", "8GB", "-f", "json")
    answer = json.loads(done.out)
    conforms(answer, "memory")
    assert done.code == 1
    assert answer["training"]["trainable"] == 3_407_872
    assert answer["training"]["fits"] is False
    arguments = ("--train", "full", "--gpus", "8", "--zero", "3")
    shown = program("memory", LLAMA, *arguments, env={"COLUMNS": "250"}).out
    assert "8,030,261,248 × 2) / 8" in shown
    assert "Korthikanti" in shown
    assert program("memory", LLAMA, "--train", "half").code == 2


# ---- the recorded truths, where they are at hand


@pytest.mark.skipif(not TRUTHS.is_dir(), reason="needs the recorded truths")
def test_recorded_truths() -> None:
    configs = {row["id"]: row["config"] for row in _lines(TRUTHS / "memory_configs.jsonl")}
    rows = [
        row for row in _lines(TRUTHS / "memory.jsonl")
        if row["kind"] in ("training", "flops", "activation")
    ]  # fmt: skip
    wrong = []
    for row in rows:
        found = _answer(row, configs)
        if found is None or abs(found - row["value"]) > row["tolerance"] * row["value"]:
            wrong.append((row["id"], found, row["value"]))
    assert wrong == []
    assert len(rows) > 60


_TORCH = {
    "AdamW": "adamw", "Adam-amsgrad": "adam-amsgrad", "SGD": "sgd", "SGD-momentum": "sgd-momentum",
    "RMSprop": "rmsprop", "Adagrad": "adagrad", "Adafactor": "adafactor", "Muon": "muon",
}  # fmt: skip
_STAGES = {"baseline": 0, "P_os": 1, "P_os+g": 2, "P_os+g+p": 3}
_OFFLOADED = {
    "no offload": "no offload", "offload_optimizer=cpu": "optimizer offloaded",
    "offload both": "all offloaded",
}  # fmt: skip


def _answer(row: dict[str, Any], configs: dict[str, Any]) -> float | None:
    name, of = row["id"], row["settings"]
    config = configs.get(of.get("config", ""))
    if config is not None:
        return _of_model(name, of, config)
    if name.startswith("torch.optim-"):
        optimizer, _, dtype = name.removeprefix("torch.optim-").rpartition("-")
        return _of_optimizer(_TORCH[optimizer], {"float32": 4, "bfloat16": 2}[dtype])
    if name.startswith("korthikanti"):
        selective = name.startswith("korthikanti-sel")
        return korthikanti(of["s"], of["b"], of["h"], of["a"], selective=selective)
    if name.startswith("deepspeed"):
        stage, _, offload = of["option"].partition(" ")
        sizes = deepspeed_estimate(2_851_000_000, 32_000_000, of["gpus"], int(stage[-1]))
        return sizes[_OFFLOADED[offload]] / 2**30
    if name == "zero-16":
        weight, gradient, master, state = PRECISIONS["mixed"]
        return weight + gradient + master + 2 * state
    if name.startswith("zero-"):
        return _by_stage(_STAGES[of["stage"]]) / 10**9
    return _of_nanogpt(name)


def _of_model(name: str, of: dict[str, Any], config: dict[str, Any]) -> float | None:
    prediction = hfinspect.predict(config)
    if name.startswith("peft"):
        named = ("all-linear",) if of["asked"] == "all-linear" else ()
        return sum(group.parameters for group in adapted(prediction, of["r"], named)[1])
    if name.startswith("tf-act"):
        kept = framework_kept(prediction, config, Step(of["s"], of["b"], "eager"))
        return None if isinstance(kept, str) or kept.outside != of["outside_layers"] else kept.layer
    flops = hfinspect.memory(config, context=of["s"], batch=of["b"]).flops
    return None if flops is None else flops.forward


def _of_nanogpt(name: str) -> float | None:
    """GPT-2 without positions (PaLM's N) and without biases."""
    flops = hfinspect.memory(str(MODELS / "gpt2"), context=1024).flops
    assert flops is not None
    known = {
        "nanogpt-flops-forward": flops.forward,
        "nanogpt-flops-backward": flops.step - flops.forward,
        "nanogpt-flops-total": flops.step,
        "nanogpt-palm": 6 * 124_337_664 * 1024 + 3 * flops.attention_full,
        "nanogpt-ckpt": 124_337_664 * (4 + _of_optimizer("adamw", 4)),
        "rule-6nd": flops.six_nd / 124_439_808 / 1024,
    }
    return known.get(name)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
