"""Quantisations side by side in one repo."""

from __future__ import annotations

import pytest

from hfinspect.checkpoints.variants import Variant, gguf_variants, label_of
from hfinspect.sources.source import FileEntry


def test_split_files_are_joined_and_other_things_left_out() -> None:
    sizes = {
        "m-Q8_0.gguf": 80,
        "BF16/m-BF16-00001-of-00002.gguf": 100,
        "BF16/m-BF16-00002-of-00002.gguf": 60,
        "m-Q2_K-00001-of-00002.gguf": 20,  # the second half is missing
        "mmproj-m-f16.gguf": 10,
        "model.safetensors": 160,
        "README.md": 1,
    }
    files = {path: FileEntry(path, size) for path, size in sizes.items()}
    assert gguf_variants(files) == (
        Variant("Q8_0", ("m-Q8_0.gguf",), 80),
        Variant(
            "BF16", ("BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf"), 160
        ),
    )


def test_unknown_size_is_not_taken_for_nothing() -> None:
    assert gguf_variants({"m.gguf": FileEntry("m.gguf")}) == (Variant("", ("m.gguf",), None),)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("Llama-3.1-8B-Instruct-Q4_K_M.gguf", "Q4_K_M"),
        ("llama-2-7b.Q5_0.gguf", "Q5_0"),
        ("model.IQ2_XXS.gguf", "IQ2_XXS"),
        ("qwen2-0_5b-instruct-q4_k_m.gguf", "Q4_K_M"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("bitnet-TQ2_0.gguf", "TQ2_0"),
        ("m-fp16.gguf", "FP16"),
        ("m-UD-Q4_K_XL.gguf", "Q4_K_XL"),
        ("Q3_K_L/m-00001-of-00003.gguf", "Q3_K_L"),
        ("QwQ-32B.gguf", ""),
        ("ggml-model.gguf", ""),
    ],
)
def test_labels_are_those_of_llama_cpp(path: str, label: str) -> None:
    assert label_of(path) == label
