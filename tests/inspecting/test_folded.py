"""Tensors that are alike are looked at once, and the answer is the one of looking at each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.analysis.count import per_layer
from hfinspect.analysis.folded_table import FoldedTensors
from hfinspect.analysis.folding import MANY_KINDS, fold_tensors
from hfinspect.core.stored_tensors import StoredTensors
from hfinspect.reports.overview import lay_out
from hfinspect.trees.prediction import predict

from ..analysis.twins import CONFIG, TWINS
from ..builders import Tensors, write_config, write_sharded
from ..examples import examples
from ..test_one_run import calls
from .folded import both, check_equal, in_parts, shards_of

#: Two kinds of layers, experts in one of them, and a layer for further tokens.
MIXED: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "moe_intermediate_size": 16,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "n_routed_experts": 6,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 2,
    "num_nextn_predict_layers": 1,
    "q_lora_rank": 8,
    "kv_lora_rank": 8,
    "n_group": 2,
    "topk_group": 1,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 4,
    "v_head_dim": 8,
}
TIED: dict[str, Any] = {
    "model_type": "t5",
    "architectures": ["T5ForConditionalGeneration"],
    "vocab_size": 40,
    "d_model": 16,
    "d_ff": 24,
    "d_kv": 4,
    "num_layers": 3,
    "num_heads": 4,
}
CONFIGS = {"mixed": MIXED, "tied": TIED, "llama": {**CONFIG, "num_hidden_layers": 3}}


def stored(config: dict[str, Any]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """All that the tree has, also what no save writes."""
    return {spec.name: (spec.dtype or "BF16", spec.shape) for spec in predict(config).specs}


STORED = {name: stored(config) for name, config in CONFIGS.items()}


@pytest.mark.parametrize("name", TWINS)
def test_each_way_of_packing(name: str) -> None:
    twin = TWINS[name]()
    config = {**CONFIG, **twin.config}
    check_equal(both(in_parts(twin.tensors, 2), config, twin.companions, twin.metadata))
    check_equal(both([twin.tensors], None, twin.companions, twin.metadata))


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_alike_is_one(name: str) -> None:
    models = both(in_parts(STORED[name], 3), CONFIGS[name])
    assert models.is_folded
    check_equal(models)
    names = {tensor.name for tensor in models.plain.tensors}
    assert len(list(models.folded.tensors.counted())) < len(names)  # type: ignore[attr-defined]


#: What may be wrong with a checkpoint, of one of its tensors or all.
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(
            ["drop", "shape", "dtype", "rename", "beyond", "zero", "gamma", "prefix", "sort"]
        ),
        st.integers(0, 10_000),
    ),
    max_size=5,
)


def changed(tensors: Tensors, changes: list[tuple[str, int]]) -> Tensors:
    kinds = dict(tensors)
    for what, number in changes:
        if not kinds:
            break
        name = list(kinds)[number % len(kinds)]
        dtype, shape = kinds[name]
        if what in ("drop", "rename", "gamma"):
            del kinds[name]
        if what == "shape":
            kinds[name] = dtype, (*shape, 2)
        elif what == "dtype":
            kinds[name] = "F16", shape
        elif what == "rename":
            kinds[f"{name}_{number % 3}"] = dtype, shape
        elif what == "gamma":
            kinds[name.replace("weight", "gamma")] = dtype, shape
        elif what == "beyond":  # another layer, or another expert
            kinds[name.replace("1", str(number))] = dtype, shape
        elif what == "zero":
            kinds[name.replace("1", "01")] = dtype, shape
        elif what == "prefix":
            kinds = {f"model.{one}": kind for one, kind in kinds.items()}
        elif what == "sort":
            kinds = dict(sorted(kinds.items()))
    return kinds


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(CONFIGS)),
    st.sampled_from([*sorted(CONFIGS), None]),
    CHANGES,
    st.integers(1, 3),
)
def test_any_checkpoint_next_to_any_config(
    held: str, said: str | None, changes: list[tuple[str, int]], parts: int
) -> None:
    config = None if said is None else CONFIGS[said]
    check_equal(both(in_parts(changed(STORED[held], changes), parts), config))


def test_a_name_in_two_shards_is_looked_at_by_itself() -> None:
    tensors = STORED["llama"]
    models = both([tensors, dict(list(tensors.items())[3:5])], CONFIGS["llama"])
    assert not models.is_folded
    check_equal(models)


def test_experts_that_serve_no_token() -> None:
    """Of a model that the catalog does not know, numbers beyond those of the config."""
    tensors = {
        f"layers.{layer}.experts.{expert}.up.weight": ("F32", (4, 4))
        for layer in range(2)
        for expert in range(6)
    }
    models = both([tensors], {"num_experts_per_tok": 1, "num_experts": 4})
    assert models.is_folded
    check_equal(models)
    assert models.folded.active_parameters == 2 * (4 * 16 // 4 + 2 * 16)


def test_a_head_of_the_vocabulary_s_shape_among_equal_ones_is_none() -> None:
    """Two matrices that differ in a number are two, though one of them is looked at."""
    tensors = {
        "wte.weight": ("F32", (40, 4)),
        "heads.0.out.weight": ("F32", (40, 4)),
        "heads.1.out.weight": ("F32", (40, 4)),
    }
    config = {"vocab_size": 40, "tie_word_embeddings": True}
    for held in (tensors, {**tensors, "lm_head.weight": ("F32", (40, 4))}):
        check_equal(both([held], config))


def test_an_inspection_makes_no_tensors(tmp_path: Path) -> None:
    """Not from the first byte to the screen; who looks at one gets them all."""
    config = {**MIXED, "n_routed_experts": 64}
    tensors = {spec.name: ("BF16", spec.shape) for spec in predict(config).tensors}
    write_sharded(tmp_path, in_parts(tensors, 3))
    write_config(tmp_path, config)
    results: list[hfinspect.Inspection] = []

    def work() -> None:
        results.append(hfinspect.inspect(tmp_path))
        lay_out(results[-1], layers=per_layer(results[-1].tensors))

    assert calls(StoredTensors.make_items, work) == 0
    assert calls(FoldedTensors.make_items, work) == 0
    inspection = results[-1]
    assert inspection.expectation is not None
    assert inspection.expectation.agrees
    assert len(inspection.tensors) == len(tensors) > 500
    assert len(list(inspection.tensors.counted())) < 60  # type: ignore[attr-defined]
    assert inspection.parameters == sum(tensor.parameters or 0 for tensor in inspection.tensors)


def test_a_tensor_takes_some_twenty_bytes() -> None:
    """A million of them are then twenty million, where the process may have 400."""
    names = [f"layers.{n}.experts.{e}.up.weight" for n in range(10) for e in range(500)]
    [shard] = shards_of([dict.fromkeys(names, ("F32", (4,)))])
    tensors = shard.tensors
    assert isinstance(tensors, StoredTensors)
    held = sum(map(sys.getsizeof, (tensors.kind_numbers, *tensors.keys)))
    assert tensors.in_order
    assert held < 24 * len(names)


def test_more_layers_than_a_model_has_are_not_sorted_out() -> None:
    """Names of somebody who wants it to take long: each a layer of its own, with numbers in it."""
    names = [f"layers.{n}.experts.{n % 7}.w" for n in range(MANY_KINDS + 1)]
    shards = shards_of([dict.fromkeys(names, ("F32", (1,)))])
    assert fold_tensors(shards, None) is None
    less = shards_of([dict.fromkeys(names[:100], ("F32", (1,)))])
    assert fold_tensors(less, None) is not None
