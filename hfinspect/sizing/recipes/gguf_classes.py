"""The classes whose conversion to GGUF is known: class -> ``general.architecture``.

Each was compared, tensor by tensor, with the file that llama.cpp's converter made of a tiny model
(fixtures/oracle/gguf_types.json; commit 0c1e57098, November 2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

GGUF_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AfmoeForCausalLM": "afmoe", "ApertusForCausalLM": "apertus",
        "ArceeForCausalLM": "arcee", "BambaForCausalLM": "granitehybrid", "BertModel": "bert",
        "BloomForCausalLM": "bloom", "Cohere2ForCausalLM": "cohere2",
        "Cohere2MoeForCausalLM": "cohere2moe", "CohereForCausalLM": "command-r",
        "DeepseekV2ForCausalLM": "deepseek2", "DeepseekV32ForCausalLM": "deepseek32",
        "DeepseekV3ForCausalLM": "deepseek2", "DistilBertModel": "bert",
        "Dots1ForCausalLM": "dots1", "Ernie4_5ForCausalLM": "ernie4_5",
        "Ernie4_5_MoeForCausalLM": "ernie4_5-moe", "Exaone4ForCausalLM": "exaone4",
        "ExaoneMoeForCausalLM": "exaone-moe", "FalconForCausalLM": "falcon",
        "FalconH1ForCausalLM": "falcon-h1", "FalconMambaForCausalLM": "mamba",
        "GPT2LMHeadModel": "gpt2", "GPTBigCodeForCausalLM": "starcoder",
        "GPTNeoXForCausalLM": "gptneox", "Gemma2ForCausalLM": "gemma2",
        "Gemma3ForCausalLM": "gemma3", "Gemma3ForConditionalGeneration": "gemma3",
        "Gemma3nForCausalLM": "gemma3n", "Gemma4ForCausalLM": "gemma4",
        "GemmaForCausalLM": "gemma", "Glm4ForCausalLM": "glm4", "Glm4MoeForCausalLM": "glm4moe",
        "Glm4MoeLiteForCausalLM": "deepseek2", "GlmForCausalLM": "chatglm",
        "GlmMoeDsaForCausalLM": "glm-dsa", "GptOssForCausalLM": "gpt-oss",
        "GraniteForCausalLM": "granite", "GraniteMoeForCausalLM": "granitemoe",
        "GraniteMoeHybridForCausalLM": "granitehybrid",
        "GraniteMoeSharedForCausalLM": "granitemoe",
        "HunYuanDenseV1ForCausalLM": "hunyuan-dense", "Jais2ForCausalLM": "jais2",
        "JambaForCausalLM": "jamba", "LagunaForCausalLM": "laguna", "Lfm2ForCausalLM": "lfm2",
        "Lfm2MoeForCausalLM": "lfm2moe", "Llama4ForCausalLM": "llama4",
        "Llama4ForConditionalGeneration": "llama4",
        "LlamaForCausalLM": "llama", "Mamba2ForCausalLM": "mamba2", "MambaForCausalLM": "mamba",
        "MellumForCausalLM": "mellum", "MiniCPM3ForCausalLM": "minicpm3",
        "MiniMaxM2ForCausalLM": "minimax-m2", "MistralForCausalLM": "llama",
        "MixtralForCausalLM": "llama", "ModernBertModel": "modern-bert",
        "NemotronForCausalLM": "nemotron", "NemotronHForCausalLM": "nemotron_h",
        "Olmo2ForCausalLM": "olmo2", "Olmo3ForCausalLM": "olmo2", "OlmoForCausalLM": "olmo",
        "OlmoeForCausalLM": "olmoe", "Phi3ForCausalLM": "phi3", "PhiForCausalLM": "phi2",
        "Qwen2ForCausalLM": "qwen2", "Qwen2MoeForCausalLM": "qwen2moe",
        "Qwen2VLForConditionalGeneration": "qwen2vl",
        "Qwen2_5_VLForConditionalGeneration": "qwen2vl", "Qwen3ForCausalLM": "qwen3",
        "Qwen3MoeForCausalLM": "qwen3moe", "Qwen3NextForCausalLM": "qwen3next",
        "Qwen3VLForConditionalGeneration": "qwen3vl",
        "Qwen3VLMoeForConditionalGeneration": "qwen3vlmoe",
        "Qwen3_5ForConditionalGeneration": "qwen35",
        "Qwen3_5MoeForConditionalGeneration": "qwen35moe", "RobertaModel": "bert",
        "SeedOssForCausalLM": "seed_oss", "SmolLM3ForCausalLM": "smollm3",
        "SolarOpenForCausalLM": "glm4moe", "StableLmForCausalLM": "stablelm",
        "Starcoder2ForCausalLM": "starcoder2", "XLMRobertaModel": "bert",
        "YoutuForCausalLM": "deepseek2",
    }
)  # fmt: skip
