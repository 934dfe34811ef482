"""The recipes by name: those that people publish and run, and what else they are called."""

import difflib
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from ...errors import UsageError


class Recipe(NamedTuple):
    """``name`` is what people write. ``kind`` is who makes it: ``stored`` (nobody: as it is),
    ``plain`` (one dtype for all), ``gguf`` (llama-quantize) or ``packed`` (a quantization_config).
    ``dtype`` is that of most weights, ``engine`` what runs it, ``about`` one line of help;
    ``imatrix`` says that the choice of types is the one made with an importance matrix."""

    name: str
    kind: str
    dtype: str
    engine: str
    about: str
    imatrix: bool = False


STORED: Final = "as stored"

_PLAIN: Final = ("F32", "F16", "BF16")

#: llama-quantize's names -> the type that most matrices get; the marked ones cannot be made without
#: an importance matrix. Source: ``llama_ftype_get_default_type`` and ``tensor_requires_imatrix``
#: in llama.cpp's src/llama-quant.cpp, commit 0c1e57098.
_GGUF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Q8_0": "Q8_0",
        "Q6_K": "Q6_K",
        "Q5_K_M": "Q5_K",
        "Q5_K_S": "Q5_K",
        "Q5_1": "Q5_1",
        "Q5_0": "Q5_0",
        "Q4_K_M": "Q4_K",
        "Q4_K_S": "Q4_K",
        "Q4_1": "Q4_1",
        "Q4_0": "Q4_0",
        "IQ4_NL": "IQ4_NL",
        "IQ4_XS": "IQ4_XS",
        "MXFP4_MOE": "MXFP4",
        "Q3_K_L": "Q3_K",
        "Q3_K_M": "Q3_K",
        "Q3_K_S": "Q3_K",
        "IQ3_M": "IQ3_S",
        "IQ3_S": "IQ3_S",
        "IQ3_XS": "IQ3_S",
        "IQ3_XXS": "IQ3_XXS",
        "Q2_K": "Q2_K",
        "Q2_K_S": "Q2_K",
        "IQ2_M": "IQ2_S",
        "IQ2_S": "IQ2_XS",
        "IQ2_XS": "IQ2_XS",
        "IQ2_XXS": "IQ2_XXS",
        "TQ2_0": "TQ2_0",
        "TQ1_0": "TQ1_0",
        "IQ1_M": "IQ1_M",
        "IQ1_S": "IQ1_S",
    }
)
NEEDS_IMATRIX: Final = frozenset("IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ2_M IQ3_XXS Q2_K_S".split())
#: Whose mix differs where an importance matrix is given, though it needs none.
_MAY_HAVE_IMATRIX: Final = ("IQ4_NL", "IQ4_XS", "Q4_0", "Q5_0")

_PACKED: Final = (
    ("FP8", "F8_E4M3", "vllm", "llm-compressor FP8_DYNAMIC: a scale for each row"),
    ("FP8 block", "F8_E4M3", "vllm", "a scale for 128 x 128 weights, as DeepSeek-V3"),
    ("FP8 per tensor", "F8_E4M3", "vllm", "llm-compressor FP8: a scale a matrix, and its inputs"),
    ("INT8 W8A8", "I8", "vllm", "llm-compressor W8A8: a scale for each row"),
    ("LLM.int8()", "I8", "transformers", "bitsandbytes, load_in_8bit"),
    ("AWQ 4-bit", "INT4", "vllm", "AutoAWQ: groups of 128 with zero points"),
    ("GPTQ 4-bit", "INT4", "vllm", "GPTQModel: groups of 128"),
    ("GPTQ 8-bit", "INT8", "vllm", "GPTQModel: groups of 128"),
    ("W4A16", "INT4", "vllm", "llm-compressor W4A16: groups of 128"),
    ("NVFP4", "NVFP4", "vllm", "llm-compressor NVFP4: groups of 16"),
    ("NVFP4A16", "NVFP4", "vllm", "llm-compressor NVFP4A16: groups of 16"),
    ("MXFP4", "MXFP4", "vllm", "experts in MXFP4, as gpt-oss"),
    ("NF4", "NF4", "transformers", "bitsandbytes, load_in_4bit: blocks of 64"),
    ("NF4 double", "NF4", "transformers", "bitsandbytes with bnb_4bit_use_double_quant"),
    ("MLX 8-bit", "8-bit", "mlx", "mlx_lm.convert -q: groups of 64, embeddings too"),
    ("MLX 6-bit", "6-bit", "mlx", "mlx_lm.convert -q: groups of 64, embeddings too"),
    ("MLX 4-bit", "4-bit", "mlx", "mlx_lm.convert -q: groups of 64, embeddings too"),
)


def _all() -> Iterator[Recipe]:
    yield Recipe(STORED, "stored", "", "", "the files as they are, or the config's dtype")
    for name in _PLAIN:
        yield Recipe(name, "plain", name, "", "every parameter in this dtype")
    for name, dtype in _GGUF.items():
        needs = name in NEEDS_IMATRIX
        about = "needs an importance matrix" if needs else "llama-quantize"
        yield Recipe(name, "gguf", dtype, "llama.cpp", about, needs)
    for name in _MAY_HAVE_IMATRIX:
        about = "llama-quantize --imatrix, which chooses other types"
        yield Recipe(f"{name} imatrix", "gguf", _GGUF[name], "llama.cpp", about, True)
    for name, dtype, engine, about in _PACKED:
        yield Recipe(name, "packed", dtype, engine, about)


#: Every recipe by its name, in the order of a table.
RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType({item.name: item for item in _all()})

#: What a small table shows.
DEFAULT_RECIPES: Final = (STORED, "FP8", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "AWQ 4-bit", "IQ4_XS")

#: What people write -> the recipe that is meant. ``int4`` and ``4bit`` are AutoAWQ's layout: of
#: what they may mean, weights of four bits with scales, head and embeddings left as they are.
_CALLED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "stored": "as stored",
        "original": "as stored",
        "none": "as stored",
        "fp32": "F32",
        "float32": "F32",
        "32bit": "F32",
        "full": "F32",
        "fp16": "F16",
        "float16": "F16",
        "half": "F16",
        "16bit": "BF16",
        "bfloat16": "BF16",
        "fp8dynamic": "FP8",
        "float8": "FP8",
        "f8": "FP8",
        "fp8e4m3": "FP8",
        "w8a8fp8": "FP8",
        "fp8blocks": "FP8 block",
        "blockfp8": "FP8 block",
        "finegrainedfp8": "FP8 block",
        "fp8tensor": "FP8 per tensor",
        "fp8static": "FP8 per tensor",
        "w8a8": "INT8 W8A8",
        "smoothquant": "INT8 W8A8",
        "int8w8a8": "INT8 W8A8",
        "int8": "LLM.int8()",
        "bnb8bit": "LLM.int8()",
        "loadin8bit": "LLM.int8()",
        "bitsandbytes8bit": "LLM.int8()",
        "8bit": "LLM.int8()",
        "bnbint8": "LLM.int8()",
        "int4": "AWQ 4-bit",
        "4bit": "AWQ 4-bit",
        "awq": "AWQ 4-bit",
        "awq4": "AWQ 4-bit",
        "gptq": "GPTQ 4-bit",
        "gptq4": "GPTQ 4-bit",
        "gptqint4": "GPTQ 4-bit",
        "autoround": "GPTQ 4-bit",
        "gptqint8": "GPTQ 8-bit",
        "gptq8": "GPTQ 8-bit",
        "compressedtensors": "W4A16",
        "w4": "W4A16",
        "fp4": "NVFP4",
        "bnb": "NF4",
        "bnb4bit": "NF4",
        "loadin4bit": "NF4",
        "bitsandbytes": "NF4",
        "bitsandbytes4bit": "NF4",
        "qlora": "NF4 double",
        "nf4doublequant": "NF4 double",
        "mlx": "MLX 4-bit",
        "mlx4": "MLX 4-bit",
        "mlx6": "MLX 6-bit",
        "mlx8": "MLX 8-bit",
        "q8": "Q8_0",
        "q6": "Q6_K",
        "q5": "Q5_K_M",
        "q5k": "Q5_K_M",
        "q4": "Q4_K_M",
        "q4k": "Q4_K_M",
        "gguf": "Q4_K_M",
        "ggml": "Q4_K_M",
        "q3": "Q3_K_M",
        "q3k": "Q3_K_M",
        "q2": "Q2_K",
        "mxfp4moe": "MXFP4_MOE",
        "ternary": "TQ2_0",
    }
)


def find_recipe(text: str) -> Recipe:
    """The recipe that a name means: ``q4_k_m``, ``Q4_K_M``, ``awq``, ``4bit``, ``mlx``.

    Raises UsageError, which names the nearest.
    """
    plain = _plain(text)
    names = {_plain(name): name for name in RECIPES}
    name = names.get(plain) or _CALLED.get(plain)
    if name is not None:
        return RECIPES[name]
    known = {**_CALLED, **names}
    nearest = difflib.get_close_matches(plain, known, n=1, cutoff=0.5)
    hint = f"the nearest is {known[nearest[0]]}" if nearest else None
    raise UsageError(
        f"width {text!r:.60}",
        "is not a recipe",
        hint=hint,
        expected="Q4_K_M, Q8_0, AWQ 4-bit, GPTQ 4-bit, FP8, NF4, MLX 4-bit, BF16 ...",
    )


def _plain(text: str) -> str:
    """Small letters and digits alone: Q4_K_M, q4-k-m and ``q4 k m`` are one name."""
    return re.sub(r"[^a-z0-9]", "", text[:80].lower())
