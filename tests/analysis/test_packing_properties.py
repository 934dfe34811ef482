"""Packing and reading are inverse; patterns of others match as Python's own and in linear time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.analysis.quantization.decode import decode
from hfinspect.analysis.quantization.expressions import UnreadablePatternError
from hfinspect.analysis.quantization.packing import packing
from hfinspect.analysis.quantization.registry import METHODS
from hfinspect.analysis.quantization.selection import Selection
from hfinspect.analysis.tensor_table import TensorTable
from hfinspect.core.components import Role
from hfinspect.errors import LimitError
from hfinspect.trees.modules import Layers, Linear, Module, RMSNorm
from hfinspect.trees.prediction import Prediction

from ..examples import examples
from .test_packing import ct, modelopt
from .test_quantization_properties import JSON, KEYS, shard
from .twins import groups_of, section

#: Settings of every method with a layout that follows from them, by the group size they have.
Config = dict[str, Any]


def _integers(bits: int, group: int, **more: Any) -> Config:
    return ct("pack-quantized", groups_of(bits, group=group, **more), version="0.20.0")


CONFIGS = st.one_of(
    st.builds(
        lambda bits, group: section("gptq", bits=bits, group_size=group),
        st.sampled_from([2, 3, 4, 8]),
        st.sampled_from([-1, 32, 64, 128]),
    ),
    st.builds(
        lambda version: section("awq", bits=4, group_size=128, version=version),
        st.sampled_from(["gemm", "gemv", "gemv_fast"]),
    ),
    st.builds(
        lambda bits, kind: section(
            "auto-round", bits=bits, group_size=128, packing_format=f"auto_round:{kind}"
        ),
        st.just(4),
        st.sampled_from(["auto_gptq", "auto_awq"]),
    ),
    st.builds(
        lambda kind, nested: section(
            "bitsandbytes",
            load_in_4bit=True,
            bnb_4bit_quant_type=kind,
            bnb_4bit_use_double_quant=nested,
        ),
        st.sampled_from(["nf4", "fp4"]),
        st.booleans(),
    ),
    st.just(section("bitsandbytes", load_in_8bit=True)),
    st.builds(
        lambda high, wide: section("fp8", weight_block_size=[high, wide]),
        st.integers(1, 300),
        st.integers(1, 300),
    ),
    st.sampled_from(["dynamic", "static"]).map(
        lambda scheme: section("fp8", activation_scheme=scheme)
    ),
    st.just(section("fbgemm_fp8")),
    st.sampled_from(["FP8", "NVFP4", "W4A16_NVFP4"]).map(modelopt),
    st.builds(
        _integers,
        st.integers(2, 8),
        st.sampled_from([32, 64, 128]),
        symmetric=st.booleans(),
        actorder=st.sampled_from([None, "group"]),
    ),
    st.builds(
        lambda bits, strategy: ct("int-quantized", groups_of(bits, group=None, strategy=strategy)),
        st.integers(2, 8),
        st.sampled_from(["channel", "tensor"]),
    ),
    st.just(ct("mxfp8-quantized", groups_of(8, "float", 32))),
    st.just(ct("nvfp4-pack-quantized", groups_of(4, "float", 16))),
    st.sampled_from([4, 6]).map(
        lambda bits: ct(f"mxfp{bits}-pack-quantized", groups_of(bits, "float", 32))
    ),
    st.builds(
        lambda bits, group: {"quantization": {"bits": bits, "group_size": group}},
        st.sampled_from([2, 3, 4, 5, 6, 8]),
        st.sampled_from([32, 64, 128]),
    ),
    st.just(section("bitnet")),
)


def model(out: int, inputs: int, bias: bool) -> Prediction:
    block = Module("Block", proj=Linear(inputs, out, bias))
    root = Module("Tiny", layers=Layers.of(2, block), norm=RMSNorm(inputs))
    return Prediction(None, "Tiny", root, dtype="BF16")


@settings(max_examples=examples(200))
@given(CONFIGS, st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_what_is_packed_is_read_back(config: Config, rows: int, groups: int, bias: bool) -> None:
    """Logical parameters, names, bytes by what tensors hold, and the scheme's name."""
    out = 32 * rows
    inputs = 128 * groups
    whole = model(out, inputs, bias)
    layout = packing(whole, config)
    assert layout is not None
    assert layout.specs is not None, layout.findings
    names = [spec.name for spec in layout.tensors]
    assert len(set(names)) == len(names)
    stored = {spec.name: (spec.dtype or "BF16", spec.shape) for spec in layout.tensors}
    decoding = decode(TensorTable([shard(stored)]), config, {}, whole)
    for spec in layout.tensors:
        meaning = decoding.tensors.get(spec.name)
        assert (meaning is not None) == (spec.packed is not None), spec.name
        if meaning is not None and spec.packed is not None:
            assert meaning.parameters == spec.packed.parameters
            assert (meaning.role, meaning.holds.value) == (spec.role, spec.packed.holds)
    weights = [spec for spec in layout.tensors if spec.packed and spec.role is Role.PARAMETER]
    assert [spec.parameters for spec in weights] == [out * inputs] * 2
    assert [finding for finding in decoding.findings if finding.severity != "note"] == []
    if "bytes-vary" not in {finding.rule for finding in layout.findings}:
        assert layout.summary == decoding.summary


SECTIONS = st.dictionaries(
    KEYS
    | st.sampled_from(
        """modules_to_not_convert ignore ignored_layers exclude_modules quantized_layers dynamic
        extra_config block_name_to_quantize load_in_4bit load_in_8bit llm_int8_skip_modules
        targets kv_cache_scheme kv_cache_quant_algo transform_config packing_format mode
        in_group_size out_group_size num_codebooks nbits_per_codebook
        modules_in_block_to_quantize""".split()
    ),
    JSON | st.lists(st.text(max_size=8)) | st.sampled_from([1, 4, 8, 128, "gemm", "NVFP4", True]),
    max_size=8,
)


@settings(max_examples=examples(300))
@given(st.sampled_from([*METHODS, "unheard"]), SECTIONS, st.integers(1, 99), st.integers(1, 99))
def test_configs_of_no_sense(method: str, values: Config, out: int, inputs: int) -> None:
    """A layout or a reason; the count of parameters stays what it is, and nothing is raised."""
    whole = model(out, inputs, True)
    layout = packing(whole, {"quantization_config": {**values, "quant_method": method}})
    assert layout is not None
    if layout.specs is None:
        assert {finding.rule for finding in layout.findings} == {"layout-undetermined"}
    else:
        assert sum(spec.parameters for spec in layout.tensors) == whole.parameters


# ---- patterns

ATOMS = st.sampled_from(["a", "b", "\\.", ".", "[ab]", "[^a]", "\\d", "\\w", "[a-c]", "1"])


def _more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "*?"])),
    )


EXPRESSIONS = st.recursive(ATOMS, _more, max_leaves=8)
NAMES = st.lists(st.text("ab1", min_size=1, max_size=4), min_size=1, max_size=4).map(".".join)


def selected(selection: Selection, name: str) -> object:
    state = selection.start()
    for segment in name.split("."):
        state = selection.enter(state, segment)
    return selection.label(state)


@settings(max_examples=examples(400))
@given(EXPRESSIONS, st.sampled_from(["", "$"]), NAMES)
def test_expressions_match_as_in_python(body: str, end: str, name: str) -> None:
    selection = Selection()
    selection.expression(body + end, "named")
    assert (selected(selection, name) == "named") == bool(re.match(body + end, name))


@pytest.mark.parametrize(
    ("pattern", "inside", "named", "others"),
    [
        ("lm_head", True, ["lm_head", "model.lm_head", "lm_head.a"], ["lm_heads", "my_lm_head"]),
        ("lm_head", False, ["lm_head", "lm_head.a"], ["model.lm_head"]),
        ("mlp.gate", True, ["layers.0.mlp.gate"], ["layers.0.mlp.gate_proj", "mlp"]),
        ("layers.1*", True, ["layers.1.a", "layers.10"], ["layers.2", "model.layers.1"]),
        ("layers.?.mlp", True, ["layers.0.mlp", "layers.0.mlp.up"], ["layers.10.mlp"]),
        ("*.attn.*", True, ["a.attn.q", "a.attn.q.r"], ["a.attn", "attn.q"]),
    ],
)
def test_names_and_globs(pattern: str, inside: bool, named: list[str], others: list[str]) -> None:
    selection = Selection()
    selection.add([pattern, None, 3], "named", inside=inside)
    assert [name for name in [*named, *others] if selected(selection, name)] == named


def test_bad_expressions_take_linear_time() -> None:
    selection = Selection()
    selection.expression("(a+)+(a|a)*(.*)*b$", "named")
    begin = time.perf_counter()
    assert selected(selection, "a" * 5_000) is None
    assert time.perf_counter() - begin < 5  # Python's re would not come back


@pytest.mark.parametrize("text", ["(?!a)b", "a{3}", "(a)\\1", "(", "a)", "[a", "a**", "\\b", "a^"])
def test_expressions_that_are_not_read_are_refused(text: str) -> None:
    with pytest.raises(UnreadablePatternError):
        Selection().expression(text, "named")


def test_patterns_are_bounded() -> None:
    with pytest.raises(UnreadablePatternError):
        Selection().expression("a" * 2_001, "named")
    with pytest.raises(UnreadablePatternError):
        Selection().expression("(" * 30 + "a" + ")" * 30, "named")
    with pytest.raises(LimitError):
        Selection().add(map(str, range(60_000)), "named")
    many = Selection()
    many.expression("a" * 1_900, "named")
    with pytest.raises(LimitError):
        for _ in range(1_000):
            many.expression("(((((a|b)|b)|b)|b)|b)" * 90, "named")


def test_the_work_of_all_patterns_together_is_bounded() -> None:
    listed = [".*".join("abcdefgh" * 60) for _ in range(10)]
    groups = {"g": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}
    values = {"format": "float-quantized", "config_groups": groups}
    ignored = [f"re:(.*)*{text}" for text in listed]
    config = section("compressed-tensors", **values, ignore=ignored)
    begin = time.perf_counter()
    layout = packing(wide_model(), config)
    assert time.perf_counter() - begin < 20
    assert layout is not None
    assert layout.specs is None
    assert "take too long" in layout.findings[0].text


@pytest.mark.parametrize("entry", [[], [1], {}, {"a": [1]}, 1.5, 10**400, True])
@pytest.mark.parametrize(
    "config",
    [
        lambda entry: modelopt("MIXED_PRECISION", quantized_layers={"a": {"quant_algo": entry}}),
        lambda entry: modelopt(
            "MIXED_PRECISION",
            quantized_layers={"a": {"quant_algo": "NVFP4", "group_size": entry}},
        ),
        lambda entry: modelopt("NVFP4", group_size=entry, exclude_modules=[]),
        lambda entry: ct("pack-quantized", groups_of(4, group=entry), version="0.20.0"),
    ],
)
def test_an_entry_of_another_type_leaves_the_layout_unknown(
    config: Callable[[Any], Config], entry: object
) -> None:
    """Lists and mappings have no hash, and still are no exception."""
    whole = Prediction(None, "Tiny", Module("Tiny", {"a": Linear(128, 128)}), dtype="BF16")
    layout = packing(whole, config(entry))
    assert layout is not None
    assert layout.specs is None or not entry or layout.summary.method == "compressed-tensors"


def wide_model() -> Prediction:
    children = {f"{'abcdefgh' * 20}{number}": Linear(128, 128) for number in range(40)}
    return Prediction(None, "Tiny", Module("Tiny", children), dtype="BF16")
