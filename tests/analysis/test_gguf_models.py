"""GGUF models as inspections: components, the left-out head, experts, variants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.analysis.labels.by_name import labels_of
from hfinspect.core.components import Component, Role
from hfinspect.core.results import Inspection
from hfinspect.formats.gguf.ggml_types import GGML_TYPES

from ..builders import write_config
from ..cli.program import hfinspect as run
from ..formats.gguf_files import GgufWriter
from ..schemas import conforms
from . import twins

#: transformers' names in a Llama -> llama.cpp's (gguf.tensor_mapping).
NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
IN_A_BLOCK = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
Q4_0 = 2
Q6_K = 14
Q4_K = 12
F32 = 0
MXFP4 = 39


def named(name: str) -> str:
    if name in NAMES:
        return NAMES[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{IN_A_BLOCK[rest.removesuffix('.weight')]}.weight"


def gguf(
    shapes: dict[str, tuple[int, ...]],
    kind: int,
    arch: str = "llama",
    numbers: Mapping[str, int] | None = None,
) -> bytes:
    """A file of these tensors, matrices of one type and vectors of float32."""
    writer = GgufWriter().text("general.architecture", arch)
    for key, value in (numbers or {}).items():
        writer.u32(f"{arch}.{key}" if key != "file_type" else "general.file_type", value)
    offset = 0
    for name, shape in shapes.items():
        own = kind if len(shape) > 1 else F32
        writer.tensor(name, shape, own, offset)
        size = GGML_TYPES[own].stored_bytes(shape)
        offset += size + -size % 32
    return writer.bytes(offset)


def llama(*, head: bool = True) -> dict[str, tuple[int, ...]]:
    shapes = {named(name): shape for name, (_, shape) in twins.original().items()}
    return shapes if head else {k: v for k, v in shapes.items() if k != "output.weight"}


def write(root: Path, data: bytes, name: str = "model.gguf") -> Inspection:
    root.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(data)
    inspection = hfinspect.inspect(root)
    conforms(inspection.to_dict(tensors=True))
    return inspection


@pytest.mark.parametrize("kind", [Q4_0, Q4_K, Q6_K, MXFP4])
def test_a_twin_has_the_parameters_of_the_original(kind: int, tmp_path: Path) -> None:
    inspection = write(tmp_path, gguf(llama(), kind))
    whole = hfinspect.inspect(twins.CONFIG)
    assert inspection.parameters == whole.parameters
    assert {key: t.parameters for key, t in inspection.components.items()} == {
        key: t.parameters for key, t in whole.components.items()
    }
    assert inspection.model_type == "llama"
    assert inspection.quantization is not None
    block = GGML_TYPES[kind]
    weights = inspection.quantization.packed_parameters
    assert weights == sum(a * b for a, b in [s for s in llama().values() if len(s) == 2])
    assert inspection.quantization.effective_bits == (
        8 * weights * block.nbytes // block.block,
        weights,
    )
    assert inspection.quantization.widths == {block.name: weights}


def test_a_head_that_is_left_out_is_the_embedding(tmp_path: Path) -> None:
    inspection = write(tmp_path, gguf(llama(head=False), Q4_0))
    table = 512 * 256
    assert inspection.tied == {"output.weight": "token_embd.weight"}
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters - table
    assert inspection.parameters_with_head == inspection.parameters + table


@pytest.mark.parametrize(
    ("arch", "numbers"), [("bert", {}), ("qwen3", {"pooling_type": 3}), ("t5encoder", {})]
)
def test_encoders_have_no_head(arch: str, numbers: dict[str, int], tmp_path: Path) -> None:
    inspection = write(tmp_path, gguf(llama(head=False), Q4_0, arch, numbers))
    assert inspection.tied == {}
    assert inspection.parameters_with_head is None


def test_experts_in_one_tensor(tmp_path: Path) -> None:
    """8 experts, 2 of which are used per token; a shared one always does."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (64, 32),
        "output.weight": (64, 32),
        "blk.0.ffn_gate_inp.weight": (8, 32),
        "blk.0.ffn_up_exps.weight": (8, 64, 32),
        "blk.0.ffn_gate_exps.weight": (8, 64, 32),
        "blk.0.ffn_down_exps.weight": (8, 32, 64),
        "blk.0.ffn_up_shexp.weight": (64, 32),
    }
    inspection = write(
        tmp_path, gguf(shapes, Q4_0, "qwen2moe", {"expert_count": 8, "expert_used_count": 2})
    )
    experts = 3 * 8 * 64 * 32
    assert inspection.parameters == experts + 3 * 64 * 32 + 8 * 32
    assert inspection.active_parameters == inspection.parameters - experts + experts // 4
    assert inspection.components["router"].parameters == 8 * 32


def test_buffers_are_apart(tmp_path: Path) -> None:
    shapes = {**llama(), "rope_freqs.weight": (32,), "blk.1.exp_probs_b.bias": (8,)}
    inspection = write(tmp_path, gguf(shapes, Q4_0))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert inspection.buffers == 40


NUMBERS = {
    "block_count": 2,
    "context_length": 64,
    "embedding_length": 256,
    "vocab_size": 512,
    "feed_forward_length": 768,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
}


def differences(inspection: Inspection) -> list[str]:
    return [finding.text for finding in inspection.findings if finding.rule == "config-differs"]


def test_a_config_beside_it_is_compared_tensor_by_tensor(tmp_path: Path) -> None:
    write_config(tmp_path, twins.CONFIG)
    inspection = write(tmp_path, gguf(llama(), Q4_0))
    assert inspection.expectation is not None
    assert inspection.expectation.agrees
    assert inspection.expectation.parameters == inspection.parameters
    assert inspection.catalogued
    assert differences(inspection) == []
    write_config(tmp_path, {**twins.CONFIG, "num_hidden_layers": 3})
    differing = hfinspect.inspect(tmp_path)
    assert differing.parameters == inspection.parameters
    [text] = differences(differing)
    assert "predicted, not held: model.layers.2.self_attn.q_proj.weight" in text
    assert "and 6 more" in text
    write_config(tmp_path, {**twins.CONFIG, "intermediate_size": 999})
    [text] = differences(hfinspect.inspect(tmp_path))
    assert "of another size: blk.0.ffn_gate.weight" in text
    assert ", predicted 999x256)" in text
    assert "predicted 999x256" in run(str(tmp_path)).out.replace("\n", "").replace("  ", "")


@pytest.mark.parametrize(
    "change", [{}, {"num_hidden_layers": 3}, {"intermediate_size": 999}, {"num_hidden_layers": 1}]
)
def test_explain_accounts_for_every_difference(tmp_path: Path, change: dict[str, int]) -> None:
    write_config(tmp_path, {**twins.CONFIG, **change})
    write(tmp_path, gguf(llama(), Q4_0))
    measured = hfinspect.explain(tmp_path).to_dict()["measured"]
    assert measured["unexplained"] == 0
    assert bool(measured["differences"]) is bool(change)


def test_its_own_key_values_promise_too(tmp_path: Path) -> None:
    shapes = llama()
    assert (shapes["token_embd.weight"], shapes["blk.0.ffn_up.weight"]) == ((512, 256), (768, 256))
    whole = write(tmp_path, gguf(shapes, Q4_0, numbers=NUMBERS))
    assert whole.expectation is not None
    assert whole.expectation.agrees
    assert differences(whole) == []
    del shapes["blk.1.ffn_up.weight"]
    [text] = differences(write(tmp_path, gguf(shapes, Q4_0, numbers=NUMBERS)))
    assert text.startswith("the file's own key-values predict ")
    assert "predicted, not held: model.layers.1.mlp.up_proj.weight" in text


@pytest.mark.parametrize("value", [0, 2**31, 2**32 - 1])
def test_absurd_key_values_promise_nothing_in_silence(value: int, tmp_path: Path) -> None:
    """A file may say that it has four billion layers: it is inspected all the same."""
    inspection = write(tmp_path, gguf(llama(), Q4_0, numbers={**NUMBERS, "block_count": value}))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters


def test_variants_to_choose_from(tmp_path: Path) -> None:
    sizes = {}
    for label, kind in (("Q4_0", Q4_0), ("Q6_K", Q6_K), ("Q4_K_M", Q4_K)):
        data = gguf(llama(), kind)
        write(tmp_path, data, f"tiny-{label}.gguf")
        sizes[label] = len(data)
    inspection = hfinspect.inspect(tmp_path)
    assert [variant.label for variant in inspection.variants] == sorted(
        sizes, key=lambda x: sizes[x]
    )
    assert [variant.label for variant in inspection.variants if variant.read] == ["Q6_K"]
    assert {v.label: v.bits_per_weight for v in inspection.variants} == {
        label: (8 * size, inspection.parameters) for label, size in sizes.items()
    }
    shown = run(str(tmp_path)).out
    assert "tiny-Q6_K.gguf *" in shown
    picked = hfinspect.inspect(tmp_path, file="tiny-Q4_0.gguf")
    assert picked.parameters == inspection.parameters
    assert [variant.label for variant in picked.variants if variant.read] == ["Q4_0"]


def test_what_the_file_says(tmp_path: Path) -> None:
    numbers = {"block_count": 2, "context_length": 4096, "file_type": 15}
    inspection = write(tmp_path, gguf(llama(), Q4_K, numbers=numbers))
    assert inspection.contents["architecture"] == "llama"
    assert inspection.contents["file_type"] == "Q4_K_M"
    assert inspection.quantization is not None
    assert inspection.quantization.scheme == "Q4_K_M"
    shown = " ".join(run(str(tmp_path)).out.split())
    assert "parameters, Q4_K_M, " in shown
    assert "GGUF architecture name, 2 layers" in shown
    assert "context 4,096" in shown


#: Names of llama.cpp that say nothing of a component, or that are of none: scales of a layer, the
#: ways around the layers (AltUp).
SAY_NOTHING = {
    "mm.0",
    "mm.up",
    "mm.down",
    "v.blk.0.ls1",
    "v.blk.0.ls2",
    "v.blk.0.out_scale",
    "v.std_bias",
    "v.std_scale",
    "resampler.kv",
    "a.blk.0.ffn_scale",
    "a.blk.0.ffn_scale_1",
    "a.pre_encode.out",
    "mm.model.fc",
    "mm.a.fc",
    "convnext.0.gamma",
    "altup_proj",
    "altup_unembd_proj",
    "blk.0.altup_correct_coef",
    "blk.0.altup_correct_scale",
    "blk.0.altup_predict_coef",
}


def test_every_name_of_the_tensor_map_is_known() -> None:
    constants: Any = pytest.importorskip("gguf.constants")
    names = {text.format(bid=0, xid=0) for text in constants.TENSOR_NAMES.values()}
    labels = {name: labels_of(f"{name}.weight") for name in names}
    buffers = {name for name, label in labels.items() if label.role is Role.BUFFER}
    assert buffers == {"rope_freqs", "rope_factors_long", "rope_factors_short", "blk.0.exp_probs_b"}
    other = {name for name, label in labels.items() if label.component is Component.OTHER}
    assert other - buffers <= SAY_NOTHING
    blocks = {name for name in names if name.startswith("blk.0.")}
    assert all(labels[name].position == 1 for name in blocks)
