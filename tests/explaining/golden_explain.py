"""The worked examples as files under fixtures/reports/explain.

``python -m tests.explaining.golden_explain`` writes them anew: read the difference
before keeping it.
"""

from __future__ import annotations

from ..cli.program import ROOT, hfinspect

DIRECTORY = ROOT / "fixtures" / "reports" / "explain"

#: File -> arguments of ``hfinspect explain``.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "bloom-1b4-zh.txt": ("fixtures/models/bloom-1b4-zh",),
    "bloom-1b4-zh.md": ("fixtures/models/bloom-1b4-zh", "--format", "markdown"),
    "bloom-1b4-zh.tex": ("fixtures/models/bloom-1b4-zh", "--format", "latex"),
    "bert-base-uncased.txt": ("fixtures/models/bert-base-uncased",),
    "bert-base-uncased-tensors.txt": ("fixtures/models/bert-base-uncased", "--depth", "tensor"),
    "bert-base-uncased.md": ("fixtures/models/bert-base-uncased", "--format", "markdown"),
    "openai-gpt-against.txt": ("fixtures/models/openai-gpt", "--against", "115,740,736"),
    "bert-one-layer-against.txt": (
        "fixtures/models/bert-one-layer",
        "--depth",
        "model",
        "--against",
        "76207872",
    ),
    "gpt3-175b.txt": ("fixtures/models/gpt3-175b",),
    "gpt3-175b-model.txt": ("fixtures/models/gpt3-175b", "--depth", "model"),
    "llama-3-8b.txt": ("fixtures/models/llama-3-8b",),
    "mixtral-8x7b.txt": ("fixtures/models/mixtral-8x7b",),
    "deepseek-v3.txt": ("fixtures/models/deepseek-v3",),
    "deepseek-v3.tex": ("fixtures/models/deepseek-v3", "--format", "latex"),
}


def output_of(name: str) -> str:
    done = hfinspect("explain", *EXAMPLES[name], env={"COLUMNS": "80"})
    assert (done.code, done.err) == (0, "")
    return done.out


if __name__ == "__main__":
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        (DIRECTORY / example).write_text(output_of(example), encoding="utf-8")
