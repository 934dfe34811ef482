"""Records what transformers saves of small FP8 models: names, dtypes and shapes.

    python -m tests.oracle.record_packed            # writes fixtures/oracle/packed.json
    python -m tests.oracle.record_packed --all      # compares every recorded class, writes nothing

A model is built on the meta device, its modules are replaced by the quantizer's own, and the names
are those that ``save_pretrained`` writes. ``--all`` takes one case of each class in ``recorded/``
and prints what differs from hfinspect's prediction.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .saved import config_for

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "oracle"
BLOCKS = {"weight_block_size": [4, 4]}

#: Case of ``recorded/`` -> settings; each is another rule of what is packed.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("llama-default", BLOCKS),
    ("llama-sequence", BLOCKS),
    ("bert-mlm", BLOCKS),
    ("bert-answers", BLOCKS),
    ("gpt2-base", BLOCKS),
    ("t5-gated", BLOCKS),
    ("zamba-biases", BLOCKS),
    ("gemma3-default", BLOCKS),
    ("qwen3_moe-biased-tied", BLOCKS),
    ("qwen3_moe-base", {"weight_block_size": None}),
    ("mixtral-default", {**BLOCKS, "scale_fmt": "ue8m0"}),
    ("llama4_text-base", BLOCKS),
    ("llama4_text-biased-tied", {"weight_block_size": None}),
    ("mistral4-base", {**BLOCKS, "activation_scheme": "static"}),
    ("mistral4-default", {**BLOCKS, "modules_to_not_convert": ["mlp.experts", "lm_head"]}),
    ("hy_v3-base", BLOCKS),
    ("deepseek_v4-base", BLOCKS),
    ("wav2vec2-adapter", BLOCKS),
    ("musicgen-conditional-generation", BLOCKS),
]

_DTYPES = {
    "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "bool": "BOOL",
    "uint8": "U8", "float8_e4m3fn": "F8_E4M3", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip

Tensors = dict[str, tuple[str, tuple[int, ...]]]


def recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    """Label and recording of every case that transformers has saved."""
    for path in sorted((FIXTURES / "recorded").glob("*.json")):
        for label, one in json.loads(path.read_text()).items():
            if one.get("library") == "transformers" and "tensors" in one and "saved" in one:
                yield label, one


def packed(one: dict[str, Any], settings: dict[str, Any]) -> tuple[dict[str, Any], Tensors]:
    """The config that a save writes, and the tensors."""
    import torch
    import transformers
    from transformers import FineGrainedFP8Config
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import PrefixChange, revert_weight_conversion
    from transformers.modeling_utils import remove_tied_weights_from_state_dict
    from transformers.quantizers.auto import AutoHfQuantizer
    from transformers.quantizers.base import HfQuantizer

    cls = getattr(transformers, one["architecture"])
    with torch.device("meta"):
        model = cls._from_config(config_for(cls, one["saved"]), dtype=torch.bfloat16)
    told = FineGrainedFP8Config(**settings)
    quantizer = AutoHfQuantizer.from_config(told, pre_quantized=True)
    quantizer._process_model_before_weight_loading(model)
    state = dict(model.state_dict())
    for name in getattr(model, "_keys_to_ignore_on_save", None) or ():
        state.pop(name, None)
    state = remove_tied_weights_from_state_dict(state, model)
    # Not the quantizer's own renaming: it is for released files, and a load records what it used.
    names = [
        name
        for name in get_model_conversion_mapping(model, add_legacy=False)
        if not isinstance(name, PrefixChange)
    ]
    model._weight_conversions = HfQuantizer.update_weight_conversions(quantizer, names, model)
    if model._weight_conversions:
        state = revert_weight_conversion(model, state)
    config = {**one["saved"], "dtype": "bfloat16", "quantization_config": told.to_dict()}
    config["quantization_config"]["quant_method"] = "fp8"
    tensors = {
        name: (_DTYPES[str(tensor.dtype).rpartition(".")[2]], tuple(tensor.shape))
        for name, tensor in state.items()
    }
    return json.loads(json.dumps(config)), tensors


def record() -> None:
    """Write the cases, a line a tensor."""
    every = dict(recorded())
    cases = []
    for label, settings in CASES:
        config, tensors = packed(every[label], settings)
        lines = [
            f"{name} {dtype} {'x'.join(map(str, shape)) or 'scalar'}"
            for name, (dtype, shape) in sorted(tensors.items())
        ]
        cases.append({"name": label, "config": config, "tensors": lines})
    text = json.dumps(cases, indent=1)
    (FIXTURES / "packed.json").write_text(text + "\n")


def compare() -> None:
    """Print every class of which the prediction differs, and how many agree."""
    from hfinspect.analysis.quantization.packing import packing
    from hfinspect.trees.prediction import predict

    seen, equal = set(), 0
    for label, one in recorded():
        key = one["model_type"], one["architecture"]
        if key in seen:
            continue
        seen.add(key)
        try:
            config, tensors = packed(one, BLOCKS)
        except Exception as error:
            print(f"{label}: transformers: {type(error).__name__}: {error!s:.100}")
            continue
        found = packing(predict(config), config)
        assert found is not None
        if found.specs is None:
            print(f"{label}: {found.findings[0].text}")
            continue
        mine = {spec.name: (spec.dtype or found.dtype, spec.shape) for spec in found.tensors}
        differs = [
            name
            for name in sorted(mine.keys() | tensors.keys())
            if not _alike(mine.get(name), tensors.get(name))
        ]
        equal += not differs
        if differs:
            print(f"{label}: {len(differs)} differ, {differs[0]}: "
                  f"{mine.get(differs[0])}, saved {tensors.get(differs[0])}")  # fmt: skip
    print(f"{equal:,} of {len(seen):,} classes agree")


def _alike(mine: Any, saved: Any) -> bool:
    """Equal, but for the width of floats that stay as they are: the library widens some while
    loading, which is no matter of packing."""
    if mine == saved or mine is None or saved is None:
        return bool(mine == saved)
    return bool(mine[1] == saved[1] and {mine[0], saved[0]} == {"F32", "BF16"})


if __name__ == "__main__":
    if "--all" in sys.argv[1:]:
        compare()
    else:
        record()
