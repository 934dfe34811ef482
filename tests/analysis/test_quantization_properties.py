"""Layouts of any size, and headers of no sense: right or unknown, never an exception."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.analysis.quantization.decode import decode
from hfinspect.analysis.quantization.decoding import Decoding
from hfinspect.analysis.quantization.registry import METHODS
from hfinspect.analysis.tensor_table import TensorTable
from hfinspect.core.checkpoint import Shard
from hfinspect.core.components import Role
from hfinspect.core.tensor import DTYPE_BITS, StoredTensor, nbytes_of

from ..examples import examples
from . import twins

CORPUS = Path(os.environ.get("HFINSPECT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


def shard(tensors: twins.Stored, metadata: dict[str, object] | None = None) -> Shard:
    stored = []
    for name, (dtype, shape) in tensors.items():
        elements = 1
        for size in shape:
            elements *= size
        nbytes = nbytes_of(dtype, elements)
        assert nbytes is not None
        stored.append(StoredTensor(name, dtype, shape, elements, nbytes, 0))
    return Shard("model.safetensors", "safetensors", tuple(stored), None, 0, metadata or {})


def _config(name: str) -> dict[str, Any]:
    return dict(twins.TWINS[name]().config)


#: Packings of one Linear with the config that goes with them.
PACKINGS: list[tuple[str, twins.Packing, dict[str, Any]]] = [
    *[(f"gptq-{b}", twins.gptq(b), _config(f"gptq-{b}")) for b in (2, 3, 4, 8)],
    ("awq-gemm", twins.awq_gemm, _config("awq-gemm")),
    ("awq-gemv", twins.awq_gemv, _config("awq-gemv")),
    ("awq-gemv-fast", twins.awq_gemv_fast, _config("awq-gemv-fast")),
    ("marlin", twins.marlin, _config("marlin")),
    ("bnb-nf4", twins.nf4("nf4", nested=True), _config("bnb-nf4")),
    ("bnb-int8", twins.int8, _config("bnb-int8")),
    ("fp8", twins.fp8("weight_scale_inv", twins.blocks_of_128), _config("fp8-blocks")),
    ("nvfp4", twins.nvfp4, twins.section("modelopt")),
    ("int4", twins.modelopt_int4, _config("modelopt-int4")),
    ("f4", twins.f4, _config("f4")),
    *[(f"ct-{b}", twins.pack_quantized(b), _config(f"ct-pack-{b}")) for b in (3, 4, 8)],
    ("ct-loose", twins.pack_quantized(3, dense=False), _config("ct-pack-3-loose")),
    ("ct-nvfp4", twins.ct_nvfp4, _config("ct-nvfp4")),
    ("ct-mxfp4", twins.ct_mx(4), _config("ct-mxfp4")),
    ("ct-mxfp6", twins.ct_mx(6), _config("ct-mxfp6")),
    *[(f"mlx-{b}", twins.mlx(b), _config(f"mlx-{b}")) for b in (2, 3, 4, 5, 6, 8)],
    *[
        (f"hqq-{b}-{a}", twins.hqq(b, a), _config(f"hqq-{b}-{a}"))
        for b in (8, 4, 3, 2, 1)
        for a in (0, 1)
    ],
    ("eetq", twins.eetq, _config("eetq")),
    ("aqlm", twins.aqlm(2, 256, 8), _config("aqlm-2x8")),
    ("bitnet", twins.bitnet, _config("bitnet")),
    ("quanto", twins.quanto(4), _config("quanto-4")),
]


@settings(max_examples=examples(150))
@given(st.sampled_from(PACKINGS), st.integers(1, 40), st.integers(1, 40))
def test_any_size_comes_out_exactly(
    packing: tuple[str, twins.Packing, dict[str, Any]], rows: int, groups: int
) -> None:
    """``out`` in words and packs, ``in`` in whole groups, as all these libraries demand."""
    name, pack, config = packing
    out = 64 * rows
    inputs = 128 * groups
    decoding = decode(TensorTable([shard(pack("layers.0.linear", out, inputs))]), config, {}, None)
    counts = [meaning.parameters for meaning in decoding.tensors.values()]
    assert sum(count or 0 for count in counts) == out * inputs, (name, decoding.findings)
    assert None not in counts
    weights = [m for m in decoding.tensors.values() if m.role is Role.PARAMETER]
    assert [meaning.name for meaning in weights] == ["layers.0.linear.weight"]
    assert decoding.summary is not None
    assert decoding.summary.packed_parameters == out * inputs


SUFFIXES = """weight bias qweight qzeros scales g_idx B s B_24 B_meta weight_packed weight_scale
    weight_shape weight_zero_point weight_g_idx weight_global_scale weight_scale_2 weight_scale_inv
    input_scale activation_scale SCB weight_format absmax quant_map nested_absmax biases qbiases
    W_q scale zero meta codes codebooks weight_scales _data _scale _shift _weight_qdata
    _weight_scale bitmask compressed shape gate_up_proj_blocks gate_up_proj_scales gate_up_proj
    gate_up_proj_scale_inv experts""".split()
MODULES = ("", "a", "a.weight", "a.weight._data", "a.weight.quant_state", "a.experts")
NAMES = st.tuples(st.sampled_from(MODULES), st.sampled_from(SUFFIXES)).map(
    lambda pair: ".".join(filter(None, pair))
)
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 8, 16, 32, 64, 100, 2**40]), max_size=4).map(tuple)
TENSORS = st.dictionaries(NAMES, st.tuples(st.sampled_from(sorted(DTYPE_BITS)), SHAPES), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(
    """bits group_size weights config_groups quant_config weight_block_size sparsity_config format
    num_bits nbits weight_quant_params a version quant_algo dynamic type""".split()
)
SECTIONS = st.dictionaries(KEYS, JSON, max_size=5)


@settings(max_examples=examples(120))
@given(TENSORS, st.sampled_from([*METHODS, "unheard", None]), SECTIONS, JSON)
def test_headers_of_no_sense(
    tensors: twins.Stored, method: str | None, section: dict[str, Any], metadata: object
) -> None:
    """Every count is a whole number or unknown, and the sums are those of the tensors."""
    config = {"quantization_config": {**section, "quant_method": method}}
    one = shard(tensors, {"a.weight": json.dumps(metadata, default=str)})
    decoding = decode(TensorTable([one]), config, {"quantize_config.json": section}, None)
    check(decoding, one)


def check(decoding: Decoding, one: Shard) -> None:
    stored = {tensor.name: tensor for tensor in one.tensors}
    assert set(decoding.tensors) <= set(stored)
    for meaning in decoding.tensors.values():
        assert meaning.parameters is None or meaning.parameters >= 0
        assert meaning.parameters is not None or meaning.role is Role.PARAMETER
        assert meaning.parameters == 0 or meaning.role is Role.PARAMETER
    summary = decoding.summary
    if summary is not None:
        assert sum(summary.roles.values()) == sum(stored[n].nbytes for n in decoding.tensors)
        unknown = any(meaning.parameters is None for meaning in decoding.tensors.values())
        assert (summary.packed_parameters is None) == unknown


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not there")
def test_a_real_index_has_just_these_bytes() -> None:
    """Qwen-7B-Chat-Int4: the GPTQ layout of every Linear in a block, float16 for the rest, add up
    to the total_size of its index, and unpack to the 7,721,324,544 parameters of Qwen-7B."""
    folder = CORPUS / "Qwen--Qwen-7B-Chat-Int4"
    index = json.loads((folder / "index.json").read_text())
    config = json.loads((folder / "config.json").read_text())
    hidden = 4096
    inner = 11008
    sizes = {
        "attn.c_attn": (3 * hidden, hidden),
        "attn.c_proj": (hidden, hidden),
        "mlp.w1": (inner, hidden),
        "mlp.w2": (inner, hidden),
        "mlp.c_proj": (hidden, inner),
    }
    tensors: twins.Stored = {}
    for name in index["weight_map"]:
        module, _, suffix = name.rpartition(".")
        out, inputs = sizes.get(".".join(module.split(".")[-2:]), (0, 0))
        if suffix == "bias":
            tensors[name] = ("F16", (out,))
        elif out:
            tensors[name] = twins.gptq(4)(module, out, inputs)[name]
        else:
            is_norm = ".ln_" in name
            tensors[name] = ("F16", (hidden,) if is_norm else (config["vocab_size"], hidden))
    one = shard(tensors)
    assert sum(tensor.nbytes for tensor in one.tensors) == index["metadata"]["total_size"]
    decoding = decode(TensorTable([one]), config, {}, None)
    meant = decoding.tensors
    total = sum(
        meant[t.name].parameters or 0 if t.name in meant else t.elements for t in one.tensors
    )
    # GPTQ gives every Linear a bias; Qwen-7B has one in c_attn alone.
    added = 32 * (hidden + 2 * inner + hidden)
    assert total - added == 7_721_324_544


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not there")
@pytest.mark.parametrize("file", ["config.json", "hf_quant_config.json"])
def test_real_declarations_are_understood(file: str) -> None:
    """Every quantisation that a real config or hf_quant_config.json declares is of a known
    method."""
    from hfinspect.analysis.quantization.declared import declared_in

    methods = set()
    for path in sorted(CORPUS.glob(f"*/{file}")):
        content = json.loads(path.read_text())
        if file == "config.json":
            said = declared_in(content, {})
            if not content.get("quantization_config"):
                continue
        else:
            said = declared_in({}, {file: content})
        assert said.method in METHODS, path
        methods.add(said.method)
    assert methods
