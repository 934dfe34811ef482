"""A quantised model read by its config alone has the tensors that its files have."""

from __future__ import annotations

import json
import os
from math import prod
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect import Inspection
from hfinspect.analysis.quantization.packing import Packing, packing
from hfinspect.core.tensor import nbytes_of
from hfinspect.scanning.rows import COLUMNS
from hfinspect.trees.modules import Linear, Module
from hfinspect.trees.prediction import Prediction, predict

from ..schemas import conforms
from . import twins
from .test_quantization import write
from .twins import GROUP, TWINS, Twin, groups_of, section

CORPUS = Path(os.environ.get("HFINSPECT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "checkpoints" / "quantized"


def ct(layout: str, groups: Any, **more: object) -> dict[str, Any]:
    return section(
        "compressed-tensors", format=layout, config_groups=groups, ignore=["lm_head"], **more
    )


def _linears(**weights: object) -> dict[str, Any]:
    return {"group_0": {"targets": ["Linear"], "weights": weights}}


def modelopt(algorithm: str, **more: object) -> dict[str, Any]:
    return section("modelopt", quant_algo=algorithm, ignore=["lm_head"], **more)


#: Twin -> the config that such files have in full. The twins' own say just what reading needs.
CONFIGS: dict[str, dict[str, Any]] = {
    **{
        f"gptq-{bits}": section("gptq", bits=bits, group_size=GROUP, desc_act=True)
        for bits in (2, 3, 4, 8)
    },
    "awq-gemm": section("awq", bits=4, group_size=GROUP, version="gemm", zero_point=True),
    "awq-gemv": section("awq", bits=4, group_size=GROUP, version="gemv"),
    "awq-gemv-fast": section("awq", bits=4, group_size=GROUP, version="gemv_fast"),
    "auto-round-gptq": section(
        "auto-round", bits=4, group_size=GROUP, packing_format="auto_round:auto_gptq"
    ),
    "auto-round-awq": section(
        "auto-round",
        bits=4,
        group_size=GROUP,
        packing_format="auto_round:auto_awq",
        block_name_to_quantize="model.layers",
    ),
    "bnb-int8": section("bitsandbytes", load_in_8bit=True),
    "fp8-blocks": section("fp8", weight_block_size=[128, 128], activation_scheme="dynamic"),
    "fp8-static": section("fp8", weight_block_size=None, activation_scheme="static"),
    "modelopt-nvfp4": modelopt("NVFP4", group_size=16),
    "ct-pack-4": ct("pack-quantized", groups_of(4)),
    "ct-pack-4-zeros": ct("pack-quantized", groups_of(4, symmetric=False)),
    "ct-pack-8": ct("pack-quantized", groups_of(8)),
    "ct-pack-3": ct("pack-quantized", groups_of(3), version="0.14.0"),
    "ct-pack-3-loose": ct("pack-quantized", groups_of(3), version="0.11.0"),
    "ct-nvfp4": ct(
        "nvfp4-pack-quantized",
        {
            "group_0": {
                "targets": ["Linear"],
                "weights": {"num_bits": 4, "type": "float", "group_size": 16},
                "input_activations": {"num_bits": 4, "type": "float", "dynamic": "local"},
            }
        },
    ),
    "ct-mxfp4": ct("mxfp4-pack-quantized", groups_of(4, "float", 32)),
    "ct-mxfp6": ct("mxfp6-pack-quantized", groups_of(6, "float", 32)),
    "mlx-mxfp4": {
        "quantization": {
            "group_size": 32,
            "bits": 4,
            "mode": "mxfp4",
            "model.embed_tokens": False,
            "lm_head": False,
        }
    },
    **{f"mlx-{bits}": {"quantization": {"group_size": 64, "bits": bits}} for bits in (2, 3, 6, 8)},
    "bitnet": section("bitnet", quantization_mode="offline"),
}


def facts(inspection: Inspection) -> dict[str, tuple[object, ...]]:
    """All that is said of each tensor."""
    return {
        t.name: (
            t.dtype,
            t.shape,
            t.nbytes,
            t.elements,
            t.parameters,
            t.role,
            t.component,
            t.kind,
            t.layer,
            t.stack,
        )
        for t in inspection.tensors
    }


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_the_config_alone_gives_the_tensors_of_the_headers(name: str, tmp_path: Path) -> None:
    twin = TWINS[name]()
    stored = write(tmp_path, Twin(twin.tensors, CONFIGS[name], {}, twin.metadata))
    expected = hfinspect.inspect(tmp_path, source="config")
    assert facts(expected) == facts(stored)
    for key in (
        "parameters",
        "logical",
        "stored",
        "buffers",
        "bookkeeping",
        "nbytes",
        "dtypes",
        "components",
        "quantization",
    ):
        assert getattr(expected, key) == getattr(stored, key), key
    conforms(expected.to_dict(tensors=True))


def tree(out: int, inputs: int, dtype: str, *, bias: bool = False) -> Prediction:
    """A model of one Linear, called ``linear``."""
    return Prediction(None, "Tiny", Module("Tiny", linear=Linear(inputs, out, bias)), dtype=dtype)


def stored_by(layout: Packing | None) -> dict[str, tuple[str | None, tuple[int, ...]]]:
    assert layout is not None
    assert layout.specs is not None, layout.findings
    return {
        spec.name.removeprefix("linear."): (spec.dtype or layout.dtype, spec.shape)
        for spec in layout.tensors
    }


#: What the recorded cases leave out of their configs, because a reader does not need it.
_MORE = {
    "nf4-nested": {"bnb_4bit_use_double_quant": True},
    "fp4-nested": {"bnb_4bit_use_double_quant": True},
}
RECORDED = [
    pytest.param(recorded, case, id=f"{recorded['library']}-{case['name']}")
    for recorded in (json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json")))
    if recorded["library"] in ("bitsandbytes", "mlx", "compressed-tensors")
    for case in recorded["cases"]
]


@pytest.mark.parametrize(("recorded", "case"), RECORDED)
def test_what_the_library_wrote_is_predicted(
    recorded: dict[str, Any], case: dict[str, Any]
) -> None:
    config = json.loads(json.dumps(case["config"]))
    for values in config.values():
        values.update(_MORE.get(case["name"], {}))
        values.setdefault("version", recorded["version"])
    written = {name: (dtype, tuple(shape)) for name, (dtype, shape) in case["tensors"].items()}
    one = tree(recorded["out"], recorded["in"], "F32", bias="bias" in written)
    layout = packing(one, config)
    assert layout is not None
    predicted = stored_by(layout)
    for spec in layout.tensors:  # a number in its settings has as many digits as it has
        name = spec.name.removeprefix("linear.")
        if spec.packed is not None and spec.packed.varies:
            least = spec.shape[0]
            most = spec.shape[0] + spec.packed.varies
            assert least <= written.pop(name)[1][0] <= most
            del predicted[name]
    assert predicted == written


# ---- real models


def tensors_of(config: dict[str, Any], **companions: Any) -> tuple[Packing, dict[str, int]]:
    layout = packing(predict(config), config, companions)
    assert layout is not None
    assert layout.specs is not None, layout.findings
    sizes = {}
    for spec in layout.specs:
        if spec.tied_to is None:
            nbytes = nbytes_of(spec.dtype or layout.dtype, prod(spec.shape))
            assert nbytes is not None
            sizes[spec.name] = nbytes
    return layout, sizes


SIZES = ("quantization", "bits", "nbytes")
#: total_size of openai/gpt-oss-120b's model.safetensors.index.json.
GPT_OSS_BYTES = 65_248_815_744
GPT_OSS = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "num_local_experts": 128,
    "vocab_size": 201_088,
    "hidden_size": 2_880,
    "intermediate_size": 2_880,
    "head_dim": 64,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_experts_per_tok": 4,
    "tie_word_embeddings": False,
    "quantization_config": {
        "modules_to_not_convert": [
            "model.layers.*.self_attn",
            "model.layers.*.mlp.router",
            "model.embed_tokens",
            "lm_head",
        ],
        "quant_method": "mxfp4",
    },
}


def test_gpt_oss_has_the_bytes_of_its_index() -> None:
    """openai/gpt-oss-120b: total_size of model.safetensors.index.json; dtype and method shown."""
    inspection = hfinspect.inspect(GPT_OSS)
    assert inspection.nbytes == GPT_OSS_BYTES
    assert inspection.parameters == 116_829_156_672
    assert set(inspection.dtypes) == {"BF16", "U8"}
    quantised = inspection.quantization
    assert quantised is not None
    assert (quantised.method, quantised.scheme, quantised.bits) == ("mxfp4", "MXFP4", 4)
    assert (quantised.group_size, quantised.declared_in) == (
        32,
        "config.json: quantization_config",
    )
    names = {t.name: (t.dtype, t.shape) for t in inspection.tensors}
    assert names["model.layers.0.mlp.experts.gate_up_proj_blocks"] == ("U8", (128, 5760, 90, 16))
    assert names["model.layers.0.mlp.experts.down_proj_scales"] == ("U8", (128, 2880, 90))
    assert names["model.layers.35.mlp.experts.down_proj_bias"] == ("BF16", (128, 2880))


def corpus_config(name: str) -> dict[str, Any]:
    path = CORPUS / name / "config.json"
    if not path.is_file():
        pytest.skip("the corpus of real files is not there")
    config: dict[str, Any] = json.loads(path.read_text())
    return config


def test_deepseek_v3_has_the_bytes_of_its_index() -> None:
    """total_size of DeepSeek-V3's index: 688,574,839,360 bytes in 91,991 tensors, its layer of
    multi-token prediction included; the catalog's old inv_freq are in no file of it."""
    config = corpus_config("deepseek-ai--DeepSeek-R1")
    _, sizes = tensors_of(config)
    kept = {name: size for name, size in sizes.items() if not name.endswith("inv_freq")}
    assert (len(kept), sum(kept.values())) == (91_991, 688_574_839_360)
    inspection = hfinspect.inspect(config)
    assert inspection.parameters == 671_026_404_352
    assert inspection.nbytes == 673_150_611_808
    assert inspection.quantization is not None
    assert inspection.quantization.method == "fp8"


def test_a_gptq_index_is_predicted_name_by_name() -> None:
    """Qwen-7B-Chat-Int4: AutoGPTQ gave every Linear a bias then."""
    config = corpus_config("Qwen--Qwen-7B-Chat-Int4")
    index = json.loads((CORPUS / "Qwen--Qwen-7B-Chat-Int4" / "index.json").read_text())
    inspection = hfinspect.inspect(config)
    assert {t.name for t in inspection.tensors} == set(index["weight_map"])
    assert inspection.nbytes == index["metadata"]["total_size"]
    assert inspection.parameters == 7_721_324_544


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("Qwen--Qwen3-30B-A3B-FP8", 31.1e9, 31.2e9), ("nvidia--Kimi-K2.6-NVFP4", 590e9, 600e9)],
)
def test_quantised_models_are_not_shown_in_bfloat16(name: str, low: float, high: float) -> None:
    config = corpus_config(name)
    inspection = hfinspect.inspect(config)
    assert inspection.nbytes is not None
    assert low < inspection.nbytes < high
    plain = {key: value for key, value in config.items() if key != "quantization_config"}
    assert inspection.parameters == predict(plain).parameters


# ---- what a config does not say


@pytest.mark.parametrize(
    "method",
    [
        section("unheard-of", bits=4),
        section("torchao"),
        section("gptq"),
        section("awq", bits=4, group_size=128, version="new"),
        section("auto-round", bits=4, group_size=128, packing_format="auto_round:other"),
        section("fp8", weight_block_size=[0, 128]),
        section("fp8", weight_block_size=[128, 128], scale_fmt="ue8m0"),
        section("modelopt", quant_algo="NVFP4"),
        section("modelopt", quant_algo="W4A8_AWQ", ignore=["lm_head"]),
        section("bitsandbytes"),
        section("compressed-tensors", format="marlin-24", config_groups=groups_of(4)),
        ct("pack-quantized", groups_of(3, group=96)),
        *(
            ct("pack-quantized", _linears(num_bits=4, **own), version="0.14.0")
            for own in ({"group_size": [1]}, {"strategy": ["group"]}, {"symmetric": "no"})
        ),
        ct("pack-quantized", {"group_0": {"targets": ["re:(a+)\\1"], "weights": {"num_bits": 4}}}),
        {"quantization": {"group_size": 48, "bits": 4}},
    ],
)
def test_what_does_not_follow_from_the_config_is_unknown(method: dict[str, Any]) -> None:
    """The count stays, bytes are unknown and a finding says why; never bfloat16."""
    inspection = hfinspect.inspect({**twins.CONFIG, **method})
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert (inspection.nbytes, inspection.stored) == (None, None)
    assert "BF16" not in inspection.dtypes
    assert inspection.quantization is not None
    assert inspection.quantization.packed_bytes is None
    (finding,) = [f for f in inspection.findings if f.rule == "layout-undetermined"]
    assert inspection.quantization.method in finding.text
    conforms(inspection.to_dict())


def test_a_length_that_data_decide_is_a_range() -> None:
    """bitsandbytes with double quantisation: the settings hold a number with its digits."""
    more = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}
    inspection = hfinspect.inspect({**twins.CONFIG, **section("bitsandbytes", **more)})
    assert inspection.nbytes is None
    (finding,) = [f for f in inspection.findings if f.rule == "bytes-vary"]
    least, most = (int(word.replace(",", "")) for word in finding.text.split()[3:6:2])
    assert most - least == 21 * 14  # two layers of seven
    assert least > inspection.parameters // 2 if inspection.parameters else False
    plain = {**more, "bnb_4bit_use_double_quant": False}
    assert hfinspect.inspect({**twins.CONFIG, **section("bitsandbytes", **plain)}).nbytes


def test_a_missing_dtype_leaves_the_packed_tensors_known() -> None:
    config = {key: value for key, value in twins.CONFIG.items() if key != "torch_dtype"}
    inspection = hfinspect.inspect({**config, **CONFIGS["fp8-blocks"]})
    assert inspection.nbytes is None
    assert inspection.quantization is not None
    assert inspection.quantization.packed_bytes == inspection.quantization.packed_parameters
    assert "dtype-undetermined" in {f.rule for f in inspection.findings}


# ---- which modules


def packed_modules(config: dict[str, Any]) -> set[str]:
    inspection = hfinspect.inspect({**twins.CONFIG, **config})
    marks = ("weight_scale_inv", "weight_scale", "qweight", "SCB")
    return {t.name.rpartition(".")[0] for t in inspection.tensors if t.name.endswith(marks)}


def blocks(**more: object) -> dict[str, Any]:
    return section("fp8", weight_block_size=[128, 128], **more)


def floats(**more: object) -> dict[str, Any]:
    groups = {"g": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}
    return section(
        "compressed-tensors", **{"format": "float-quantized", "config_groups": groups, **more}
    )


@pytest.mark.parametrize(
    ("config", "left_out"),
    [
        (blocks(), {"lm_head"}),
        (blocks(modules_to_not_convert=["lm_head"]), {"lm_head"}),
        (blocks(modules_to_not_convert=[]), set()),
        (blocks(modules_to_not_convert=["model.layers.1", "lm_head"]), {"lm_head", "1."}),
        (blocks(modules_to_not_convert=["q_proj", "proj", "lm_head"]), {"lm_head", "q_proj"}),
        (blocks(modules_to_not_convert=["model.layers.*.mlp", "lm_head"]), {"lm_head", "mlp"}),
        (modelopt("FP8"), {"lm_head"}),
        (
            section("modelopt", quant_algo="FP8", exclude_modules=["lm_head", "model.layers.0*"]),
            {"lm_head", "0."},
        ),
        (floats(ignore=["lm_head"]), {"lm_head"}),
        (
            floats(ignore=["lm_head", "re:.*\\.self_attn\\.(q|k|v|o)_proj$"]),
            {"lm_head", "self_attn"},
        ),
        (floats(ignore=["re:model\\.layers\\.[01]\\.mlp.*"]), {"mlp"}),
        (
            section("bitsandbytes", load_in_8bit=True, llm_int8_skip_modules=["down_proj"]),
            {"down_proj"},
        ),
        (
            section("gptq", bits=4, group_size=128, dynamic={"-:.*\\.o_proj": {}}),
            {"lm_head", "o_proj"},
        ),
        (section("gptq", bits=4, group_size=128, lm_head=True), set()),
        (
            section(
                "gptq",
                bits=4,
                group_size=128,
                modules_in_block_to_quantize=[["self_attn.q_proj"], ["self_attn.k_proj"]],
            ),
            {"lm_head", "mlp", "v_proj", "o_proj"},
        ),
        (
            section("awq", bits=4, group_size=128, modules_to_not_convert=["self_attn"]),
            {"lm_head", "self_attn"},
        ),
    ],
)
def test_modules_that_are_named_stay_as_they_are(
    config: dict[str, Any], left_out: set[str]
) -> None:
    every = {
        name.removesuffix(".weight")
        for name in twins.original()
        if name.endswith("_proj.weight") or name == "lm_head.weight"
    }
    expected = {name for name in every if not any(part in name for part in left_out)}
    assert packed_modules(config) == expected


def test_mixtures_and_scales_of_the_cache(tmp_path: Path) -> None:
    """ModelOpt's settings by layer, in hf_quant_config.json; FP8 keys and values."""
    layers = {}
    for name in twins.original():
        if twins.is_linear(name):
            algorithm = "NVFP4" if ".mlp." in name else "FP8"
            layers[name.removesuffix(".weight")] = {"quant_algo": algorithm}
    companions = {
        "hf_quant_config.json": {
            "quantization": {
                "quant_algo": "MIXED_PRECISION",
                "kv_cache_quant_algo": "FP8",
                "quantized_layers": layers,
            }
        }
    }
    tensors = {
        name: (dtype, () if name.endswith(("k_proj.k_scale", "v_proj.v_scale")) else shape)
        for name, (dtype, shape) in TWINS["modelopt-mixed"]().tensors.items()
    }
    stored = write(tmp_path, Twin(tensors, {}, companions))
    expected = hfinspect.inspect(tmp_path, source="config")
    assert facts(expected) == facts(stored)
    assert expected.quantization == stored.quantization


def test_gguf_and_plain_configs_are_as_before() -> None:
    inspection = hfinspect.inspect(twins.CONFIG)
    assert inspection.quantization is None
    assert set(inspection.dtypes) == {"BF16"}
    assert inspection.nbytes == 2 * (inspection.parameters or 0)


def test_every_command_gives_the_same_bytes() -> None:
    """inspect, explain, scan's row and compare; one that is not known is unknown in all."""
    unknown = {**twins.CONFIG, **section("torchao")}
    for config, size, method, shown in (
        (GPT_OSS, GPT_OSS_BYTES, "mxfp4", "65.2 GB as stored (MXFP4)"),
        (unknown, None, "torchao", "unknown as stored (torchao)"),
    ):
        document = hfinspect.inspect(config).to_dict()
        assert (document["nbytes"], document["quantization"]["method"]) == (size, method)
        explained = hfinspect.explain(config)
        assert (explained.nbytes, explained.quantization) == (size, method)
        assert shown in (explained._repr_markdown_() or "")
        conforms(explained.to_dict(), "explanation")
        row = {name: COLUMNS[name].value(hfinspect.inspect(config)) for name in SIZES}
        assert row == {"quantization": method, "bits": 4 if size else None, "nbytes": size}
    models = hfinspect.compare(GPT_OSS, unknown).inspections
    assert [model.nbytes for model in models] == [GPT_OSS_BYTES, None]


def test_a_list_of_other_names_is_not_followed() -> None:
    """Where none of many names is in the tree, the files' modules have other names."""
    listed = [f"decoder.blocks.{layer}.attn.{letter}" for layer in range(2) for letter in "qkvo"]
    inspection = hfinspect.inspect({**twins.CONFIG, **blocks(modules_to_not_convert=listed)})
    assert inspection.nbytes is None
    assert "other names" in inspection.findings[-1].text
    known = blocks(modules_to_not_convert=[*listed, "lm_head"])
    assert hfinspect.inspect({**twins.CONFIG, **known}).nbytes is not None


@pytest.mark.parametrize(
    ("listed", "known"),
    [
        ("model.layers.0.mlp.down_proj", True),
        ("model.layers.0.mlp.gate.e_score_correction_bias", True),
        ("mtp.layers.0.mlp.down_proj", True),
        ("vision.blocks.0.attn.qkv", True),
        ("model.language_model.layers.0.mlp.down_proj", False),
        ("text.layers.0.mlp.down_proj", False),
    ],
)
def test_a_list_with_something_else_in_front_is_not_followed(listed: str, known: bool) -> None:
    """A name that fits a module of the files but for its beginning was written for other names;
    what the files do not have (multi-token prediction, a vision part) is no reason to doubt."""
    inspection = hfinspect.inspect(
        {**twins.CONFIG, **blocks(modules_to_not_convert=["lm_head", listed])}
    )
    assert (inspection.nbytes is not None) is known


def test_settings_of_the_packing_can_be_changed() -> None:
    """They change tensors; those that nothing reads are a note."""
    config = {**twins.CONFIG, **CONFIGS["gptq-4"]}
    inspection = hfinspect.inspect(config, overrides={"quantization_config.group_size": 64})
    assert inspection.quantization is not None
    assert inspection.quantization.group_size == 64
    assert inspection.nbytes != hfinspect.inspect(config).nbytes
    assert inspection.findings == ()
    idle = hfinspect.inspect(config, overrides={"quantization_config.desc_act": False})
    assert [finding.rule for finding in idle.findings] == ["override-without-effect"]


def test_an_awq_index_has_these_bytes() -> None:
    """DeepSeek-R1 by AutoAWQ in groups of 64: total_size of an index of 74 files. All in float16,
    the router's correction too, which the original keeps in float32."""
    config = corpus_config("deepseek-ai--DeepSeek-R1")
    kept = {"modules_to_not_convert": ["mlp.gate"], "zero_point": True}
    awq = section("awq", bits=4, group_size=64, version="gemm", **kept)
    inspection = hfinspect.inspect({**config, "torch_dtype": "float16", **awq})
    assert inspection.nbytes == 364_589_799_936
    assert inspection.parameters == 671_026_404_352
