"""What the two loaders read whose refusals are judged, and the words that they know.

Of transformers: modeling_rope_utils.py, activations.py, modeling_utils.py. Of vLLM:
transformers_utils/config.py (which reads a config by the classes of transformers, its own types
aside), its layers of rotary embedding and of activations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...core.library_versions import TRANSFORMERS as TRANSFORMERS_RELEASE

TRANSFORMERS: Final = f"transformers {TRANSFORMERS_RELEASE}"
VLLM: Final = "vLLM 0.33.0"
BOTH: Final = f"{TRANSFORMERS} and {VLLM}"

#: Model types whose config vLLM reads by a class of its own.
VLLM_CONFIGS: Final = frozenset(
    {
        "afmoe",
        "axk1",
        "bagel",
        "chatglm",
        "modernvbert",
        "colpali",
        "colqwen3",
        "cosmos3_omni",
        "cosmos3_edge",
        "diffusion_gemma",
        "deepseek_vl_v2",
        "deepseek_v32",
        "deepseek_v4",
        "deepseek_v41",
        "dots3_note",
        "granite4_vision",
        "glm5_next",
        "glm5_next_text",
        "glm5_next_vision",
        "hyperclovax",
        "hy_v3",
        "hy_v4",
        "kimi_linear",
        "kimi_k25",
        "muse_glimmer",
        "muse_glimmer_text",
        "muse_glimmer_vision",
        "muse_glimmer_assistant",
        "minimax_m3_vl",
        "moss_transcribe_diarize",
        "nemotron",
        "olmo_hybrid",
        "step3p5",
        "qianfan_ocr",
        "qwen3_asr",
        "qwen3_next",
        "qwen4_exp",
        "qwen4_exp_text",
        "qwen3_5",
        "qwen3_5_text",
        "qwen3_5_moe",
        "qwen3_5_moe_text",
        "lfm2_moe",
        "inkling_mm_model",
    }
)

#: Rope type -> the keys that it cannot be without. ``original_max_position_embeddings`` is filled
#: in from ``max_position_embeddings``.
ROPE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "default": (),
    "axial": (),
    "proportional": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "longrope": ("short_factor", "long_factor"),
}
#: Types for which the length of training is filled in.
SCALED_FROM_ORIGINAL: Final = frozenset({"yarn", "llama3", "longrope"})
#: Types that vLLM knows and transformers does not -> the keys that they need there.
VLLM_ROPES: Final[Mapping[str, tuple[str, ...]]] = {
    "su": ("short_factor", "long_factor"),
    "mrope": ("mrope_section",),
    "ntk": ("factor",),
    "mllama4": (),
    "xdrope": ("alpha", "xdrope_section"),
    "deepseek_yarn": ("factor", "original_max_position_embeddings"),
    "deepseek_llama_scaling": ("factor", "original_max_position_embeddings"),
    "openpangu": ("mrope_section", "mrope_interleaved"),
    "telechat3-yarn": ("factor",),
}
#: (type, rope_type) that vLLM takes for one.
SAME_ROPES: Final = frozenset({("su", "longrope"), ("mrope", "default")})

#: Keys of transformers' ACT2FN.
ACTIVATIONS: Final = frozenset(
    {
        "gelu",
        "gelu_10",
        "gelu_fast",
        "gelu_new",
        "gelu_python",
        "gelu_pytorch_tanh",
        "gelu_python_tanh",
        "gelu_accurate",
        "hardswish",
        "laplace",
        "leaky_relu",
        "linear",
        "mish",
        "quick_gelu",
        "relu",
        "relu2",
        "relu6",
        "sigmoid",
        "silu",
        "sqrtsoftplus",
        "swish",
        "tanh",
        "prelu",
        "xielu",
    }
)
#: Names of layers that ``layer_types`` may have, old ones that are renamed among them.
LAYER_TYPES: Final = frozenset(
    {
        "full_attention",
        "sliding_attention",
        "chunked_attention",
        "window_attention",
        "indexed_attention",
        "compressed_sparse_attention",
        "heavily_compressed_attention",
        "minimax_m3_sparse",
        "conv",
        "moe",
        "hybrid",
        "hybrid_sliding",
        "reference_sliding_attention",
        "linear_attention",
        "mamba",
        "attention",
        "deepseek_sparse_attention",
        "qwen_sparse_attention",
    }
)
#: Activations of vLLM, which looks them up in lower case.
VLLM_ACTIVATIONS: Final = frozenset(
    {
        "gelu",
        "gelu_fast",
        "gelu_new",
        "gelu_pytorch_tanh",
        "relu",
        "relu2",
        "silu",
        "quick_gelu",
        "tanh",
        "sigmoid",
        "xielu",
    }
)

#: Floating dtypes of torch that a class can be built in.
FLOATS: Final = frozenset({"float16", "half", "bfloat16", "float32", "float", "float64", "double"})
#: Other dtypes of torch.
OTHER_DTYPES: Final = frozenset(
    {
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn_x2",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "int8",
        "int16",
        "short",
        "int32",
        "int",
        "int64",
        "long",
        "bool",
        "complex32",
        "complex64",
        "complex128",
        "chalf",
        "cfloat",
        "cdouble",
    }
)

#: Implementations of attention that transformers has without a kernel of the Hub (``owner/name``).
ATTENTIONS: Final = frozenset(
    {
        "eager",
        "sdpa",
        "flex_attention",
        "flash_attention_2",
        "flash_attention_3",
        "flash_attention_4",
    }
)
