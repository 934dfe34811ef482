"""Record what tensors quantising tools write: ``python -m tests.sizing.record_tool_layouts``.

Tiny random models are quantised on the CPU by each tool that is installed next to torch, and saved
by the tool itself; kept are the config and the names, dtypes and shapes of all tensors. Tools need
environments of their own: llm-compressor 0.14 with auto-round 0.15, GPTQModel 7.6, AutoAWQ 0.2.9
(torch 2.6, transformers 4.51). What is recorded already is
left. ``record_tool_layouts TOOL [MODEL ...]`` records a part.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from .tool_layouts import RECORD, header_of, packed, write

_SIZES = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": 320,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
_EXPERTS = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2}
#: Name -> (model type, class, keys of the config).
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("llama", "LlamaForCausalLM", {}),
    "llama-tied": ("llama", "LlamaForCausalLM", {"tie_word_embeddings": True}),
    "llama-biases": ("llama", "LlamaForCausalLM", {"attention_bias": True, "mlp_bias": True}),
    "llama-odd": ("llama", "LlamaForCausalLM", {"intermediate_size": 448}),
    "qwen2": ("qwen2", "Qwen2ForCausalLM", {}),
    "qwen3": ("qwen3", "Qwen3ForCausalLM", {}),
    "gemma2": ("gemma2", "Gemma2ForCausalLM", {}),
    "phi3": ("phi3", "Phi3ForCausalLM", {}),
    "mixtral": ("mixtral", "MixtralForCausalLM", _EXPERTS),
    "qwen3_moe": ("qwen3_moe", "Qwen3MoeForCausalLM", {**_EXPERTS, "moe_intermediate_size": 256}),
}
#: What a tool wrote: the case, and the folder.
_Case = tuple[str, Path]
_WORDS = [" ".join(f"w{(7 * row + at) % 320}" for at in range(32)) for row in range(160)]


def make(name: str, folder: Path) -> dict[str, Any]:
    """A tiny random model and a tokenizer in a folder; its config."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    kind, class_name, own = MODELS[name]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **{**_SIZES, **own})
    model = getattr(transformers, class_name)(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    words = Tokenizer(models.WordLevel({f"w{at}": at for at in range(320)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="w0", pad_token="w0", eos_token="w2"
    )
    tokenizer.save_pretrained(folder)
    document: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return document


def _tokens(count: int = 4) -> list[dict[str, list[int]]]:
    rows = [[int(word[1:]) for word in text.split()] for text in _WORDS[:count]]
    return [{"input_ids": row, "attention_mask": [1] * len(row)} for row in rows]


# ---- llm-compressor

_INT4 = {"num_bits": 4, "type": "int", "symmetric": True, "dynamic": False}
_FP8_TOKEN = {
    "num_bits": 8,
    "type": "float",
    "strategy": "token",
    "symmetric": True,
    "dynamic": True,
}
_WITHOUT_DATA = tuple(
    """FP8_DYNAMIC FP8_BLOCK W8A8 W8A16 W4A16 W4A16_ASYM W4A8 W4AFP8 W3A16 W2A16 W6A16 NVFP4A16
    MXFP4 MXFP4A16 MXFP8""".split()
)
_WITH_DATA = ("FP8", "NVFP4")


def _group(weights: dict[str, Any], *targets: str) -> dict[str, Any]:
    return {"targets": list(targets or ("Linear",)), "weights": weights}


def _own_groups() -> dict[str, dict[str, Any]]:
    """Schemes that have no name of their own."""
    fp8 = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True}
    four = {**_INT4, "strategy": "group", "group_size": 32}
    return {
        "W4A16 group 32": {"group_0": _group(four)},
        "W4A16 channel": {"group_0": _group({**_INT4, "strategy": "channel"})},
        "W4A16 group 32 asymmetric": {"group_0": _group({**four, "symmetric": False})},
        "W8A16 channel asymmetric": {
            "group_0": _group({**_INT4, "num_bits": 8, "strategy": "channel", "symmetric": False})
        },
        "FP8 attention, INT4 MLP": {
            "group_0": {
                **_group(fp8, r"re:.*self_attn\..*_proj$"),
                "input_activations": _FP8_TOKEN,
            },
            "group_1": _group(four, r"re:.*(mlp|experts).*_proj$", r"re:.*experts\.\d+\.w[123]$"),
        },
    }


_ROUTERS = ["lm_head", r"re:.*mlp\.gate$", r"re:.*block_sparse_moe\.gate$", r"re:.*mlp\.router$"]


def _llmcompressor(folder: Path, out: Path, done: Collection[str]) -> Iterator[_Case]:
    import torch
    import transformers
    from datasets import Dataset  # type: ignore[import-not-found, unused-ignore]
    from llmcompressor import oneshot  # type: ignore[import-not-found, unused-ignore]
    from llmcompressor.modifiers.gptq import (  # type: ignore[import-not-found, unused-ignore]
        GPTQModifier,
    )
    from llmcompressor.modifiers.quantization import (  # type: ignore[import-not-found, unused-ignore]
        QuantizationModifier,
    )

    def plain(**more: Any) -> Callable[[], Any]:
        return lambda: QuantizationModifier(ignore=_ROUTERS, **more)

    def ordered(order: str) -> Callable[[], Any]:
        return lambda: GPTQModifier(scheme="W4A16", actorder=order, ignore=_ROUTERS, **every)

    cache = {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True}
    every = {"targets": "Linear"}
    recipes: dict[str, tuple[Callable[[], Any], bool]] = {
        **{name: (plain(scheme=name, **every), False) for name in _WITHOUT_DATA},
        **{name: (plain(scheme=name, **every), True) for name in _WITH_DATA},
        **{name: (plain(config_groups=own), False) for name, own in _own_groups().items()},
        "FP8_DYNAMIC, cache FP8": (
            plain(scheme="FP8_DYNAMIC", kv_cache_scheme=cache, **every),
            True,
        ),
        "FP8_DYNAMIC with the head": (
            lambda: QuantizationModifier(scheme="FP8_DYNAMIC", ignore=_ROUTERS[1:], **every),
            False,
        ),
        **{
            f"GPTQ W4A16 actorder {order}": (ordered(order), True) for order in ("weight", "static")
        },
    }
    data = Dataset.from_list(_tokens())
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for name, (recipe, needs_data) in recipes.items():
        if name in done or (name.startswith("GPTQ") and folder.name not in ("llama", "qwen2")):
            continue  # GPTQ is slow, and alike
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
        target = out / str(len(list(out.iterdir())))
        calibration: dict[str, Any] = {"pipeline": "datafree"}
        if needs_data:
            calibration = {"dataset": data, "num_calibration_samples": 4, "max_seq_length": 32}
        try:
            oneshot(model=model, recipe=recipe(), tokenizer=tokenizer, **calibration)
            model.save_pretrained(target, save_compressed=True)
        except Exception as error:
            print(folder.name, name, type(error).__name__, str(error)[:200])
            continue
        yield name, target


# ---- auto-round


def _auto_round(folder: Path, out: Path, done: Collection[str]) -> Iterator[_Case]:
    from auto_round import AutoRound  # type: ignore[import-not-found, unused-ignore]

    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("W4A16", "auto_gptq", {}),
        ("W8A16", "auto_gptq", {}),
        ("W4A16", "auto_awq", {}),
        ("W4A16", "auto_awq", {"sym": False}),
        ("W4A16", "auto_round", {}),
        ("W4A16", "auto_round", {"sym": False, "group_size": 32}),
        ("W2A16", "auto_round", {}),
        ("W4A16", "llm_compressor", {}),
        ("INT8_W8A8", "llm_compressor", {}),
        ("FP8_STATIC", "llm_compressor", {}),
        ("FP8_BLOCK", "llm_compressor", {}),
        ("NVFP4", "llm_compressor", {}),
        ("MXFP4", "llm_compressor", {}),
        ("MXFP8", "llm_compressor", {}),
        ("MXFP4", "auto_round", {}),
        ("NVFP4", "auto_round", {}),
        ("FP8_BLOCK", "auto_round", {}),
    ]
    for scheme, layout, more in cases:
        name = ", ".join([f"{scheme} as {layout}", *(f"{key} {more[key]}" for key in more)])
        if name in done:
            continue
        target = out / str(len(list(out.iterdir())))
        try:
            made = AutoRound(
                str(folder),
                scheme=scheme,
                iters=0,
                disable_opt_rtn=True,
                nsamples=2,
                seqlen=16,
                device_map="cpu",
                **more,
            )
            made.quantize_and_save(str(target), format=layout)
        except BaseException as error:
            print(folder.name, scheme, layout, type(error).__name__, str(error)[:200])
            continue
        inner = sorted(target.rglob("config.json"))
        if inner:
            yield name, inner[0].parent


# ---- GPTQModel


def _gptqmodel(folder: Path, out: Path, done: Collection[str]) -> Iterator[_Case]:
    os.cpu_count = lambda: 8  # it fails where it counts two
    from gptqmodel import (  # type: ignore[import-not-found, unused-ignore]
        GPTQModel,
        QuantizeConfig,
    )

    cases: dict[str, dict[str, Any]] = {
        "4 bits": {"bits": 4, "group_size": 128},
        "4 bits, desc_act": {"bits": 4, "group_size": 128, "desc_act": True},
        "4 bits, groups of 32": {"bits": 4, "group_size": 32},
        "4 bits, no groups": {"bits": 4, "group_size": -1},
        "4 bits, not symmetric": {"bits": 4, "group_size": 128, "sym": False},
        "8 bits": {"bits": 8, "group_size": 128},
        "3 bits": {"bits": 3, "group_size": 128},
        "2 bits": {"bits": 2, "group_size": 128},
        "4 bits, gptq_v2": {"bits": 4, "group_size": 128, "format": "gptq_v2"},
    }
    for name, given in cases.items():
        if name in done:
            continue
        target = out / str(len(list(out.iterdir())))
        try:
            model = GPTQModel.load(str(folder), QuantizeConfig(**given), device="cpu")
            model.quantize(_tokens(), batch_size=1)
            model.save(str(target))
        except BaseException as error:
            print(folder.name, name, type(error).__name__, str(error)[:200])
            continue
        yield name, target


# ---- AutoAWQ


def _autoawq(folder: Path, out: Path, done: Collection[str]) -> Iterator[_Case]:
    from awq import AutoAWQForCausalLM  # type: ignore[import-not-found, unused-ignore]
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    for name, given in {
        "GEMM": {"version": "GEMM", "q_group_size": 128},
        "GEMM, groups of 32": {"version": "GEMM", "q_group_size": 32},
        "GEMV": {"version": "GEMV", "q_group_size": 128},
        "GEMVFast": {"version": "gemv_fast", "q_group_size": 128},
    }.items():
        if name in done:
            continue
        target = out / str(len(list(out.iterdir())))
        try:
            model = AutoAWQForCausalLM.from_pretrained(str(folder), device_map="cpu")
            settings = {"zero_point": True, "w_bit": 4, **given}
            model.quantize(
                tokenizer,
                quant_config=settings,
                calib_data=_WORDS,
                max_calib_samples=4,
                max_calib_seq_len=32,
            )
            model.save_quantized(str(target))
        except BaseException as error:
            print(folder.name, name, type(error).__name__, str(error)[:200])
            continue
        yield name, target


#: Distribution -> what it writes.
TOOLS: dict[str, Callable[[Path, Path, Collection[str]], Iterator[_Case]]] = {
    "llmcompressor": _llmcompressor,
    "auto-round": _auto_round,
    "gptqmodel": _gptqmodel,
    "autoawq": _autoawq,
}


def main(tool: str = "", *names: str) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    record: dict[str, Any] = {"tools": {}, "models": {}, "files": {}}
    if RECORD.exists():
        record = json.loads(RECORD.read_text())
    for name in names or MODELS:
        for one in [tool] if tool else TOOLS:
            try:
                record["tools"][one] = importlib.metadata.version(one)
            except importlib.metadata.PackageNotFoundError:
                continue
            with tempfile.TemporaryDirectory() as work:
                folder = Path(work) / name
                out = Path(work) / "out"
                out.mkdir()
                base = make(name, folder)
                model = {key: n for key, n in base.items() if key != "transformers_version"}
                record["models"].setdefault(name, model)
                start = f"{name}: {one}: "
                done = {case.removeprefix(start) for case in record["files"]}
                for case, target in TOOLS[one](folder, out, done):
                    config = json.loads((target / "config.json").read_text())
                    kept = packed(record["models"][name], config, header_of(target))
                    record["files"][start + case] = kept
                    write(record)
                    print(name, one, case, len(kept["tensors"]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
