"""Recorded facts about memory against what is said here, row by row.

    python -m tests.sizing.truths      # which rows hold, by kind and engine; the others by name

The rows are ../shared/truths/memory.jsonl, where they are at hand; what engines, papers and logs
say is also in fixtures/oracle/engine_facts.json.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from functools import cache
from typing import Any

import hfinspect
from hfinspect.sizing.activations import TrainingStep, framework_activations, korthikanti
from hfinspect.sizing.lora import find_adapters
from hfinspect.sizing.optimizers import Trained, find_optimizer, state_bytes
from hfinspect.sizing.training import PRECISIONS
from hfinspect.sizing.zero import deepspeed_estimate, divides, share

from ..cli.program import ROOT
from ..oracle_folder import ORACLE

FOLDER = ROOT.parent / "shared" / "truths"
MODELS = ROOT / "fixtures" / "models"
FACTS: dict[str, Any] = json.loads((ORACLE / "engine_facts.json").read_text())

#: What the encoders make of the sound there: see test_engine_facts.
_SOUND = {"moonshine": 40, "speecht5": 49, "speech_to_text": 32}
_TORCH = {
    "AdamW": "adamw",
    "Adam-amsgrad": "adam-amsgrad",
    "SGD": "sgd",
    "SGD-momentum": "sgd-momentum",
    "RMSprop": "rmsprop",
    "Adagrad": "adagrad",
    "Adafactor": "adafactor",
    "Muon": "muon",
}
_STAGES = {"baseline": 0, "P_os": 1, "P_os+g": 2, "P_os+g+p": 3}
_OFFLOADED = {
    "no offload": "no offload",
    "offload_optimizer=cpu": "optimizer offloaded",
    "offload both": "all offloaded",
}


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


@cache
def configs() -> dict[str, dict[str, Any]]:
    return {row["id"]: row["config"] for row in lines("memory_configs.jsonl")}


def answer(row: dict[str, Any]) -> float | str | None:
    """The number that is said here, in the row's unit; text where it is refused by name."""
    name = row["id"]
    of = row["settings"]
    if name.startswith("tf-default"):
        return _of_transformers(row)
    if row["kind"] in ("training", "flops", "activation"):
        config = configs().get(of.get("config", ""))
        return _of_formula(name, of) if config is None else _of_model(name, of, config)
    if name.startswith("a6000"):
        return _measured(row)
    return _of_engine(name)


def holds(row: dict[str, Any], value: float | str | None) -> bool:
    if value is None or isinstance(value, str):
        return False
    return abs(value - float(row["value"])) <= float(row["tolerance"]) * float(row["value"])


# ---- caches


def _of_transformers(row: dict[str, Any]) -> float | str:
    of = row["settings"]
    config = {**configs()[of["config"]], "architectures": [of["cls"]]}
    if "is_decoder=True" in of.get("note", ""):
        config["is_decoder"] = True
    try:
        memory = hfinspect.memory(
            config,
            context=of["tokens"],
            engine="transformers",
            cache_dtype="bf16",
            encoder_tokens=_SOUND.get(row["model"], of.get("encoder_tokens")),
        )
    except hfinspect.HfinspectError as error:
        return str(error)
    if memory.cache is None:
        return memory.cache_unknown
    return memory.cache.kv_bytes if row["kind"] == "kv_bytes" else memory.cache.state_bytes


def _of_engine(name: str) -> float | str | None:
    for row in FACTS["rows"]:
        if row["id"] == name:
            number = fact(row)
            return number / 2**30 if number and row["of"] == "weights" else number
    if name == "vllm-rule-mamba":
        return _states_a_request()
    if name == "vllm-rule-encoder-only":
        bert = hfinspect.memory(str(MODELS / "bert-base-uncased"), engine="vllm")
        return 0 if bert.cache is None and "encoder keeps nothing" in bert.cache_unknown else None
    if name == "llamacpp-bge-small-512":
        return _of_older_llama_cpp()
    return None


def fact(row: dict[str, Any]) -> float | None:
    """The number of one row of engine_facts.json."""
    memory = hfinspect.memory(FACTS["configs"][row["config"]], **row["asked"])
    cache_size = memory.cache
    value: float | None = None
    if row["of"] == "weights":
        value = memory.weights.nbytes
    elif cache_size is not None and row["of"] in ("windowed", "full"):
        windowed = row["of"] == "windowed"
        value = sum(g.nbytes for g in cache_size.layers if (g.window is not None) == windowed)
    elif cache_size is not None:
        value = getattr(cache_size, row["of"])
    return None if value is None else value * float(row.get("share", 1))


def _states_a_request() -> float:
    """Whole states that each sequence of a Mamba 2 has in vLLM."""
    config = {
        "model_type": "mamba2",
        "architectures": ["Mamba2ForCausalLM"],
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_heads": 8,
        "head_dim": 16,
        "state_size": 12,
        "n_groups": 2,
        "dtype": "bfloat16",
        "vocab_size": 100,
    }
    cache_size = hfinspect.memory(config, engine="vllm", context=4096, batch=5).cache
    assert cache_size is not None
    one = 3 * (128 * 12 + (128 + 2 * 2 * 12) * 3) * 2
    return cache_size.state_bytes / 5 / one


def _of_older_llama_cpp() -> float | None:
    """The encoder's cache of a version before May 2025, as the note next to the answer says it."""
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
    }
    memory = hfinspect.memory(config, engine="llama.cpp", context=512)
    said = re.search(r"a cache of ([\d,]+) bytes", " ".join(memory.notes))
    return float(said[1].replace(",", "")) if said else None


# ---- training and FLOPs


def _of_model(name: str, of: dict[str, Any], config: dict[str, Any]) -> float | str | None:
    prediction = hfinspect.predict(config)
    if name.startswith("peft"):
        named = ("all-linear",) if of["asked"] == "all-linear" else ()
        return sum(group.parameters for group in find_adapters(prediction, named).groups(of["r"]))
    if name.startswith("tf-act"):
        kept = framework_activations(prediction, config, TrainingStep(of["s"], of["b"], "eager"))
        if isinstance(kept, str):
            return kept
        return kept.layer if kept.outside == of["outside_layers"] else None
    flops = hfinspect.memory(config, context=of["s"], batch=of["b"]).flops
    return None if flops is None else flops.forward


def _of_formula(name: str, of: dict[str, Any]) -> float | None:
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
        parts = zip((2, 2, 12), divides(_STAGES[of["stage"]]), strict=True)
        return sum(share(7_500_000_000 * size, 64, divided=cut) for size, cut in parts) / 10**9
    return _of_nanogpt(name)


def _of_optimizer(name: str, width: int, shape: tuple[int, ...] = (1024, 512)) -> float:
    return state_bytes(find_optimizer(name), [Trained(shape, True)], width) / math.prod(shape)


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


# ---- what a GPU was seen to take

#: Width, layers, heads, key/value heads, width of a head, inner width, words, tied head.
_SIZES = {
    "Llama-3.2-1B": ("llama", 2048, 16, 32, 8, 64, 8192, 128_256, True),
    "Llama-3.2-3B": ("llama", 3072, 28, 24, 8, 128, 8192, 128_256, True),
    "Llama-3.1-8B": ("llama", 4096, 32, 32, 8, 128, 14336, 128_256, False),
    "Qwen2.5-1.5B": ("qwen2", 1536, 28, 12, 2, 128, 8960, 151_936, True),
}


def measured_config(model: str) -> dict[str, Any]:
    kind, width, layers, heads, groups, dim, inner, words, tied = _SIZES[model]
    return {
        "model_type": kind,
        "architectures": [f"{kind.title()}ForCausalLM"],
        "vocab_size": words,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "head_dim": dim,
        "dtype": "bfloat16",
        "tie_word_embeddings": tied,
    }


def measured_wish(setting: str) -> dict[str, Any]:
    """The words of ``vramcalc``'s table: ``bf16 b=1 s=2048 sdpa lora=16 amp ckpt``."""
    words = setting.split()
    arguments: dict[str, Any] = {
        "seq": 2048,
        "attention": "eager" if "eager" in words else "sdpa",
        "checkpointing": "ckpt" in words,
        "train": "full",
        "precision": "amp" if "amp" in words else "bf16",
    }
    if "lora=16" in words:
        arguments |= {"train": "lora", "rank": 16, "targets": "q_proj,k_proj,v_proj,o_proj"}
    return arguments


def _measured(row: dict[str, Any]) -> float | str | None:
    of = row["settings"]
    config = measured_config(row["model"])
    if of["mode"] == "inference":
        memory = hfinspect.memory(config, context=2048, engine="transformers")
        return None if memory.total is None else memory.total / 10**9
    training = hfinspect.memory(config, context=64, **measured_wish(of["setting"])).training
    assert training is not None
    return None if training.total is None else training.total / 10**9


def main() -> int:
    held: Counter[tuple[str, str]] = Counter()
    every: Counter[tuple[str, str]] = Counter()
    shown = []
    for row in lines("memory.jsonl"):
        key = (row["kind"], str(row["settings"].get("engine", "-")).split()[0])
        value = answer(row)
        every[key] += 1
        held[key] += holds(row, value)
        if not holds(row, value):
            shown.append(f"{row['id']}: {value}, recorded {row['value']}")
    shown += [f"{key[0]:12} {key[1]:18} {held[key]:4} of {every[key]:4}" for key in sorted(every)]
    shown.append(f"all {sum(held.values())} of {sum(every.values())}")
    sys.stdout.write("\n".join(shown) + "\n")
    return 0 if held == every else 1


if __name__ == "__main__":
    sys.exit(main())
