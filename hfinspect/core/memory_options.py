"""The options of ``memory``, each written once: ``hfinspect memory`` has its flags from here,
``hfinspect.memory`` its arguments, and what is sized (``sizing/memory_request.py``) its values.

A field is a new option. The order is that of ``--help``.
"""

from __future__ import annotations

from collections.abc import Sequence

from .choices import ENGINES, OPTIMIZERS
from .option_field import option, same_option
from .records import dataclass


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    """What the size of a cache depends on."""

    context: int | str | None = option(
        None,
        "Context length: 4096, 32k or 1M. Default: 8k, 32k and the model's own.",
        metavar="TOKENS",
        example="32k",
        other_names="ctx ctx_size n_ctx context_length context_size max_model_len max_length",
    )
    batch: int = option(
        1,
        "Number of sequences processed at once.",
        least=1,
        example="8",
        other_names="bs batch_size max_num_seqs",
    )
    engine: str = option("logical", f"Inference engine: {', '.join(ENGINES)}.", choices=ENGINES)
    cache_dtype: str | None = option(
        None,
        "Dtype of the KV cache: bf16, fp8, q8_0; in llama.cpp also keys/values apart: "
        "q8_0/f16. Default: the model's dtype.",
        flag="--kv-dtype",
        metavar="DTYPE",
        example="fp8",
        other_names="kv_cache_dtype cache_type_k cache_type_v ctk ctv",
    )
    encoder_tokens: int | None = option(
        None, "Number of encoder positions for cross-attention.", metavar="N", least=0
    )
    step_tokens: int | None = option(
        None,
        "Tokens per step: max_num_batched_tokens in vLLM (default 8,192), "
        "ubatch in llama.cpp (default 512).",
        metavar="N",
        least=1,
    )


@dataclass(frozen=True, kw_only=True)
class InferenceOptions(CacheOptions):
    """What the memory of inference depends on."""

    slots: int | None = option(
        None,
        "llama.cpp: number of server slots (-np). Default: the batch; llama-server's own "
        "default is 4.",
        metavar="N",
        least=1,
        example="4",
        other_names="np parallel n_parallel n_seq_max",
    )
    split_cache: bool = option(
        False,
        "llama.cpp: reserve a full context for each slot (--no-kv-unified).",
        other_names="no_kv_unified no_kvu",
    )
    swa_full: bool = option(
        False, "llama.cpp: keep the whole context in sliding-window layers (--swa-full)."
    )
    flash_attention: bool = option(
        True,
        "No fused attention: llama.cpp -fa off, transformers eager.",
        flag="--no-flash-attention",
        other_names="fa flash_attn",
    )
    on: str | None = option(
        None,
        "One or more cards: 4090, 24GB, 2x80GB, 8xH100. 'list' shows all names.",
        metavar="DEVICE",
        example="'RTX 4090'",
        other_names="gpu device vram card gpu_memory max_memory",
    )
    tensor_parallel: int = option(
        1,
        "Tensor parallelism: number of devices that share each layer.",
        flag="--tp",
        least=1,
        example="2",
        other_names="tensor_parallel_size",
    )
    pipeline_parallel: int = option(
        1,
        "Pipeline parallelism: number of stages.",
        flag="--pp",
        least=1,
        example="2",
        other_names="pipeline_parallel_size",
    )
    expert_parallel: int = option(
        1,
        "Expert parallelism: number of devices that share the experts.",
        flag="--ep",
        least=1,
        example="2",
        other_names="enable_expert_parallel",
    )
    bandwidth: str | None = option(
        None,
        "Memory bandwidth per device, such as 3.35TB/s; limits tokens per second.",
        metavar="RATE",
    )
    width: str | None = option(
        None,
        "Assume these weights instead of the stored ones: awq, fp8, q4_k_m.",
        metavar="RECIPE",
        example="int4",
        other_names="dtype dtypes quant quantize quantization bits recipe",
    )
    image: str | None = option(
        None,
        "Add the tokens of an image of this size in pixels to --context.",
        metavar="WxH",
        example="1024x1024",
        other_names="image_size resolution",
    )
    images: int = option(1, "Number of such images.", least=1, other_names="limit_mm_per_prompt")
    video: str | None = option(
        None,
        "Add the tokens of a video: width x height x frames that the model is given.",
        metavar="WxHxFRAMES",
        example="640x480x64",
    )
    audio: str | None = option(
        None, "Add the tokens of a sound of this length.", metavar="SECONDS", example="30s"
    )


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What the memory of training depends on, next to ``batch`` and ``encoder_tokens``."""

    train: str | None = option(
        None, "Estimate a training step instead: full, lora or qlora.", metavar="HOW"
    )
    rank: int = option(16, "Rank of the LoRA adapters.", least=1)
    targets: str | Sequence[str] | None = option(
        None,
        "Modules that get adapters: q_proj,v_proj or all-linear. Default: as in PEFT.",
        metavar="NAMES",
    )
    modules_to_save: str | Sequence[str] | None = option(
        None, "Modules to train in full: lm_head,embed_tokens.", metavar="NAMES"
    )
    seq: int | str | None = option(
        None,
        "Tokens per training sequence. Default: 2048, or the model's context.",
        metavar="TOKENS",
    )
    optimizer: str = option("adamw", f"Optimizer: {', '.join(OPTIMIZERS)}.", choices=OPTIMIZERS)
    precision: str = option(
        "mixed", "Training precision: mixed (float32 master weights), bf16, fp32 or amp (autocast)."
    )
    gpus: int = option(1, "Data parallelism: number of devices.", least=1)
    zero: int = option(0, "ZeRO stage; the devices share the training state.", least=0, most=3)
    checkpointing: bool = option(
        False, "Recompute activations layer by layer in the backward pass."
    )
    attention: str | None = option(
        None, "Attention kernel in training: sdpa or eager.", metavar="KERNEL"
    )


@dataclass(frozen=True, kw_only=True)
class MemoryOptions(TrainingOptions, InferenceOptions):
    """All options of ``memory``: first those of inference."""


@dataclass(frozen=True, kw_only=True)
class RowMemory:
    """Those of a scan: what the columns of memory depend on."""

    on: str | None = same_option(
        MemoryOptions, "on", "Add columns: does it fit 24GB, 2x80GB or 'RTX 4090'?"
    )
    context: int | str | None = same_option(
        MemoryOptions,
        "context",
        "Add memory columns at this context length, such as 8k. Default with --on: the model's "
        "own.",
    )
    batch: int = same_option(MemoryOptions, "batch", when="For memory")
    engine: str = same_option(MemoryOptions, "engine", when="For memory")
    cache_dtype: str | None = same_option(MemoryOptions, "cache_dtype", when="For memory")
