"""Time to know every tensor of DeepSeek-V3 from its config: ours next to transformers' meta device.

    pip install 'hfinspect[oracle]'
    python -m tests.benchmarks.bench_predict
    python -m tests.benchmarks.bench_predict path/to/config.json

Both run in one process, best of five, so that their ratio means something whatever the machine;
importing torch and transformers, which hfinspect does without, is timed apart.  On the meta device
the experts are still fused, so transformers lists far fewer tensors than the file holds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hfinspect.trees.prediction import predict

DEFAULT: dict[str, Any] = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]}
ROUNDS = 5


def seconds(run: Callable[[], object]) -> float:
    """The least wall-clock time of ROUNDS."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def ours(config: dict[str, Any]) -> tuple[int, int, int]:
    prediction = predict(config)
    return prediction.parameters, prediction.active_parameters, len(prediction.tensors)


def main() -> int:
    config = json.loads(Path(sys.argv[1]).read_text()) if len(sys.argv) > 1 else DEFAULT
    start = time.perf_counter()
    parameters, active, tensors = ours(config)
    first = time.perf_counter() - start
    again = seconds(lambda: ours(config))
    print(f"{parameters:,} parameters, {active:,} active, {tensors:,} tensors")
    print(f"hfinspect       {first:8.3f} s at first, {again:.3f} s again")

    start = time.perf_counter()
    import torch
    import transformers

    imports = time.perf_counter() - start
    values = {key: value for key, value in config.items() if key != "quantization_config"}
    cls = getattr(transformers, values["architectures"][0])

    def theirs() -> int:
        with torch.device("meta"):
            model = cls._from_config(cls.config_class(**values))
        return sum({id(p): p.numel() for p in model.parameters()}.values())

    if theirs() != parameters:
        print("the two disagree", file=sys.stderr)
        return 1
    built = seconds(theirs)
    print(f"transformers    {imports:8.3f} s to import, {built:.3f} s on the meta device")
    print(f"ratio           {built / again:8.1f} x, {(imports + built) / first:.1f} x from a start")
    return 0


if __name__ == "__main__":
    sys.exit(main())
