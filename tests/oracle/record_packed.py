"""Records what transformers saves of small packed models: names, dtypes and shapes.

    python -m tests.oracle record packed            # writes fixtures/oracle/packed.json
    python -m tests.oracle record packed --all      # compares every recorded class, writes nothing
    python -m tests.oracle record packed --all bnb4 # of one method (packers.py)

A model is built on the meta device, its modules are replaced by the quantizer's own, and the names
are those that ``save_pretrained`` writes. ``--all`` takes one case of each class in ``recorded/``
and prints what differs from hfinspect's prediction: ``not saved`` is what the library refuses,
``unknown`` what hfinspect does.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from hfinspect.analysis.quantization.packed_layout import UndeterminedError
from hfinspect.analysis.quantization.packing import packing, rewritten
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.prediction import Prediction, is_saved, predict

from . import packers
from .deliberate import MODULE_NAMES
from .packers import Packer
from .saved import config_for

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "oracle"
BLOCKS = {"weight_block_size": [4, 4]}

#: Experts of four bits; their width has to be a multiple of 32.
FOUR_BITS = {"scale_fmt": "ue8m0", "expert_dtype": "fp4"}

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
    ("mobilebert-pre-training", BLOCKS),
    ("granitemoe-default", BLOCKS),
    ("granitemoeshared-base", {"weight_block_size": None}),
    ("inkling2_text-default", BLOCKS),
    ("qwen3_moe-default", {**BLOCKS, "activation_scheme": "static"}),
    ("mixtral-default", {"weight_block_size": None, "activation_scheme": "static"}),
    ("deepseek_v4-biased-tied", {**BLOCKS, **FOUR_BITS}),
    ("mistral4-base", {**BLOCKS, **FOUR_BITS}),
]

#: Cases of ``recorded/`` and other methods (packers.py).
OTHERS: list[tuple[str, str]] = [
    ("bert-mlm", "bnb4"),
    ("gpt2-base", "bnb4"),
    ("falcon-default", "bnb4"),
    ("granitemoe-default", "bnb4"),
    ("qwen3_moe-base", "bnb4"),
    ("mobilebert-pre-training", "bnb8"),
    ("t5-gated", "bnb8"),
    ("mixtral-default", "bnb8"),
    ("gpt2-base", "fbgemm"),
    ("falcon-default", "fbgemm"),
    ("camembert-maskedlm", "compressed"),
    ("gpt2-base", "compressed"),
    ("falcon-default", "compressed"),
    ("gemma3-default", "compressed"),
]

DTYPES = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "bool": "BOOL",
    "float64": "F64",
    "int32": "I32",
    "int8": "I8",
    "uint8": "U8",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
}

#: Methods whose own tools take experts apart before they pack them.
EXPERTS_APART = frozenset({"awq", "gptq", "compressed"})
#: Method and model type -> why the files that there are differ from what the library would make.
RELEASED = {
    ("gptq", "falcon"): "AutoGPTQ packs FalconLinear, as its definition of Falcon lists it",
    ("gptq", "deepseek_v4"): "of the base class optimum takes all names with h for blocks",
    ("gptq", "glm5_next_text"): "of the base class optimum takes all names with h for blocks",
    ("gptq", "modernvbert"): "optimum takes the head, whose name begins with h, for blocks",
    ("gptq", "qwen4_exp_text"): "of the base class optimum takes all names with h for blocks",
    ("gptq", "rwkv"): "optimum takes the head, whose name begins with h, for blocks",
}

Tensors = dict[str, tuple[str, tuple[int, ...]]]


def recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    """Label and recording of every case that transformers has saved."""
    for path in sorted((FIXTURES / "recorded").glob("*.json")):
        for label, one in json.loads(path.read_text()).items():
            if one.get("library") == "transformers" and "tensors" in one and "saved" in one:
                yield label, {**one, "saved": _with_floats(one["saved"])}


def _with_floats(value: Any) -> Any:
    """Infinity as a number: the library checks values before it reads its own spelling."""
    if isinstance(value, dict):
        spelled = value.get("__float__")
        return float(spelled) if spelled else {k: _with_floats(v) for k, v in value.items()}
    return [_with_floats(item) for item in value] if isinstance(value, list) else value


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
    tensors = {name: (_dtype(tensor), tuple(tensor.shape)) for name, tensor in state.items()}
    return json.loads(json.dumps(config)), tensors


def _lines(tensors: Tensors) -> list[str]:
    return [
        f"{name} {dtype} {'x'.join(map(str, shape)) or 'scalar'}"
        for name, (dtype, shape) in sorted(tensors.items())
    ]


def record() -> None:
    """Write the cases, a line a tensor."""
    every = dict(recorded())
    cases = []
    for label, settings in CASES:
        one = every[label]
        if "expert_dtype" in settings:
            one = {**one, "saved": {**one["saved"], "moe_intermediate_size": 32}}
        config, tensors = packed(one, settings)
        cases.append({"name": label, "config": config, "tensors": _lines(tensors)})
    for label, method in OTHERS:
        one = every[label]
        packer = packers.PACKERS[method]
        config = {**one["saved"], "dtype": "bfloat16", **packers.settings(packer)}
        tensors = Built(one).packed(packer, predict(config))
        name = f"{label}-{method}"
        cases.append({"name": name, "config": config, "tensors": _lines(tensors)})
    text = json.dumps(cases, indent=1)
    (FIXTURES / "packed.json").write_text(text + "\n")


class Built:
    """A model of a case, built when it is needed and used for every method."""

    def __init__(self, one: dict[str, Any]) -> None:
        self._one = one

    @cached_property
    def model(self) -> Any:
        import torch
        import transformers

        cls = getattr(transformers, self._one["architecture"])
        with torch.device("meta"):
            config = config_for(cls, self._one["saved"])
            return cls._from_config(config, dtype=torch.bfloat16)

    @cached_property
    def state(self) -> dict[str, Any]:
        from transformers.modeling_utils import remove_tied_weights_from_state_dict

        state = dict(self.model.state_dict())
        for name in getattr(self.model, "_keys_to_ignore_on_save", None) or ():
            state.pop(name, None)
        return dict(remove_tied_weights_from_state_dict(state, self.model))

    def packed(self, packer: Packer, prediction: Prediction) -> Tensors:
        """The tensors that are saved of the model when another method packed it."""
        from transformers.core_model_loading import revert_weight_conversion

        state = packers.replaced(packer, prediction, self.model, self.state)
        state = revert_weight_conversion(self.model, state)
        return {name: (_dtype(tensor), tuple(tensor.shape)) for name, tensor in state.items()}


def predicted_otherwise(packer: Packer, prediction: Prediction) -> Tensors:
    """hfinspect's. Raises UndeterminedError."""
    plan = packers.plan_of(packer, prediction)
    root = rewritten(plan, prediction)
    return {
        spec.name: (spec.dtype or "BF16", spec.shape)
        for spec in expected_tensors(root)
        if is_saved(spec)
    }


def _dtype(tensor: Any) -> str:
    return DTYPES[str(tensor.dtype).rpartition(".")[2]]


def _both(one: dict[str, Any], method: str, built: Built) -> tuple[Tensors, Tensors]:
    """What is saved, and what is predicted. Raises UndeterminedError for the latter."""
    if method == "fp8":
        config, tensors = packed(one, BLOCKS)
        layout = packing(predict(config), config)
        assert layout is not None
        if layout.specs is None:
            raise UndeterminedError(layout.findings[0].text)
        return tensors, {s.name: (s.dtype or layout.dtype or "", s.shape) for s in layout.tensors}
    packer = packers.PACKERS[method]
    prediction = predict({**one["saved"], "dtype": "bfloat16", **packers.settings(packer)})
    mine = predicted_otherwise(packer, prediction)
    return built.packed(packer, prediction), mine


def compare(methods: list[str]) -> None:
    """Print every class of which a prediction differs, and how many agree."""
    seen: set[tuple[str, str]] = set()
    counts = {method: Counter[str]() for method in methods}
    for label, one in recorded():
        key = one["model_type"], one["architecture"]
        if key in seen or one["model_type"] in MODULE_NAMES:  # known differences of names
            continue
        seen.add(key)
        built = Built(one)
        for method in methods:
            outcome, text = _outcome(one, method, built)
            counts[method][outcome] += 1
            if text:
                print(f"{method} {label}: {outcome}: {text}", flush=True)
    for method, outcomes in counts.items():
        print(f"{method}: {len(seen):,} classes: {dict(outcomes)}")


def _outcome(one: dict[str, Any], method: str, built: Built) -> tuple[str, str]:
    """What a comparison has found, and of what is not equal a line."""
    try:
        saved, mine = _both(one, method, built)
    except UndeterminedError as error:
        return "unknown", f"{error!s:.150}"
    except Exception as error:
        return "not saved", f"{type(error).__name__}: {error!s:.100}"
    names = sorted(mine.keys() | saved.keys())
    if method in EXPERTS_APART:
        names = [name for name in names if not re.search(r"experts\.\d+\.", name)]
    differs = [name for name in names if not _alike(name, mine, saved)]
    if not differs:
        return "equal", ""
    reason = RELEASED.get((method, one["model_type"]))
    if reason is not None:
        return "as released", reason
    name = differs[0]
    return "different", f"{len(differs)}, {name}: {mine.get(name)}, saved {saved.get(name)}"


def _alike(name: str, predicted: Tensors, stored: Tensors) -> bool:
    """Equal, but for the width of floats that stay as they are (libraries widen some while loading,
    AutoAWQ makes all float16) and the length of settings written as text."""
    mine = predicted.get(name)
    saved = stored.get(name)
    if mine == saved or mine is None or saved is None:
        return bool(mine == saved)
    if ".quant_state." in name:
        return True
    return bool(mine[1] == saved[1] and {mine[0], saved[0]} <= {"F32", "BF16", "F16"})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--all"]:
        compare(sys.argv[2:] or ["fp8", *packers.PACKERS])
    else:
        record()
