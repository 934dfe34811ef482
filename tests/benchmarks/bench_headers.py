"""CPU time for the headers of a model of DeepSeek-V3's size: ours next to the floor and the field.

    python -m tests.benchmarks.bench_headers

91,932 tensors in 163 headers, about 12 MB. All candidates run in one process, best of five, so that
their ratio means something whatever the machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from hfinspect.formats.safetensors.safetensors import shard_from_header
from hfinspect.formats.strict_json import collector_paused

from ..builders import header_text, safetensors_header

SHARDS = 163
TENSORS_PER_SHARD = 564
ROUNDS = 5


def headers() -> list[bytes]:
    return [
        header_text(
            safetensors_header(
                {
                    f"model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight_scale_inv": (
                        "BF16",
                        (7168, 2048),
                    )
                    for expert in range(TENSORS_PER_SHARD)
                },
                {"format": "pt"},
            )
        )
        for layer in range(SHARDS)
    ]


def seconds(run: Callable[[bytes], object], texts: list[bytes]) -> float:
    """The least CPU time of ROUNDS, everything kept until the end of a round as a caller would."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        kept = [run(text) for text in texts]
        best = min(best, time.process_time() - start)
        del kept
    return best


def paused(run: Callable[[bytes], object]) -> Callable[[bytes], object]:
    def with_pause(text: bytes) -> object:
        with collector_paused():
            return run(text)

    return with_pause


def hub_parser(text: bytes) -> object:
    from huggingface_hub import hf_api

    return hf_api._parse_safetensors_header(text, "x.safetensors", "")


def main() -> None:
    texts = headers()
    hub_parser(texts[0])
    candidates: dict[str, Callable[[bytes], object]] = {
        "json.loads alone, collector paused": paused(json.loads),
        "json.loads alone": json.loads,
        "hfinspect: parsed, checked, as tensors": lambda text: shard_from_header("x", text, None),
        "huggingface_hub: parsed, unchecked": hub_parser,
    }
    print(f"{SHARDS * TENSORS_PER_SHARD:,} tensors, {sum(map(len, texts)):,} bytes of headers")
    for name, run in candidates.items():
        print(f"{seconds(run, texts):6.3f} s  {name}")


if __name__ == "__main__":
    main()
