"""The recorder of engines' lists, on small sources of the same form."""

from __future__ import annotations

import ast
from pathlib import Path

from .record_engine_lists import (
    argparse_flags,
    assigned,
    classes_in,
    functions_in,
    least_capability,
    llama_flags,
    of_mlx_lm,
    of_optimum_onnx,
    quantize_words,
    sglang_flags,
    where,
    widths,
)
from .tensorrt_lists import (
    ARCHITECTURES,
    CARDS,
    QUANTIZED,
    SERVE,
    SUPPORTED,
    click_flags,
    of_tensorrt_llm,
)

KERNELS = """
class Base:
    @classmethod
    def is_supported(cls, compute_capability=None):
        if not current_platform.is_cuda():
            return False, "CUDA"
        if compute_capability is not None and compute_capability < 100:
            return False, "100"
        return True, None

class Inherits(Base):
    pass

class OneFamily:
    @classmethod
    def is_supported(cls, compute_capability=None):
        if not current_platform.is_device_capability_family(120):
            return False, "12x"
        return True, None

class BySize:
    @classmethod
    def is_supported(cls, compute_capability=None):
        if compute_capability not in (100, 103) and not (
            compute_capability >= 120 and compute_capability < 130
        ):
            return False, "sm_100 or sm_12x"
        return True, None

class Compiled:
    @classmethod
    def is_supported(cls, compute_capability=None):
        return cutlass_fp8_supported(), None

class Least:
    @classmethod
    def get_min_capability(cls):
        return 75

def cutlass_fp8_supported():
    return ops.cutlass_scaled_mm_supports_fp8(capability)
"""
METHODS = """
class Plain:
    TYPE_MAP = {(4, True): a, (8, True): b}
    def get_min_capability(self): return 80

class Npu:
    def get_min_capability(self):
        if _is_npu:
            raise NotImplementedError("no")
        else:
            return 75

class Both:
    def get_min_capability(self):
        if _is_hip:
            return 94
        return 100 if self.use_mxfp8 else 80

class Musa:
    def get_min_capability(self):
        return 60 if not _is_musa else 21

class Asks:
    def get_min_capability(self):
        return Other.get_min_capability()
"""


def written(folder: Path, path: str, text: str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_conditions_of_kernels(tmp_path: Path) -> None:
    file = written(tmp_path, "kernels.py", KERNELS)
    classes = classes_in(tmp_path)
    asked = functions_in([file])
    conditions = {name: where(cls, classes, asked) for name, cls in classes.items()}
    assert conditions == {
        "Base": (100, []),
        "Inherits": (100, []),
        "OneFamily": (0, [120]),
        "BySize": (0, [100, 120]),
        "Compiled": (89, []),
        "Least": (75, []),
    }


def test_the_least_capability_is_that_of_cuda(tmp_path: Path) -> None:
    written(tmp_path, "methods.py", METHODS)
    classes = classes_in(tmp_path)
    capabilities = {name: least_capability(cls, classes, "fp8") for name, cls in classes.items()}
    assert capabilities == {"Plain": 80, "Npu": 75, "Both": 80, "Musa": 60, "Asks": None}
    assert least_capability(classes["Both"], classes, "mxfp8") == 100
    assert widths(classes["Plain"]) == [(4, True), (8, True)]


def test_flags_of_parsers(tmp_path: Path) -> None:
    parser = 'group.add_argument("--max-model-len", "-m", **kwargs["max_model_len"])\\nf("--no")'
    file = written(tmp_path, "a.py", parser.replace("\\n", "\n"))
    assert argparse_flags(file) == {"--max-model-len", "-m"}
    written(tmp_path, "sglang/srt/server_args.py", "")
    fields = (
        'class A:\n    tp_size: A[int, Arg(aliases=["--tensor"])] = 1\n    _x: A[int, "h"] = 1\n'
    )
    written(tmp_path, "sglang/srt/arg_groups/fields/b.py", fields)
    assert sglang_flags(tmp_path) == {"--tp-size", "--tensor"}
    options = 'add_opt(common_arg(\n{"-ngl", "--gpu-layers"}, "N", "x {\\"a\\"}"'
    written(tmp_path, "vendor/llama.cpp/common/arg.cpp", options)
    assert llama_flags(tmp_path) == {"-ngl", "--gpu-layers"}
    tool = '{ "Q4_K_M", LLAMA_FTYPE_MOSTLY_Q4_K_M, "4.58G" }; strcmp(argv[1], "--pure")'
    written(tmp_path, "vendor/llama.cpp/tools/quantize/quantize.cpp", tool)
    assert quantize_words(tmp_path) == {"Q4_K_M", "--pure"}


def test_types_of_mlx_lm_and_of_the_exporter(tmp_path: Path) -> None:
    written(tmp_path, "mlx_lm/models/llama.py", "class Model: pass\nclass ModelArgs: pass\n")
    own = "class Model:\n    def make_cache(self): pass\nclass ModelArgs: pass\n"
    written(tmp_path, "mlx_lm/models/mamba.py", own)
    written(tmp_path, "mlx_lm/models/cache.py", "class KVCache: pass\n")
    utils = """
MODEL_REMAPPING = {"mistral": "llama"}
def _compressed_tensors_quantization(c):
    if fmt == "pack-quantized": return {}
def load_model(p):
    if quant_method == "mxfp4": pass
    elif quant_method in ("awq", "gptq"): pass
"""
    written(tmp_path, "mlx_lm/utils.py", utils)
    lists = of_mlx_lm(tmp_path)
    assert (lists["types"], lists["renamed"]) == (["llama", "mamba"], {"mistral": "llama"})
    assert lists["own_caches"] == ["mamba"]
    assert lists["methods"] == ["awq", "gptq", "mxfp4"]
    assert lists["compressed"] == ["pack-quantized"]
    configs = """
COMMON = ["fill-mask", "feature-extraction"]
@register_tasks_manager_onnx("bert", *COMMON)
class A: pass
@register_tasks_manager_onnx("gpt2", *[*COMMON, "text-generation"])
class B: pass
"""
    written(tmp_path, "optimum/exporters/onnx/model_configs.py", configs)
    types = of_optimum_onnx(tmp_path)["types"]
    assert types["bert"] == ["feature-extraction", "fill-mask"]
    assert "text-generation" in types["gpt2"]


def test_lists_of_tensorrt_llm(tmp_path: Path) -> None:
    written(
        tmp_path, ARCHITECTURES, 'MODEL_ARCH_TO_MODULE = {"B": "m", "A": "m"}\nX = {"C": "m"}\n'
    )
    quantized = """
def load(hf_quant_config):
    if hf_quant_config.get("quant_method") == "gptq":
        if hf_quant_config.get("bits") != 4: raise ValueError
        if hf_quant_config.get("group_size") not in (64, 128): raise ValueError
    elif hf_quant_config.get("quant_method") == "nvfp4":
        assert hf_quant_config.get("group_size", 16) == 16
"""
    written(tmp_path, QUANTIZED, quantized)
    serve = """
@click.command("serve")
@click.option("--tensor_parallel_size", "--tp_size", type=int)
@click.option("--config", "options", default=None)
def serve(model): pass
@click.option("--other")
def encoder(model): pass
"""
    written(tmp_path, SERVE, serve)
    cards = """## Hardware Support Matrix

| Model | NVFP4 | FP8 KV Cache | W4A16 GPTQ |
| :--- | :---: | :---: | :---: |
| Blackwell(sm120) | Y | Y | . |
| Ampere | . | Y | Y |

## Links
"""
    written(tmp_path, CARDS, cards)
    page = (
        "| `D` [^5] | x |\n| `E` | x |\n| `F` [^6]| x |\n[^5]: by [AutoDeploy](a).\n[^6]: text.\n"
    )
    written(tmp_path, SUPPORTED, page)
    paths = (ARCHITECTURES, QUANTIZED, SERVE, CARDS, SUPPORTED)
    written(tmp_path, "COMMITS", "".join(f"{path} 0abc\n" for path in paths))
    assert of_tensorrt_llm(tmp_path) == {
        "version": "0abc",
        "files": dict.fromkeys(paths, "0abc"),
        "classes": ["A", "B"],
        "autodeploy": ["D"],
        "methods": ["gptq", "modelopt", "nvfp4"],
        "gptq": {"bits": [4], "groups": [64, 128]},
        "cards": {"NVFP4": [120, 121], "W4A16 GPTQ": [80, 86]},
    }
    assert click_flags(tmp_path) == {"--tensor_parallel_size", "--tp_size", "--config"}


def test_an_assignment_is_found_by_its_name() -> None:
    tree = ast.parse("A: dict = {1: 2}\nB = [3]")
    assert ast.unparse(assigned(tree, "B")) == "[3]"
