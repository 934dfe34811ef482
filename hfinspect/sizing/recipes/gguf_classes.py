"""The classes whose conversion to GGUF is known.

Each was compared, tensor by tensor, with the file that llama.cpp's converter made of a tiny model
(fixtures/oracle/gguf_types.json; commit 0c1e57098, November 2026). Which architecture of llama.cpp
a class becomes is in ``engine_classes.json``.
"""

from typing import Final

GGUF_CLASSES: Final = frozenset(
    """
    AfmoeForCausalLM ApertusForCausalLM ArceeForCausalLM BaiChuanForCausalLM BaichuanForCausalLM
    BailingMoeForCausalLM BambaForCausalLM BertForMaskedLM BertForSequenceClassification BertModel
    BloomForCausalLM BloomModel CamembertModel ChatGLMModel Cohere2ForCausalLM
    Cohere2MoeForCausalLM CohereForCausalLM DbrxForCausalLM DeciLMForCausalLM DeepseekForCausalLM
    DeepseekV2ForCausalLM DeepseekV32ForCausalLM DeepseekV3ForCausalLM DistilBertForMaskedLM
    DistilBertModel Dots1ForCausalLM DreamModel Ernie4_5_MoeForCausalLM Ernie4_5ForCausalLM
    Exaone4ForCausalLM ExaoneForCausalLM ExaoneMoeForCausalLM FalconForCausalLM FalconH1ForCausalLM
    FalconMambaForCausalLM Gemma2ForCausalLM Gemma3ForCausalLM Gemma3ForConditionalGeneration
    Gemma3nForCausalLM Gemma3nForConditionalGeneration Gemma3TextModel Gemma4ForCausalLM
    Gemma4ForConditionalGeneration GemmaForCausalLM Glm4ForCausalLM Glm4MoeForCausalLM
    Glm4MoeLiteForCausalLM Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration
    GlmForCausalLM GlmMoeDsaForCausalLM GlmOcrForConditionalGeneration GPT2LMHeadModel
    GPTBigCodeForCausalLM GPTNeoXForCausalLM GptOssForCausalLM GraniteForCausalLM
    GraniteMoeForCausalLM GraniteMoeHybridForCausalLM GraniteMoeSharedForCausalLM
    GraniteSWAForCausalLM HunYuanDenseV1ForCausalLM HunYuanVLForConditionalGeneration
    InternLM2ForCausalLM InternLM3ForCausalLM IQuestCoderForCausalLM Jais2ForCausalLM
    JAISLMHeadModel JambaForCausalLM KimiK25ForConditionalGeneration KimiLinearForCausalLM
    KimiVLForConditionalGeneration LagunaForCausalLM Lfm2ForCausalLM Lfm2Model Lfm2MoeForCausalLM
    Llama4ForCausalLM Llama4ForConditionalGeneration LlamaForCausalLM LlamaModel
    LlavaForConditionalGeneration Mamba2ForCausalLM MambaForCausalLM MellumForCausalLM
    MiniCPM3ForCausalLM MiniCPMForCausalLM MiniMaxM2ForCausalLM Ministral3ForCausalLM
    Mistral3ForConditionalGeneration MistralForCausalLM MixtralForCausalLM ModernBertModel
    MPTForCausalLM MT5ForConditionalGeneration NemotronForCausalLM NemotronHForCausalLM
    Olmo2ForCausalLM Olmo3ForCausalLM OlmoeForCausalLM OlmoForCausalLM OpenELMForCausalLM
    OrionForCausalLM PaddleOCRVLForConditionalGeneration PanguEmbeddedForCausalLM Phi3ForCausalLM
    PhiForCausalLM PhiMoEForCausalLM Qwen2_5_VLForConditionalGeneration
    Qwen2AudioForConditionalGeneration Qwen2ForCausalLM Qwen2Model Qwen2MoeForCausalLM
    Qwen2VLForConditionalGeneration Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration
    Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration Qwen3ForCausalLM Qwen3Model
    Qwen3MoeForCausalLM Qwen3NextForCausalLM Qwen3VLForConditionalGeneration
    Qwen3VLMoeForConditionalGeneration QWenLMHeadModel RobertaForSequenceClassification
    RobertaModel RWForCausalLM SeedOssForCausalLM SmolLM3ForCausalLM SolarOpenForCausalLM
    StableLmForCausalLM Starcoder2ForCausalLM T5EncoderModel T5ForConditionalGeneration
    UMT5ForConditionalGeneration VoxtralForConditionalGeneration
    XLMRobertaForSequenceClassification XLMRobertaModel XverseForCausalLM YoutuForCausalLM
    """.split()
)
