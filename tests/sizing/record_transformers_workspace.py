"""What ``generate()`` of a real transformers takes next to weights and cache:
``fixtures/oracle/transformers_workspace.json``.

Makes small random models in bfloat16, and follows the bytes of all storages that a call makes, from
each operation of torch to the next, until they are freed. Needs torch and transformers::

    python -m tests.sizing.record_transformers_workspace [MODEL ...]

With names, only these are recorded again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "transformers_workspace.json"

_TOKENS = {"vocab_size": 8000, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_STACK = {"num_hidden_layers": 2, "max_position_embeddings": 4096, **_TOKENS}
_GROUPED = {
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_act": "silu",
    **_STACK,
}
_HEADS = {**_GROUPED, "head_dim": 64}
_WIDE = {**_HEADS, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16}
_WIDE["vocab_size"] = 32000
_TWO_KINDS = {"sliding_window": 64, "layer_types": ["sliding_attention", "full_attention"]}
_OLD = {"n_embd": 512, "n_layer": 2, "n_head": 8, "n_positions": 4096, **_TOKENS}
_FEW = {"num_experts_per_tok": 2, "moe_intermediate_size": 384}
_CORRECTED = {
    "n_routed_experts": 8,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
}
_LATENTS = {
    **_GROUPED,
    "num_key_value_heads": 8,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 192,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "n_shared_experts": 1,
    **_FEW,
}
#: Name -> config.json; the type is the name up to a space.
MODELS: dict[str, dict[str, Any]] = {
    "llama": _GROUPED,
    "llama wide": _WIDE,
    "llama narrow": {**_GROUPED, "hidden_size": 128, "intermediate_size": 344, "head_dim": 16},
    "mistral": {**_GROUPED, "sliding_window": 64},
    "qwen2": _GROUPED,
    "qwen3": _HEADS,
    "qwen3 wide": _WIDE,
    "gemma": {**_HEADS, "hidden_act": "gelu_pytorch_tanh"},
    "gemma2": {**_HEADS, **_TWO_KINDS, "hidden_activation": "gelu_pytorch_tanh"},
    "gemma3_text": {**_HEADS, **_TWO_KINDS, "hidden_activation": "gelu_pytorch_tanh"},
    "gemma3_text wide": {**_WIDE, **_TWO_KINDS, "hidden_activation": "gelu_pytorch_tanh"},
    "phi3": _GROUPED,
    "phi": {**_GROUPED, "num_key_value_heads": 8, "hidden_act": "gelu_new"},
    "olmo2": _GROUPED,
    "cohere": _GROUPED,
    "granite": _GROUPED,
    "stablelm": _GROUPED,
    "smollm3": _GROUPED,
    "starcoder2": {**_GROUPED, "intermediate_size": 2048, "hidden_act": "gelu_pytorch_tanh"},
    "gpt2": {**_OLD, "activation_function": "gelu_new"},
    "gptj": {**_OLD, "rotary_dim": 32, "activation_function": "gelu_new"},
    "opt": {
        **_STACK,
        "hidden_size": 512,
        "ffn_dim": 2048,
        "num_attention_heads": 8,
        "word_embed_proj_dim": 512,
        "activation_function": "relu",
    },
    "gpt_neox": {
        **_STACK,
        "hidden_size": 512,
        "intermediate_size": 2048,
        "num_attention_heads": 8,
        "hidden_act": "gelu",
    },
    "bloom": {"hidden_size": 512, "n_layer": 2, "n_head": 8, **_TOKENS},
    "falcon": {**_STACK, "hidden_size": 512, "num_attention_heads": 8, "activation": "gelu"},
    "mixtral": {**_GROUPED, "num_local_experts": 8, "num_experts_per_tok": 2},
    "qwen2_moe": {**_GROUPED, **_FEW, "num_experts": 8, "shared_expert_intermediate_size": 1024},
    "qwen3_moe": {**_HEADS, **_FEW, "num_experts": 16},
    "qwen3_moe wide": {**_WIDE, **_FEW, "num_experts": 16, "num_experts_per_tok": 8},
    "olmoe": {**_GROUPED, "num_experts": 8, "num_experts_per_tok": 2},
    "gpt_oss": {**_HEADS, **_TWO_KINDS, "num_local_experts": 8, "num_experts_per_tok": 2},
    "deepseek_v3": _LATENTS,
    # Recorded when the rule was written.
    "olmo3": {**_HEADS, **_TWO_KINDS},
    "exaone4": {**_HEADS, **_TWO_KINDS},
    "nemotron": {**_GROUPED, "hidden_act": "relu2"},
    "ernie4_5": _GROUPED,
    "glm4": _HEADS,
    "cohere2": {**_GROUPED, **_TWO_KINDS},
    "helium": _HEADS,
    "seed_oss": _HEADS,
    "hunyuan_v1_dense": _HEADS,
    "gpt_bigcode": {**_OLD, "activation_function": "gelu_pytorch_tanh"},
    "gpt_neo": {
        **_STACK,
        "hidden_size": 512,
        "num_layers": 2,
        "num_heads": 8,
        "intermediate_size": 2048,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 64,
        "activation_function": "gelu_new",
    },
    "persimmon": {**_GROUPED, "num_key_value_heads": 8, "hidden_act": "relu2"},
    "glm4_moe": {**_HEADS, **_FEW, **_CORRECTED},
    "ernie4_5_moe": {**_GROUPED, **_FEW, "moe_num_experts": 8, "moe_k": 2},
    "phimoe": {**_GROUPED, "num_local_experts": 8, "num_experts_per_tok": 2},
    "dots1": {**_HEADS, **_FEW, **_CORRECTED},
}


class Case(NamedTuple):
    """One call: an attention (empty: the type's own), ``padded``: half of the first prompt."""

    attention: str
    static: bool
    batch: int
    tokens: int
    padded: bool


#: Of all models; the last two of those that have both kernels.
CASES = (
    Case("", False, 1, 16, False),
    Case("", False, 1, 384, False),
    Case("", False, 4, 96, True),
    Case("eager", False, 1, 384, False),
    Case("", True, 2, 96, True),
)
#: Latents have heads of two widths, which no fused kernel of torch's takes on a CPU.
_EAGER = ("deepseek_v3",)
#: Tokens that a call generates.
_NEW = 2


def _peak(model: Any, case: Case) -> tuple[int, int]:
    """Most bytes of a call, and bytes of its cache in the end."""
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Following(TorchDispatchMode):  # type: ignore[misc]
        """Storages that operations made and nobody freed."""

        def __init__(self, known: set[int]) -> None:
            super().__init__()
            self.known, self.peak = known, 0
            self.alive: dict[int, tuple[Any, int]] = {}

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = func(*args, **(kwargs or {}))
            for tensor in tree_leaves(given):
                if isinstance(tensor, torch.Tensor):
                    storage = tensor.untyped_storage()
                    if storage._cdata not in self.known:
                        self.alive[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
            self.alive = {key: one for key, one in self.alive.items() if not one[0].expired()}
            self.peak = max(self.peak, sum(nbytes for _, nbytes in self.alive.values()))
            return given

    ids = torch.randint(3, model.config.vocab_size, (case.batch, case.tokens))
    mask = torch.ones_like(ids)
    if case.padded:
        mask[0, : case.tokens // 2] = 0
    known = {t.untyped_storage()._cdata for t in (*model.parameters(), *model.buffers(), ids, mask)}
    kind = {"cache_implementation": "static"} if case.static else {}
    with torch.no_grad(), Following(known) as following:
        made = model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=_NEW,
            do_sample=True,
            eos_token_id=[],
            return_dict_in_generate=True,
            **kind,
        )
    rows = [t for layer in made.past_key_values.layers for t in (layer.keys, layer.values)]
    stores = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in rows}
    return following.peak, sum(stores.values())


def measured(name: str) -> list[list[Any]]:
    """The cases of a model: each with its peak and its cache, in bytes."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(name.partition(" ")[0], **MODELS[name])
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    own = "eager" if name in _EAGER else model.config._attn_implementation
    rows = []
    for case in CASES:
        if case.attention == own:
            continue
        model.set_attn_implementation(case.attention or own)
        try:
            peak, cache = _peak(model, case)
        except (ValueError, NotImplementedError) as error:
            print(f"{name} {case}: {error}"[:160])
            continue
        rows.append([name, case.attention or own, *case[1:], peak, cache])
        print(rows[-1], flush=True)
    return rows


def main(names: list[str]) -> None:
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    held = json.loads(RECORD.read_text()) if names else {"rows": []}
    rows = [row for row in held["rows"] if row[0] not in names]
    for name in names or MODELS:
        rows += measured(name)
    columns = ("model", *Case._fields, "peak", "cache")
    record = {
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "models": MODELS,
        "columns": columns,
        "rows": rows,
    }
    RECORD.write_text(json.dumps(record) + "\n")
    print(f"{len(rows)} rows of transformers {transformers.__version__}")


if __name__ == "__main__":
    main(sys.argv[1:])
