"""DeepSeek-OCR 2 (DeepSeek-AI 2026). No class in transformers; configs say model_type
``deepseek_vl_v2`` and class DeepseekOCR2ForCausalLM. Source of shapes: the index of
deepseek-ai/DeepSeek-OCR-2 (names and total) and the towers' names in its config.

As the first, but a Qwen2 decoder of half a billion parameters, without vocabulary, reads SAM's
output and then learned queries: 144 for a view of 768 pixels, 256 for one of 1024. Its sizes are
those of Qwen2-0.5B; the config says no more than ``qwen2-0-5b`` and the width.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Conv, Embedding, Layers, Module, RMSNorm, Weight
from .deepseek_ocr import SAM, sam_model, text_section
from .deepseek_vl_v2 import language_model, projector

#: Qwen2-0.5B.
QWEN2 = ModelConfig(
    {
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
        "num_attention_heads": 14, "num_key_value_heads": 2,
    }
)  # fmt: skip
QUERIES = {"query_768": 144, "query_1024": 256}


def _norm(width: Dim) -> Module:
    return RMSNorm(width, class_name="Qwen2RMSNorm")


def qwen2_model(c: ModelConfig) -> Module:
    width = c.dim("hidden_size")
    layer = Module(
        "Qwen2DecoderLayer",
        self_attn=grouped_attention(
            "Qwen2Attention", width, grouped_heads(c, width), bias=True, out_bias=False
        ),
        mlp=gated_mlp("Qwen2MLP", width, c.dim("intermediate_size")),
        input_layernorm=_norm(width),
        post_attention_layernorm=_norm(width),
    )
    layers = Layers.of(c.count("num_hidden_layers"), layer)
    inner = Module("CustomQwen2ModelInner", layers=layers, norm=_norm(width))
    queries = {key: Embedding(count, width, kind="query") for key, count in QUERIES.items()}
    return Module(
        "Qwen2Decoder2Encoder",
        {"model": Module("CustomQwen2Decoder", model=inner), **queries},
        part="vision",
    )


def _sam(out: Dim) -> Module:
    """The first's, its last convolution to the width of what follows."""
    tower = sam_model()
    tower.children["net_3"] = Conv(2 * SAM.dim("output"), out, 3, bias=False, stride=2)
    return tower


def causal_lm(config: ModelConfig) -> Module:
    c = text_section(config)
    base = language_model(c).inside("model")
    width, seen = c.dim("hidden_size", default=4096), QWEN2.dim("hidden_size")
    joining = config.section("projector_config").with_defaults(
        projector_type="linear", input_dim=int(seen), n_embed=int(width)
    )
    base.class_name = "DeepseekOCR2Model"
    base.children |= {
        "sam_model": _sam(seen),
        "qwen2_model": qwen2_model(QWEN2),
        "projector": projector(joining),
        "view_seperator": Weight(width, component=Component.EMBEDDING),
    }
    vocab = c.dim("vocab_size", default=102400)
    tied = "model.embed_tokens.weight" if c.tied(default=False) else None
    head = to_words(width, vocab, tied)
    return Module("DeepseekOCR2ForCausalLM", model=base, lm_head=head)


register(
    ("DeepseekOCR2", "deepseekocr2"),
    {"DeepseekOCR2ForCausalLM": causal_lm},
    category="multimodal",
    source="index of deepseek-ai/DeepSeek-OCR-2",
)
