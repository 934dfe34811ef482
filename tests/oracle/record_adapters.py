"""Record how many parameters peft's LoRA trains, for the tests of adapters that need no peft.

    pip install 'hfinspect[oracle]' peft
    python -m tests.oracle record adapters                # every type of the case files
    python -m tests.oracle record adapters llama mixtral  # these anew

The first class of each type that writes, or fills in words, or else its bare model is built on the
meta device; LoRA of rank 4 is counted at peft's default targets, at "all-linear", and at the names
of ``NAMED``. A count of null means that peft refuses.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from .record import FIXTURES, _build, entries

FILE = FIXTURES / "adapters.json"
RANK = 4
#: Classes by their endings, those first that are asked about first.
CLASSES = (
    "ForCausalLM",
    "LMHeadModel",
    "ForConditionalGeneration",
    "ForMaskedLM",
    "ForSequenceClassification",
    "MarianMTModel",
    "Model",
)
#: (type, targets, modules to save): tables, heads, experts by their old names.
NAMED: tuple[tuple[str, str, str], ...] = (
    ("llama", "q_proj,lm_head,embed_tokens", ""),
    ("llama", "q_proj", "lm_head,embed_tokens"),
    ("gpt2", "c_attn,wte", ""),
    ("gpt2", "attn.c_proj", "lm_head"),
    ("t5", "q,wo,shared", ""),
    ("t5", "relative_attention_bias", "lm_head"),
    ("bert", "attention.output.dense", "decoder"),
    ("mixtral", "w1,w3", ""),
    ("mixtral", "q_proj,w2,gate", ""),
    ("mixtral", "w1", ""),
    ("qwen3_moe", "gate_proj,up_proj,down_proj", ""),
    ("qwen3_moe", "k_proj,gate", ""),
    ("deepseek_v3", "kv_b_proj,down_proj", ""),
    ("gpt_oss", "o_proj", "embed_tokens"),
    ("switch_transformers", "wi", ""),
    ("mamba", "in_proj,x_proj", ""),
    ("mamba", "out_proj", ""),
)


def cases() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(entry, case) of each type's first class."""
    for path in sorted((FIXTURES / "cases").glob("*.json")):
        for entry in entries(path):
            first = first_case(entry)
            if entry.get("model_type") and not entry.get("library") and first is not None:
                yield entry, first


def first_case(entry: dict[str, Any]) -> dict[str, Any] | None:
    for ending in CLASSES:
        for case in entry["cases"]:
            if case["architecture"].endswith(ending):
                values: dict[str, Any] = case
                return values
    return None


def config_of(entry: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    removed = case.get("remove", ())
    given = {key: value for key, value in entry.get("tiny", {}).items() if key not in removed}
    return copy.deepcopy({**given, **case.get("config", {})})


def count(
    entry: dict[str, Any], case: dict[str, Any], targets: Any, saved: list[str] | None
) -> int | None:
    import torch
    from peft import LoraConfig, get_peft_model

    with torch.device("meta"):
        model = _build(entry, case["architecture"], config_of(entry, case))
        config = LoraConfig(r=RANK, target_modules=targets, modules_to_save=saved)
        try:
            parameters: int = get_peft_model(model, config).get_nb_trainable_parameters()[0]
        except Exception as error:
            print(entry["model_type"], targets, str(error)[:120], file=sys.stderr)
            return None
    return parameters


def main(kinds: list[str]) -> int:
    warnings.simplefilter("ignore")
    import transformers

    transformers.logging.set_verbosity_error()
    held = json.loads(FILE.read_text()) if FILE.exists() and kinds else []
    rows = {row["model_type"]: row for row in held}
    for entry, case in cases():
        kind = entry["model_type"]
        if kinds and kind not in kinds:
            continue
        row: dict[str, Any] = {"model_type": kind, "architecture": case["architecture"]}
        try:
            row["default"] = count(entry, case, None, None)
            row["all-linear"] = count(entry, case, "all-linear", None)
        except Exception as error:  # it cannot be built here
            print(kind, str(error)[:120], file=sys.stderr)
            continue
        named = {
            f"{targets} {saved}".strip(): count(
                entry, case, targets.split(","), saved.split(",") if saved else None
            )
            for of, targets, saved in NAMED
            if of == kind
        }
        rows[kind] = {**row, "named": named} if named else row
    lines = [json.dumps(rows[kind]) for kind in sorted(rows)]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
