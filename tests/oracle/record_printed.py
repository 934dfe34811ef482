"""Record print(model) of small models: ``python -m tests.oracle.record_printed`` (needs torch and
transformers). One file each in fixtures/oracle/printed, replayed by
tests/trees/test_structure.py."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "printed"

#: Model type, class, and what is changed in the default config.
MODELS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("bert", "BertForMaskedLM", {"num_hidden_layers": 2}),
    ("gpt2", "GPT2LMHeadModel", {"n_layer": 3}),
    ("openai-gpt", "OpenAIGPTLMHeadModel", {"n_layer": 1}),
    ("bloom", "BloomForCausalLM", {"n_layer": 2}),
    ("llama", "LlamaForCausalLM", {"num_hidden_layers": 4, "num_key_value_heads": 8}),
    ("mistral", "MistralForCausalLM", {"num_hidden_layers": 2}),
    ("qwen2", "Qwen2ForCausalLM", {"num_hidden_layers": 2}),
    ("qwen3", "Qwen3ForCausalLM", {"num_hidden_layers": 2, "head_dim": 64}),
)


def main() -> None:
    import torch
    import transformers

    FOLDER.mkdir(exist_ok=True)
    for model_type, architecture, changed in MODELS:
        config = transformers.AutoConfig.for_model(model_type, **changed)
        with torch.device("meta"):
            model = getattr(transformers, architecture)(config)
        given = json.loads(config.to_json_string(use_diff=False))
        record = {
            "version": transformers.__version__,
            "config": {**given, "architectures": [architecture]},
            "printed": str(model).splitlines(),
        }
        (FOLDER / f"{model_type}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
