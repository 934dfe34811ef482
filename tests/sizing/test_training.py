"""What training holds: states, adapters, activations and FLOPs against papers and recordings."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import hfinspect
from hfinspect.core.choices import OPTIMIZERS as SHOWN
from hfinspect.core.training_bytes import Training
from hfinspect.errors import UsageError
from hfinspect.sizing.activations import (
    KeptActivations,
    TrainingStep,
    framework_activations,
    korthikanti,
)
from hfinspect.sizing.deciding import training_limits
from hfinspect.sizing.optimizers import OPTIMIZERS, Trained, find_optimizer, state_bytes
from hfinspect.sizing.training import nf4_bytes
from hfinspect.sizing.zero import deepspeed_estimate, divides, share

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..oracle_folder import ORACLE
from ..schemas import conforms
from .recordings import BASE, FLOPS
from .truths import measured_config, measured_wish

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
KEPT = json.loads((ORACLE / "activations.json").read_text())
WINDOWED = [case for case in KEPT if "total" in case]


def _training(target: Any, how: str = "full", **more: Any) -> Training:
    memory = hfinspect.memory(target, context=64, **{"train": how, **more})
    assert memory.training is not None, memory.training_unknown
    return memory.training


def _of_optimizer(name: str, width: int, shape: tuple[int, ...] = (1024, 512)) -> float:
    return state_bytes(find_optimizer(name), [Trained(shape, True)], width) / math.prod(shape)


# ---- states


def test_mixed_precision_is_sixteen_bytes_a_parameter() -> None:
    """ZeRO, section 3.1: 2 + 2 + 4 + 4 + 4."""
    training = _training(LLAMA)
    assert training.trainable == 8_030_261_248
    assert training.states_nbytes == 16 * 8_030_261_248
    assert [line.nbytes // training.trainable for line in training.states] == [2, 2, 4, 8]


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
        0: parameters * 16,
        1: parameters * 4 + parameters * 12 // 8,
        2: parameters * 2 + parameters * 14 // 8,
        3: parameters * 16 // 8,
    }


@pytest.mark.parametrize(
    ("stage", "offload", "gibibytes"),
    [
        (2, "optimizer offloaded", 5.31),
        (2, "no offload", 15.93),
        (3, "no offload", 6.10),
        (3, "optimizer offloaded", 0.79),
        (3, "all offloaded", 0.12),
    ],
)
def test_the_estimator_of_deepspeed(stage: int, offload: str, gibibytes: float) -> None:
    """Its documentation prints these for T5-3B (2,851M, largest layer 32M) on 8 devices."""
    nbytes = deepspeed_estimate(2_851_000_000, 32_000_000, 8, stage)[offload]
    assert nbytes / 2**30 == pytest.approx(gibibytes, rel=0.01)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("adamw", 8),
        ("adam-amsgrad", 12),
        ("sgd", 0),
        ("sgd-momentum", 4),
        ("rmsprop", 4),
        ("adagrad", 4),
        ("adafactor", 0.01171875),
        ("muon", 4),
        ("lion", 4),
        ("adamw8bit", 2 + 8 / 256),
    ],
)
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
    training = _training(LLAMA, "lora", rank=8)
    assert training.targets == ("q_proj", "v_proj")
    assert training.trainable == 32 * 8 * (4096 + 4096 + 4096 + 1024) == 3_407_872
    assert training.frozen == 8_030_261_248
    frozen, *rest = training.states
    assert frozen.nbytes == 2 * 8_030_261_248
    assert sum(line.nbytes for line in rest) == 16 * training.trainable


def test_targets_that_peft_does_not_find_by_itself() -> None:
    mixtral = str(MODELS / "mixtral-8x7b")
    words = "peft 0.21.2 wants the targets of this type to be named"
    assert any(words in note for note in _training(mixtral, "lora").notes)
    assert not any(words in note for note in _training(mixtral, "lora", targets="q_proj").notes)


def test_all_linear_leaves_the_head_out() -> None:
    training = _training(
        str(MODELS / "gpt2"), "lora", rank=64, targets="all-linear", overrides={"dtype": "float32"}
    )
    assert training.trainable == 9_437_184
    assert {group.name for group in training.adapters} == {"c_attn", "c_fc", "c_proj"}


def test_qlora_packs_what_is_linear() -> None:
    training = _training(LLAMA, "qlora")
    tables = 2 * 128_256 * 4096 + 65 * 4096
    packed = 8_030_261_248 - tables
    assert training.states[0].nbytes - 2 * tables == pytest.approx(packed * 4.127 / 8, rel=1e-4)
    assert nf4_bytes(4096 * 4096) == 2**23 + 2**18 + 4 * 2**10 + 4


@pytest.mark.parametrize(
    ("target", "more"),
    [
        (LLAMA, {"targets": "qproj"}),
        (LLAMA, {"targets": "q_proj,"}),
        (LLAMA, {"rank": 0}),
        (str(MODELS / "mixtral-8x7b"), {"targets": "w1"}),
        (str(MODELS / "deepseek-v3"), {}),
        (LLAMA, {"modules_to_save": "head9"}),
        (LLAMA, {"zero": 4}),
        (LLAMA, {"gpus": 0}),
        (LLAMA, {"optimizer": "adam9"}),
        (LLAMA, {"precision": "fp9"}),
        (LLAMA, {"seq": "x"}),
        (LLAMA, {"tensor_parallel": 2}),
        (LLAMA, {"train": "some"}),
        (LLAMA, {"train": "full", "targets": "q_proj"}),
        (LLAMA, {"train": "full", "modules_to_save": "lm_head"}),
    ],
)
def test_nonsense_is_refused(target: str, more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        hfinspect.memory(target, **{"train": "lora", **more})


def test_what_is_not_known_is_refused_by_name() -> None:
    mixtral = str(MODELS / "mixtral-8x7b")
    packed = {"quantization_config": {"quant_method": "awq"}}
    assert "experts" in hfinspect.memory(mixtral, train="qlora").training_unknown
    assert "Muon" in hfinspect.memory(mixtral, train="full", optimizer="muon").training_unknown
    memory = hfinspect.memory(LLAMA, train="lora", overrides=packed)
    assert "packed" in memory.training_unknown
    lora = _training(LLAMA, "lora", targets="q_proj,lm_head")
    assert lora.total is None
    assert lora.activations is None
    assert "covers the activations with an adapter of lm_head" in lora.activations_unknown
    experts = _training(mixtral, "lora", targets="w1,w3,q_proj").activations_unknown
    assert "adapters of experts" in experts
    deepseek = _training(str(MODELS / "deepseek-v3")).activations_unknown
    assert "no recorded rule" in deepseek


# ---- activations


@pytest.mark.parametrize("kind", sorted({case["rule"].split()[0] for case in KEPT}))
def test_kept_activations_equal_the_recordings(kind: str) -> None:
    """tests/oracle/record_activations.py saw these: random sizes, in three precisions, with all
    weights trained and with adapters at random layers."""
    wrong = []
    for case in KEPT:
        name, attention, precision, *_ = case["rule"].split()
        if name == kind and "total" not in case:
            activations = _kept(case, attention, precision)
            sizes = (
                activations
                if isinstance(activations, str)
                else {
                    "layer": activations.layer,
                    "outside": activations.outside,
                    **({"encoder": activations.encoder.layer} if activations.encoder else {}),
                }
            )
            if sizes != {
                part: case[part] for part in ("layer", "outside", "encoder") if part in case
            }:
                wrong.append((case["rule"], case["targets"], sizes))
    assert wrong == []


@pytest.mark.parametrize("kind", sorted({case["rule"].split()[0] for case in WINDOWED}))
def test_layers_with_windows_keep_masks(kind: str) -> None:
    """All bytes of four layers with a window shorter than the sequence, or of which some have one:
    keys and values are repeated for all heads, and each has a mask of its own."""
    wrong = []
    for case in WINDOWED:
        name, attention, precision, *_ = case["rule"].split()
        if name == kind:
            activations = _kept(case, attention, precision)
            total = (
                activations
                if isinstance(activations, str)
                else activations.nbytes(checkpointing=False)
            )
            if total != case["total"]:
                wrong.append((case["rule"], case["targets"], total, case["total"]))
    assert wrong == []


def test_a_window_as_long_as_the_sequence_has_a_mask() -> None:
    """Mistral 7B at 8,192 tokens and a window of 4,096: b·s·(Q - K)·4 + b·s²·2 a layer more."""
    at = {
        window: _training(
            str(MODELS / "llama-3-8b"),
            seq=8192,
            overrides={
                "model_type": "mistral",
                "architectures": ["MistralForCausalLM"],
                "sliding_window": window,
            },
        ).activations
        for window in (None, 8193, 8192, 4096)
    }
    bytes_of = {window: line.nbytes for window, line in at.items() if line is not None}
    assert bytes_of[None] == bytes_of[8193]
    assert bytes_of[4096] == bytes_of[8192]
    more = 8192 * (4096 - 1024) * 4 + 8192**2 * 2
    assert bytes_of[4096] - bytes_of[None] == 32 * more == 7_516_192_768


def _kept(case: dict[str, Any], attention: str, precision: str) -> KeptActivations | str:
    names = {"model_type": case["model_type"], "architectures": [case["architecture"]]}
    config = {**case["config"], **names}
    step = TrainingStep(
        case["tokens"],
        case["batch"],
        attention,
        precision,
        case["rank"],
        frozenset(case["targets"]),
        case.get("encoder_tokens"),
    )
    return framework_activations(hfinspect.predict(config), config, step)


def test_many_types_are_recorded() -> None:
    rules = {tuple(case["rule"].split()[:3]) for case in KEPT}
    wanted = {("t5", "sdpa", "f32"), ("bart", "eager", "amp"), ("mixtral", "sdpa", "bf16")}
    assert wanted <= rules
    assert len({name for name, *_ in rules}) >= 34


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
    (python -m tests.oracle record activations --packed)."""
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


def test_masked_language_models_have_a_total() -> None:
    """BERT's head has a transform before the words, which are the logits."""
    training = _training(str(MODELS / "bert-base-uncased"), seq=512, batch=2)
    assert training.logits is not None
    assert training.logits.nbytes == 512 * 2 * 30_522 * 14
    assert training.total is not None


def test_dropout_and_other_activations_have_no_rule() -> None:
    for more in ({"attention_dropout": 0.1}, {"hidden_act": "relu"}):
        config = {**BASE, **more, "model_type": "llama", "num_hidden_layers": 2}
        step = TrainingStep(8, 1, "eager")
        assert isinstance(framework_activations(hfinspect.predict(config), config, step), str)
    partly = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.0}
    activations = framework_activations(
        hfinspect.predict(partly), partly, TrainingStep(8, 1, "eager")
    )
    assert activations == "its rates of dropout are partly zero, which no recorded rule counts"
    assert not isinstance(
        framework_activations(hfinspect.predict(partly), partly, TrainingStep(8, 1)), str
    )


def test_custom_targets_by_hand() -> None:
    """Adapters at gate alone: a layer keeps what frozen ones keep, the gate's input in float32 and
    4 · r; the first layer nothing before its gate, and of up nothing."""
    h = 4096
    inner = 14336
    s = 512
    r = 16
    training_line = _training(LLAMA, "lora", targets="gate_proj", seq=s, rank=r).activations
    assert training_line is not None
    frozen = 8 * h + 8 + 4 * (h + 1024) + 4 * 32 + 6 * inner
    before = 4 * h + 4 + 4 * (h + 1024) + 4 * 32  # two norms and attention, less the last norm
    extra = 4 * 128 * s  # cosines and sines
    kept = s * (32 * (frozen + 4 * h + 4 * r) - before) + extra
    assert training_line.nbytes == kept - s * 2 * inner


def test_float32_and_autocast() -> None:
    """fp32 keeps all in four bytes; under autocast a layer's matrices are there in 16 bits too."""
    fp32, amp = (_training(LLAMA, precision=name, seq=512) for name in ("fp32", "amp"))
    assert fp32.activations is not None
    assert amp.activations is not None
    matrices = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)
    a_token = 26 * 4096 + 8 + 6 * 4096 + 4 * 1024 + 4 * 32 + 8 * 14336
    outside = 512 * (10 * 4096 + 12 + 8 * 128) + 2 * 128_256 * 4096
    assert amp.activations.nbytes == 32 * (512 * a_token - 512 * 2 * 4096 + matrices) + outside
    assert fp32.states_nbytes == amp.states_nbytes == 16 * 8_030_261_248


def test_a_foreach_step_may_be_the_most() -> None:
    """With few activations torch's AdamW needs more: the roots of the second moments."""
    training = _training(LLAMA, precision="bf16", seq=16)
    assert training.step is not None
    assert training.step.nbytes == 2 * 8_030_261_248
    assert training.total == training.states_nbytes + training.step.nbytes
    assert _training(LLAMA, optimizer="sgd").step is None


@pytest.mark.parametrize(
    ("model", "setting", "gigabytes"),
    [
        ("Llama-3.2-1B", "full pure", 17.51),
        ("Llama-3.2-1B", "full pure ckpt", 13.76),
        ("Llama-3.2-1B", "full amp", 30.55),
        ("Llama-3.2-1B", "full amp ckpt", 25.22),
        ("Llama-3.2-1B", "eager full pure", 30.26),
        ("Llama-3.2-3B", "full pure ckpt", 32.15),
        ("Qwen2.5-1.5B", "full pure", 23.40),
        ("Llama-3.2-1B", "lora=16 pure", 10.13),
        ("Llama-3.2-1B", "lora=16 amp", 14.52),
        ("Llama-3.2-1B", "lora=16 amp ckpt", 9.51),
        ("Llama-3.2-3B", "lora=16 pure", 18.98),
        ("Llama-3.1-8B", "lora=16 pure ckpt", 20.55),
        ("Qwen2.5-1.5B", "lora=16 pure", 13.78),
    ],
)
def test_totals_are_near_what_a_gpu_was_seen_to_take(
    model: str, setting: str, gigabytes: float
) -> None:
    """vramcalc 0.1.2, README: RTX A6000, transformers 4.57.6, one sequence of 2,048 tokens."""
    training = _training(measured_config(model), **measured_wish(setting))
    assert training.total == pytest.approx(gigabytes * 10**9, rel=0.05)
    layers = hfinspect.inspect(measured_config(model)).facts.layers
    least, most = training_limits(training, layers)
    assert most is not None
    assert least <= gigabytes * 10**9 <= most


def test_korthikanti() -> None:
    """Equation 1 for GPT-3: 34 s b h + 5 a s² b."""
    assert korthikanti(2048, 1, 12288, 96) == 2_868_903_936
    assert korthikanti(2048, 1, 12288, 96, selective=True) == 855_638_016


# ---- FLOPs


@pytest.mark.parametrize(
    ("config", "tokens", "count"), FLOPS, ids=[row[0]["model_type"] for row in FLOPS]
)
def test_flops_equal_the_recording(config: dict[str, Any], tokens: int, count: int) -> None:
    memory = hfinspect.memory(config, context=tokens)
    assert memory.flops is not None, memory.flops_unknown
    assert memory.flops.forward == count


def test_flops_of_gpt2_are_those_of_nanogpt() -> None:
    flops = hfinspect.memory(str(MODELS / "gpt2"), context=1024).flops
    assert flops is not None
    assert (flops.forward, flops.step) == (291_648_307_200, 874_944_921_600)
    assert flops.forward_causal == flops.forward - flops.attention_full // 2
    assert flops.six_nd == 6 * 124_439_808 * 1024
    assert flops.six_nd_error == pytest.approx(-0.126, abs=0.001)


def test_flops_of_other_mixers_are_refused() -> None:
    mamba = {
        "model_type": "mamba2",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_heads": 8,
        "head_dim": 16,
    }
    memory = hfinspect.memory(mamba, context=64)
    assert memory.flops is None
    assert memory.flops_unknown


# ---- the program


def test_the_program() -> None:
    done = program("memory", LLAMA, "--train", "lora", "--rank", "8", "--on", "8GB", "-f", "json")
    answer = json.loads(done.out)
    conforms(answer, "memory")
    assert done.code == 1
    assert answer["training"]["trainable"] == 3_407_872
    assert answer["fits"] is False
    arguments = ("--train", "full", "--gpus", "8", "--zero", "3", "--details")
    shown = program("memory", LLAMA, *arguments, env={"COLUMNS": "250"}).out
    assert "8,030,261,248 × 2) / 8" in shown
    assert "Korthikanti" in shown
    assert program("memory", LLAMA, "--train", "half").code == 2
