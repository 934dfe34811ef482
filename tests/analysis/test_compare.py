"""Comparing models: what differs, folded by layers."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.analysis.differences import ranges
from hfinspect.errors import UsageError

from ..builders import write_config, write_safetensors

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
}


def checkpoint(folder: Path, dtype: str = "F32", **changes: object) -> Path:
    config = {**CONFIG, **changes}
    write_config(folder, config)
    tensors = {t.name: (dtype, t.shape) for t in hfinspect.predict(config).tensors}
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def test_a_copy_is_identical_in_structure(tmp_path: Path) -> None:
    a = checkpoint(tmp_path / "a")
    b = checkpoint(tmp_path / "b")
    comparison = hfinspect.compare(a, b)
    assert comparison.same_structure
    assert comparison.differences[0].changes == ()
    assert comparison.differences[0].config == {}


def test_a_dtype_is_no_difference_of_structure(tmp_path: Path) -> None:
    a = checkpoint(tmp_path / "a")
    b = checkpoint(tmp_path / "b", "BF16", torch_dtype="bfloat16")
    comparison = hfinspect.compare(a, b)
    assert comparison.same_structure
    kinds = {(c.kind, c.here, c.there) for c in comparison.differences[0].changes}
    assert kinds == {("dtype", "F32", "BF16")}
    assert comparison.differences[0].config == {"torch_dtype": (None, "bfloat16")}


def test_differences_fold_by_layers(tmp_path: Path) -> None:
    """Two more layers and narrower keys: one row a tensor of a layer, with its layers."""
    a = checkpoint(tmp_path / "a")
    b = checkpoint(tmp_path / "b", num_hidden_layers=6, num_key_value_heads=1)
    changes = {(c.kind, c.name): c for c in hfinspect.compare(a, b).differences[0].changes}
    narrower = changes["shape", "model.layers.N.self_attn.k_proj.weight"]
    assert (narrower.layers, narrower.here, narrower.there) == ((0, 1, 2, 3), "8x8", "4x8")
    assert changes["only_there", "model.layers.N.mlp.up_proj.weight"].layers == (4, 5)
    assert not any(kind == "only_here" for kind, _ in changes)


def test_a_config_and_a_checkpoint_can_be_compared(tmp_path: Path) -> None:
    comparison = hfinspect.compare(CONFIG, checkpoint(tmp_path / "a"))
    assert comparison.same_structure


def test_one_model_is_too_few() -> None:
    with pytest.raises(UsageError, match="two models or more"):
        hfinspect.compare(CONFIG)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((3,), "3"), ((0, 1), "0-1"), ((0, 1, 2, 5, 7, 8), "0-2, 5, 7-8")],
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert ranges(numbers) == text


# ---- the same model in another spelling, saved anew, packed


def gpt2(folder: Path, prefix: str, *, buffers: bool = False, dtype: str = "F32") -> Path:
    config = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": 64,
        "n_positions": 16,
        "n_embd": 8,
        "n_layer": 3,
        "n_head": 2,
    }
    write_config(folder, config)
    tensors = {
        prefix + t.name.removeprefix("transformer."): (dtype, t.shape)
        for t in hfinspect.predict(config).tensors
    }
    if buffers:
        tensors.update({f"{prefix}h.{n}.attn.bias": ("F32", (1, 1, 16, 16)) for n in range(3)})
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def test_a_prefix_is_no_difference(tmp_path: Path) -> None:
    """gpt2 on the Hub says h.0, a fine-tune saved later transformer.h.0."""
    a = gpt2(tmp_path / "a", "")
    b = gpt2(tmp_path / "b", "transformer.")
    comparison = hfinspect.compare(a, b)
    assert comparison.differences[0].changes == ()
    assert comparison.same_structure


def test_buffers_are_told_but_no_difference_of_structure(tmp_path: Path) -> None:
    a = gpt2(tmp_path / "a", "", buffers=True)
    b = gpt2(tmp_path / "b", "transformer.")
    (change,) = hfinspect.compare(a, b).differences[0].changes
    assert (change.kind, change.name, change.layers) == ("only_here", "h.N.attn.bias", (0, 1, 2))
    assert (change.role, change.structural) == ("buffer", False)


def gptq(folder: Path) -> Path:
    """The llama of ``checkpoint``, its projections packed in four bits as GPTQ does."""
    config = {
        **CONFIG,
        "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8},
    }
    write_config(folder, config)
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    for tensor in hfinspect.predict(CONFIG).tensors:
        name = tensor.name
        shape = tensor.shape
        if "_proj.weight" not in name:
            tensors[name] = ("F16", shape)
            continue
        module = name.removesuffix(".weight")
        rows = shape[1]
        columns = shape[0]
        groups = rows // 8
        tensors[f"{module}.qweight"] = ("I32", (rows // 8, columns))
        tensors[f"{module}.qzeros"] = ("I32", (groups, columns // 8))
        tensors[f"{module}.scales"] = ("F16", (groups, columns))
        tensors[f"{module}.g_idx"] = ("I32", (rows,))
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


def test_a_quantised_model_and_its_original(tmp_path: Path) -> None:
    """The same parameters, packed: one row a weight of a layer, and the bookkeeping."""
    comparison = hfinspect.compare(checkpoint(tmp_path / "a", "F16"), gptq(tmp_path / "b"))
    assert comparison.inspections[0].parameters == comparison.inspections[1].parameters
    assert comparison.same_structure
    changes = {(c.kind, c.name): c for c in comparison.differences[0].changes}
    packed = changes["packing", "model.layers.N.mlp.up_proj.weight"]
    assert (packed.here, packed.there, packed.layers) == ("F16 16x8", "I32 1x16", (0, 1, 2, 3))
    scales = changes["only_there", "model.layers.N.mlp.up_proj.scales"]
    assert (scales.role, scales.structural) == ("quantization", False)
    assert not any(kind in ("shape", "only_here") for kind, _ in changes)


def test_another_head_is_a_difference(tmp_path: Path) -> None:
    a = checkpoint(tmp_path / "a")
    b = checkpoint(tmp_path / "b", architectures=["LlamaForSequenceClassification"], num_labels=3)
    comparison = hfinspect.compare(a, b)
    assert not comparison.same_structure
    names = {(c.kind, c.name) for c in comparison.differences[0].changes}
    assert names == {("only_here", "lm_head.weight"), ("only_there", "score.weight")}


def test_a_base_model_alone_lacks_only_the_head(tmp_path: Path) -> None:
    """Its own file names nothing ``model.``: still the same layers."""
    a = checkpoint(tmp_path / "a")
    b = checkpoint(tmp_path / "b", architectures=["LlamaModel"])
    (change,) = hfinspect.compare(a, b).differences[0].changes
    assert (change.kind, change.name) == ("only_here", "lm_head.weight")


def test_ties_are_no_difference(tmp_path: Path) -> None:
    """One file keeps the tied head, the other leaves it out."""
    config = {**CONFIG, "tie_word_embeddings": True}
    tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(config).tensors}
    for name, more in (("a", {}), ("b", {"lm_head.weight": ("F32", (64, 8))})):
        write_config(tmp_path / name, config)
        write_safetensors(tmp_path / name / "model.safetensors", {**tensors, **more})
    assert hfinspect.compare(tmp_path / "a", tmp_path / "b").differences[0].changes == ()


def test_experts_fold_into_one_row(tmp_path: Path) -> None:
    for name, experts in (("a", 4), ("b", 2)):
        tensors = {
            f"model.layers.{layer}.mlp.experts.{e}.up_proj.weight": ("F32", (2, 2))
            for layer in range(3)
            for e in range(experts)
        }
        write_safetensors(tmp_path / name / "model.safetensors", tensors)
    (change,) = hfinspect.compare(tmp_path / "a", tmp_path / "b").differences[0].changes
    assert change.name == "model.layers.N.mlp.experts.E.up_proj.weight"
    assert (change.layers, change.count) == ((0, 1, 2), 6)
