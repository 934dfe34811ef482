"""Record what quantising tools write: ``python -m tests.sizing.record_quantized_files``.

Tiny random models are quantised on the CPU and saved by the tool itself; kept are the config and
the bytes of all tensors of the file. Needs torch, transformers and bitsandbytes for NF4 and
LLM.int8(), and mlx with mlx_lm for MLX; what is not installed is left as it was recorded.
"""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[2] / "fixtures" / "oracle" / "quantized_files.json"
_SIZES = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "max_position_embeddings": 64,
}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("llama", "LlamaForCausalLM", {}),
    "llama-tied": ("llama", "LlamaForCausalLM", {"tie_word_embeddings": True}),
    "qwen2": ("qwen2", "Qwen2ForCausalLM", {}),
    "qwen3": ("qwen3", "Qwen3ForCausalLM", {"head_dim": 64}),
    "phi3": ("phi3", "Phi3ForCausalLM", {"pad_token_id": 0}),
}


def _bytes(folder: Path) -> int:
    """Of all tensors of the files in a folder."""
    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        content = path.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        total += sum(
            entry["data_offsets"][1] - entry["data_offsets"][0]
            for name, entry in header.items()
            if name != "__metadata__"
        )
    return total


def _bitsandbytes(folder: Path, out: Path) -> Iterator[tuple[str, int]]:
    import torch
    import transformers

    settings: dict[str, dict[str, Any]] = {
        "NF4": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        "NF4 double": {
            "load_in_4bit": True,
            "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_use_double_quant": True,
        },
        "LLM.int8()": {"load_in_8bit": True},
    }
    for name, given in settings.items():
        config = transformers.BitsAndBytesConfig(**given)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, quantization_config=config, dtype=torch.bfloat16, device_map="cpu"
        )
        target = out / name.replace(" ", "-")
        model.save_pretrained(target)
        yield name, _bytes(target)


def _mlx(folder: Path, out: Path) -> Iterator[tuple[str, int]]:
    from mlx_lm.utils import (  # type: ignore[import-not-found, unused-ignore]
        load_model,
        quantize_model,
        save_model,
    )

    for bits in (8, 6, 4):
        model, config = load_model(folder)
        model, _ = quantize_model(model, config, group_size=64, bits=bits)
        target = out / f"mlx-{bits}"
        save_model(target, model)
        yield f"MLX {bits}-bit", _bytes(target)


TOOLS: dict[str, Callable[[Path, Path], Iterator[tuple[str, int]]]] = {
    "bitsandbytes": _bitsandbytes,
    "mlx": _mlx,
}


def _record(
    tool: str, folder: Path, work: Path, versions: dict[str, str], sizes: dict[str, int]
) -> None:
    """What one tool writes; the other ones go on where it does not run."""
    try:
        sizes.update(TOOLS[tool](folder, work))
        versions[tool] = importlib.metadata.version(tool)
    except Exception as error:
        print(folder, tool, type(error).__name__, str(error)[:300])


def main() -> None:
    import torch
    import transformers

    kept: dict[str, Any] = {"versions": {}, "models": {}}
    if RECORD.exists():
        kept = json.loads(RECORD.read_text())
    for name, (kind, class_name, own) in MODELS.items():
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "model"
            torch.manual_seed(0)
            config = transformers.AutoConfig.for_model(kind, **{**_SIZES, **own})
            model = getattr(transformers, class_name)(config).to(torch.bfloat16)
            model.save_pretrained(folder)
            entry = kept["models"].setdefault(name, {"config": None, "bytes": {}})
            entry["config"] = json.loads((folder / "config.json").read_text())
            for tool in TOOLS:
                _record(tool, folder, Path(work), kept["versions"], entry["bytes"])
        print(name, entry["bytes"])
    RECORD.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
