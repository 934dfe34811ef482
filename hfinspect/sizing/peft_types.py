"""What peft 0.21.2 does by model type: default targets, names of experts, and what it refuses.

Read in its utils/constants.py, utils/transformers_weight_conversion.py and tuners_utils.py; counts
of every catalogued type are recorded (tests/oracle/record_adapters.py).
"""

from collections.abc import Mapping
from typing import Final

#: Names of gate, up, down and router before transformers 5, for the types where peft takes them.
_MIXTRAL: Final = ("w1", "w3", "w2", "gate")
_QWEN: Final = ("gate_proj", "up_proj", "down_proj", "gate")
OLD_NAMES: Final[Mapping[str, tuple[str, str, str, str]]] = {
    **dict.fromkeys(("mixtral", "minimax", "minimax_m2"), _MIXTRAL),
    **dict.fromkeys(
        """afmoe beam cohere2_moe deepseek_v2 deepseek_v3 deepseek_v32 dots1 ernie4_5_moe exaone_moe
        flex_olmo glm4_moe glm4_moe_lite glm4v_moe glm_moe_dsa hunyuan_v1_moe longcat_flash mellum
        olmoe qwen3_moe qwen3_next qwen3_omni_moe qwen3_omni_moe_text qwen3_omni_moe_thinker
        solar_open""".split(),
        _QWEN,
    ),
}

#: Types whose experts are linear layers of their own in transformers too.
SEPARATE_EXPERTS: Final = frozenset({"nllb-moe", "switch_transformers"})
#: Types whose router's class is made of nn.Linear under another name, and types whose router is a
#: linear layer in files alone.
LINEAR_ROUTERS: Final = frozenset({"llama4", "llama4_text", "phimoe"})
FILE_ROUTERS: Final = frozenset({"granitemoe", "granitemoehybrid", "granitemoeshared"})
#: Types of state-space models in which peft takes none of these layers.
MAMBAS: Final = frozenset({"falcon_h1", "falcon_mamba", "mamba", "mamba2", "nemotron_h"})
NOT_IN_MAMBAS: Final = ("out_proj", "conv1d")
#: Types whose layers have other names in transformers than in files, or are joined there.
RENAMED: Final = frozenset(
    """axk2 gradium_phonon_tts gte higgs_audio_v2 hrm_text inkling2 inkling2_text inkling_mm_model
    jina_embeddings_v3 kimi_k25 minimax_m3_vl molmo2_text nemo_speechlm nomic_bert qianfan_ocr radio
    rf_detr sapiens2 step3p5_vision step3p7 tipsv2 tipsv2_text_model tipsv2_vision_model
    unlimited_ocr unlimited_ocr_vision""".split()
)
#: Types whose layers to the vocabulary "all-linear" does not leave out, whose layers are of other
#: classes than their names say, or where peft fails.
NOT_ALL_LINEAR: Final = frozenset(
    """bark blip blt clvp clvp_decoder dia edgetam fine_acoustics fsmt glm4v_moe ibert luke
    mobilebert musicgen musicgen_decoder musicgen_melody musicgen_melody_decoder pp_doclayout_v3
    pp_doclayout_v4 pp_formulanet qwen2_5_omni qwen2_5_omni_dit qwen2_5_omni_talker qwen3_omni_moe
    qwen3_omni_moe_thinker rag semantic""".split()
)

_QV: Final = ("q_proj", "v_proj")
_BERT: Final = ("query", "value")
#: Model type -> names, where peft 0.21.2 has a default.
DEFAULT_TARGETS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        """bart opt gptj gpt_neo llama llama4 mistral mixtral stablelm gemma gemma2 gemma3_text
        qwen2 qwen3""".split(),
        _QV,
    ),
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra", "layoutlm"), _BERT),
    **dict.fromkeys(("t5", "mt5"), ("q", "v")),
    **dict.fromkeys(("bloom", "gpt_neox", "falcon", "chatglm"), ("query_key_value",)),
    **dict.fromkeys(("gpt2", "gpt-sw3", "gpt_bigcode"), ("c_attn",)),
    "blip-2": ("q", "v", "q_proj", "v_proj"),
    "deberta": ("in_proj",),
    "deberta-v2": ("query_proj", "value_proj"),
    "mpt": ("Wqkv",),
    "codegen": ("qkv_proj",),
    "phi": ("q_proj", "v_proj", "fc1", "fc2"),
    "nemotron_h": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "rwkv": ("key", "value", "receptance", "output"),
}
