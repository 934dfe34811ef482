"""Record print(model) of small models, for the test of the printed structure.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle record printed           # every model below
    python -m tests.oracle record printed llama     # of these types; others are passed over

One file each in fixtures/oracle/printed, replayed by tests/trees/test_structure.py.
"""

from __future__ import annotations

import argparse
import json
import sys
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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", help="model types; all if none is given")
    wanted = {name.replace("-", "_") for name in parser.parse_args().families}
    models = [one for one in MODELS if not wanted or one[0].replace("-", "_") in wanted]
    if not models:
        return 0
    import torch
    import transformers

    FOLDER.mkdir(exist_ok=True)
    for model_type, architecture, changed in models:
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
