"""What SGLang's own rule leaves free next to weights and cache:
``fixtures/oracle/sglang_reserve.json``.

Runs the functions of SGLang that set ``chunked_prefill_size``, the CUDA graphs and
``mem_fraction_static``; all its other modules are replaced by empty ones, as the rule computes with
numbers only::

    PYTHONPATH=SOURCE_OF_SGLANG python -m tests.sizing.record_sglang_reserve
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import json
import sys
from importlib.metadata import distributions
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "sglang_reserve.json"
#: Modules that run as they are.
_REAL = {
    "sglang.srt.arg_groups.cuda_graph_hook",
    "sglang.srt.arg_groups.memory_hook",
    "sglang.srt.arg_groups.model_override_base",
    "sglang.srt.arg_groups.overrides",
    "sglang.srt.environ",
    "sglang.srt.model_executor.cuda_graph_config",
}
#: Cards in MiB as drivers report them, around each limit of the rule.
CARDS = (
    *(8188, 12282, 15360, 16376, 20470, 20475, 24564, 32607, 40960, 46068, 49140, 65536, 81559),
    *(97871, 143771, 183359, 196608, 288000),
)
#: (devices that share each layer, stages)
SPLITS = ((1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 4))
#: Architecture, latents, layers and width of its vision tower; None where SGLang reads none.
MODELS: dict[str, tuple[str, bool, tuple[int, int] | None]] = {
    "llama-3-8b": ("LlamaForCausalLM", False, None),
    "deepseek-v3": ("DeepseekV3ForCausalLM", True, None),
    "minicpm3-4b": ("MiniCPM3ForCausalLM", True, None),
    "deepseek-v4": ("DeepseekV4ForCausalLM", False, None),
    "kimi-linear": ("KimiLinearForCausalLM", True, None),
    "gemma-3-27b": ("Gemma3ForConditionalGeneration", False, (27, 1152)),
    "mistral-small-3": ("Mistral3ForConditionalGeneration", False, (24, 1024)),
    "qwen3-vl-8b": ("Qwen3VLForConditionalGeneration", False, (24, 1152)),
    "glm-5-next": ("Glm5NextForConditionalGeneration", True, (24, 1536)),
    "qwen3.5-27b": ("Qwen3_5ForConditionalGeneration", False, (27, 1152)),
    "internvl-78b": ("InternVLChatModel", False, (45, 3200)),
    "kimi-vl": ("KimiVLForConditionalGeneration", True, (27, 1152)),
    "a small tower": ("LlavaForConditionalGeneration", False, (12, 768)),
}


#: Those with Kimi's delta attention.
_DELTA = ("KimiLinearForCausalLM", "Glm5NextForConditionalGeneration")


class _Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages without their ``__init__``, and empty modules for all that is not ``_REAL``."""

    def __init__(self, source: Path) -> None:
        self.source = source

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.partition(".")[0] != "sglang" or name in _REAL:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        folder = self.source.joinpath(*spec.name.split("."))
        if any(real.startswith(f"{spec.name}.") for real in _REAL):
            module = ModuleType(spec.name)
        else:
            module = MagicMock(name=spec.name)
        module.__spec__ = spec
        module.__path__ = [str(folder)]
        module.__name__ = spec.name
        return module

    def exec_module(self, module: ModuleType) -> None:
        return None


def _lists(source: Path) -> dict[str, list[str]]:
    """Lists of classes in ``configs/model_config.py``."""
    lists: dict[str, list[str]] = {}
    tree = ast.parse((source / "sglang/srt/configs/model_config.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            names = [str(e.value) for e in node.value.elts if isinstance(e, ast.Constant)]
            lists[ast.unparse(node.targets[0])] = names
    return lists


def _answer() -> None:
    """What the rule asks of modules that do not run: kinds of models and of machines."""
    memory_hook: Any = importlib.import_module("sglang.srt.arg_groups.memory_hook")
    configs: Any = importlib.import_module("sglang.srt.configs.model_config")
    configs.AttentionArch = SimpleNamespace(MLA="MLA", MHA="MHA")
    configs.is_deepseek_v4 = lambda config: config.architectures[0].startswith("DeepseekV4")
    configs.is_minimax_sparse = lambda config: False
    configs.uses_kda_attention = lambda config: config.architectures[0] in _DELTA
    parallel: Any = importlib.import_module("sglang.srt.layers.cp.bcg")
    parallel.supports_prefill_cp_bcg = lambda arguments: False
    overrides: Any = importlib.import_module("sglang.srt.arg_groups.model_overrides.qwen3_vl")
    overrides.expand_multimodal_decode_graph_to_running_limit = lambda *arguments: None
    memory_hook.get_platform = lambda: SimpleNamespace(is_xpu=False)
    memory_hook.attn_dp_enabled_of = lambda config: False


def resolved(
    mib: int, split: tuple[int, int], model: str, lists: dict[str, list[str]], *, amd: bool
) -> tuple[int, int, float]:
    """Tokens of a step, sequences of the largest decoding graph and ``mem_fraction_static``."""
    memory_hook: Any = importlib.import_module("sglang.srt.arg_groups.memory_hook")
    cuda_graph_hook: Any = importlib.import_module("sglang.srt.arg_groups.cuda_graph_hook")
    graphs: Any = importlib.import_module("sglang.srt.model_executor.cuda_graph_config")
    architecture, latents, vision = MODELS[model]
    memory_hook.get_device_memory_capacity = lambda device: float(mib)
    tower = {} if vision is None else {"num_hidden_layers": vision[0], "hidden_size": vision[1]}
    utils: Any = importlib.import_module("sglang.srt.utils")
    utils.is_cuda = lambda: not amd
    captured = lists["multimodal_breakable_cuda_graph_supported_model_archs"]
    arguments = SimpleNamespace(
        _model_config=SimpleNamespace(
            attention_arch="MLA" if latents else "MHA",
            is_multimodal=architecture in lists["multimodal_model_archs"]
            and architecture not in lists["mm_disabled_models"],
            is_multimodal_breakable_cuda_graph_supported=architecture in captured,
            hf_config=SimpleNamespace(
                architectures=[architecture], vision_config=SimpleNamespace(**tower)
            ),
        ),
        _cuda_graph_config_locked=set(),
        cuda_graph_config=graphs.default_cuda_graph_config(),
        tp_size=split[0],
        pp_size=split[1],
        **_ARGUMENTS,
    )
    cuda_graph_hook.apply_cuda_graph_compatibility(arguments)
    memory_hook.handle_gpu_memory_settings(arguments)
    now = memory_hook.resolving_view(arguments)
    step = now.chunked_prefill_size
    sequences = now.cuda_graph_config.decode.max_bs
    return step, sequences, now.mem_fraction_static


#: Of ``ServerArgs``, as its fields leave them where nobody chose.
_ARGUMENTS: dict[str, Any] = {
    "chunked_prefill_size": None,
    "mem_fraction_static": None,
    "max_prefill_tokens": 16384,
    "max_running_requests": None,
    "max_total_tokens": None,
    "device": "cuda",
    "model_path": "model",
    "speculative_algorithm": None,
    "speculative_num_draft_tokens": None,
    "disaggregation_mode": "null",
    "disable_cuda_graph_padding": False,
    "torch_compile_max_bs": 32,
    "enable_torch_compile": False,
    "enable_symm_mem": False,
    "language_only": False,
    "language_model_only": False,
    "enable_kv_cache_sharding": False,
    "attn_dp_size": 1,
    "attn_cp_size": 1,
    "dcp_size": 1,
    "moe_a2a_backend": "none",
    "enable_two_batch_overlap": False,
}


def main() -> None:
    source = next(Path(one) for one in sys.path if (Path(one) / "sglang/srt").is_dir())
    sys.meta_path.insert(0, _Empty(source))
    for name in sorted(_REAL):
        importlib.import_module(name)
    _answer()
    lists = _lists(source)
    version = next(iter(distributions(name="sglang", path=[str(source)]))).version
    rows = [
        [model, mib, *split, amd, *resolved(mib, split, model, lists, amd=amd)]
        for model in MODELS
        for mib in CARDS
        for split in SPLITS
        for amd in (False, True)
        if not amd or split == (1, 1)
    ]
    models = {
        model: {
            "architecture": architecture,
            "latents": latents,
            "vision": vision,
            "delta": architecture in _DELTA,
        }
        for model, (architecture, latents, vision) in MODELS.items()
    }
    columns = ("model", "mib", "tensor", "stages", "amd", "step", "sequences", "fraction")
    record = {"sglang": version, "models": models, "columns": columns, "rows": rows}
    RECORD.write_text(json.dumps(record) + "\n")
    print(f"{len(rows)} rows of SGLang {version}")


if __name__ == "__main__":
    main()
