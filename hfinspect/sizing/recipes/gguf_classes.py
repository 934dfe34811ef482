"""The classes whose conversion to GGUF is known: class -> ``general.architecture``. A row of the
table is an architecture and its classes.

Each was compared, tensor by tensor, with the file that llama.cpp's converter made of a tiny model
(fixtures/oracle/gguf_types.json; commit 0c1e57098, November 2026).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ...core.word_tables import by_word

GGUF_CLASSES: Final[Mapping[str, str]] = MappingProxyType(
    by_word(
        """
        afmoe: AfmoeForCausalLM
        apertus: ApertusForCausalLM
        arcee: ArceeForCausalLM
        baichuan: BaiChuanForCausalLM BaichuanForCausalLM
        bailingmoe: BailingMoeForCausalLM
        granitehybrid: BambaForCausalLM GraniteMoeHybridForCausalLM
        bert: BertForMaskedLM BertForSequenceClassification BertModel CamembertModel
            DistilBertForMaskedLM DistilBertModel RobertaForSequenceClassification RobertaModel
            XLMRobertaForSequenceClassification XLMRobertaModel
        bloom: BloomForCausalLM BloomModel
        chatglm: ChatGLMModel GlmForCausalLM
        cohere2: Cohere2ForCausalLM
        cohere2moe: Cohere2MoeForCausalLM
        command-r: CohereForCausalLM
        dbrx: DbrxForCausalLM
        deci: DeciLMForCausalLM
        deepseek: DeepseekForCausalLM
        deepseek2: DeepseekV2ForCausalLM DeepseekV3ForCausalLM Glm4MoeLiteForCausalLM
            KimiK25ForConditionalGeneration KimiVLForConditionalGeneration YoutuForCausalLM
        deepseek32: DeepseekV32ForCausalLM
        dots1: Dots1ForCausalLM
        dream: DreamModel
        ernie4_5: Ernie4_5ForCausalLM
        ernie4_5-moe: Ernie4_5_MoeForCausalLM
        exaone4: Exaone4ForCausalLM
        exaone: ExaoneForCausalLM
        exaone-moe: ExaoneMoeForCausalLM
        falcon: FalconForCausalLM RWForCausalLM
        falcon-h1: FalconH1ForCausalLM
        mamba: FalconMambaForCausalLM MambaForCausalLM
        gpt2: GPT2LMHeadModel
        starcoder: GPTBigCodeForCausalLM
        gptneox: GPTNeoXForCausalLM
        gemma2: Gemma2ForCausalLM
        gemma3: Gemma3ForCausalLM Gemma3ForConditionalGeneration
        gemma-embedding: Gemma3TextModel
        gemma3n: Gemma3nForCausalLM Gemma3nForConditionalGeneration
        gemma4: Gemma4ForCausalLM Gemma4ForConditionalGeneration
        gemma: GemmaForCausalLM
        glm4: Glm4ForCausalLM Glm4vForConditionalGeneration GlmOcrForConditionalGeneration
        glm4moe: Glm4MoeForCausalLM Glm4vMoeForConditionalGeneration SolarOpenForCausalLM
        glm-dsa: GlmMoeDsaForCausalLM
        gpt-oss: GptOssForCausalLM
        granite: GraniteForCausalLM
        granitemoe: GraniteMoeForCausalLM GraniteMoeSharedForCausalLM
        granite_swa: GraniteSWAForCausalLM
        hunyuan-dense: HunYuanDenseV1ForCausalLM
        hunyuan_vl: HunYuanVLForConditionalGeneration
        llama: IQuestCoderForCausalLM InternLM3ForCausalLM LlamaForCausalLM LlamaModel
            LlavaForConditionalGeneration MistralForCausalLM MixtralForCausalLM
            VoxtralForConditionalGeneration
        internlm2: InternLM2ForCausalLM
        jais: JAISLMHeadModel
        jais2: Jais2ForCausalLM
        jamba: JambaForCausalLM
        kimi-linear: KimiLinearForCausalLM
        laguna: LagunaForCausalLM
        lfm2: Lfm2ForCausalLM Lfm2Model
        lfm2moe: Lfm2MoeForCausalLM
        llama4: Llama4ForCausalLM Llama4ForConditionalGeneration
        mpt: MPTForCausalLM
        t5: MT5ForConditionalGeneration T5ForConditionalGeneration UMT5ForConditionalGeneration
        mamba2: Mamba2ForCausalLM
        mellum: MellumForCausalLM
        minicpm3: MiniCPM3ForCausalLM
        minicpm: MiniCPMForCausalLM
        minimax-m2: MiniMaxM2ForCausalLM
        mistral3: Ministral3ForCausalLM Mistral3ForConditionalGeneration
        modern-bert: ModernBertModel
        nemotron: NemotronForCausalLM
        nemotron_h: NemotronHForCausalLM
        olmo2: Olmo2ForCausalLM Olmo3ForCausalLM
        olmo: OlmoForCausalLM
        olmoe: OlmoeForCausalLM
        openelm: OpenELMForCausalLM
        orion: OrionForCausalLM
        paddleocr: PaddleOCRVLForConditionalGeneration
        pangu-embedded: PanguEmbeddedForCausalLM
        phi3: Phi3ForCausalLM
        phi2: PhiForCausalLM
        phimoe: PhiMoEForCausalLM
        qwen: QWenLMHeadModel
        qwen2: Qwen2AudioForConditionalGeneration Qwen2ForCausalLM Qwen2Model
        qwen2moe: Qwen2MoeForCausalLM
        qwen2vl: Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration
        qwen3: Qwen3ForCausalLM Qwen3Model
        qwen3moe: Qwen3MoeForCausalLM
        qwen3next: Qwen3NextForCausalLM
        qwen3vl: Qwen3VLForConditionalGeneration
        qwen3vlmoe: Qwen3VLMoeForConditionalGeneration
        qwen35: Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration
        qwen35moe: Qwen3_5MoeForCausalLM Qwen3_5MoeForConditionalGeneration
        seed_oss: SeedOssForCausalLM
        smollm3: SmolLM3ForCausalLM
        stablelm: StableLmForCausalLM
        starcoder2: Starcoder2ForCausalLM
        t5encoder: T5EncoderModel
        xverse: XverseForCausalLM
        """
    )
)
