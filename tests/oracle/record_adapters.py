"""Record how many parameters peft's LoRA trains, for the tests of adapters that need no peft.

    pip install 'hfinspect[oracle]' peft
    python -m tests.oracle.record_adapters

The first language model of each case file that peft knows default targets for, and some more, is
built on the meta device; LoRA of rank 4 at the default targets and at "all-linear" is counted.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from typing import Any

from .record import FIXTURES, _build

FILE = FIXTURES / "adapters.json"
RANK = 4
#: Types without default targets, for "all-linear" alone.
MORE = ("phi3", "olmo2", "granite", "cohere", "starcoder2", "glm4", "smollm3", "qwen3_next",
        "deepseek_v3", "mamba", "gpt_oss", "qwen3_moe")  # fmt: skip
CLASSES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM")


def main() -> int:
    warnings.simplefilter("ignore")
    import torch
    import transformers
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as DEFAULTS

    transformers.logging.set_verbosity_error()
    found: list[dict[str, Any]] = []
    for path in sorted((FIXTURES / "cases").glob("*.json")):
        held = json.loads(path.read_text())
        for entry in held if isinstance(held, list) else [held]:
            kind = entry.get("model_type")
            if entry.get("library") or kind not in {*DEFAULTS, *MORE}:
                continue
            cases = [c for c in entry["cases"] if c["architecture"].endswith(CLASSES)]
            for asked in (["default"] if kind in DEFAULTS else []) + ["all-linear"]:
                with torch.device("meta"):
                    found += _recorded(entry, cases[:1], asked)
    lines = [json.dumps(row) for row in found]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return 0


def _recorded(
    entry: dict[str, Any], cases: list[dict[str, Any]], asked: str
) -> list[dict[str, Any]]:  # fmt: skip
    from peft import LoraConfig, get_peft_model

    for case in cases:
        given = {k: v for k, v in entry.get("tiny", {}).items() if k not in case.get("remove", ())}
        given = copy.deepcopy({**given, **case.get("config", {})})
        model = _build(entry, case["architecture"], given)
        targets = None if asked == "default" else asked
        row: dict[str, Any] = {
            "model_type": entry["model_type"], "architecture": case["architecture"],
            "config": given, "targets": asked, "rank": RANK,
        }  # fmt: skip
        try:
            adapted = get_peft_model(model, LoraConfig(r=RANK, target_modules=targets))
        except Exception as error:
            print(entry["model_type"], asked, str(error)[:150], file=sys.stderr)
            return []
        names = {
            name.split(".lora_A")[0].rsplit(".", 1)[-1]
            for name, _ in adapted.named_parameters()
            if ".lora_A" in name
        }
        count, _ = adapted.get_nb_trainable_parameters()
        return [{**row, "names": sorted(names), "parameters": count}]
    return []


if __name__ == "__main__":
    sys.exit(main())
