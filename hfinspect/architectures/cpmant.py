"""CPM-Ant (OpenBMB 2022). Source of shapes: transformers/models/cpmant/modeling_cpmant.py.

Pre-norm decoder with learned prompts in the word table, segments, and relative positions shared by
all layers. The class ties nothing, whatever tie_word_embeddings says.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import without_static_cache
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    return Module("CpmAntLayerNorm", weight=Weight(_hidden(c)), component=Component.NORM)


def _heads(c: ModelConfig) -> Dim:
    return c.dim("num_attention_heads", default=32)


def attention(c: ModelConfig) -> Module:
    h, width = _hidden(c), _heads(c) * c.dim("dim_head", default=128)
    return Module(
        "CpmAntSelfAttentionBlock",
        layernorm_before_attention=_norm(c),
        self_attention=Module(
            "CpmAntAttention",
            project_q=Linear(h, width, bias=False, kind="query"),
            project_k=Linear(h, width, bias=False, kind="key"),
            project_v=Linear(h, width, bias=False, kind="value"),
            attention_out=Linear(width, h, bias=False, kind="output"),
        ),
        component=Component.ATTENTION,
        keeps=(
            KeysValues(
                width, width, heads=_heads(c), before=c.dim("prompt_length", default=32, minimum=0)
            ),
        ),
    )


def feed_forward(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("dim_ff", default=10240)
    gated = Module(
        "CpmAntDenseGatedACT",
        w_0=Linear(h, inner, bias=False, kind="gate"),
        w_1=Linear(h, inner, bias=False, kind="up"),
        act=Activation("GELU"),
    )
    return Module(
        "CpmAntFFNBlock",
        layernorm_before_ffn=_norm(c),
        ffn=Module(
            "CpmAntFeedForward", w_in=gated, w_out=Linear(inner, h, bias=False, kind="down")
        ),
        component=Component.MLP,
    )


def positions(c: ModelConfig) -> Module:
    """One row per pair of segments and per bucket of distances."""
    segments = c.dim("segment_types", default=32)
    rows = segments * segments + c.dim("position_bias_num_buckets", default=512)
    return Module(
        "CpmAntSegmentPositionEmbedding",
        relative_attention_bias=Weight(rows, _heads(c)),
        component=Component.ATTENTION,
        kind="relative_position",
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    block = Module("CpmAntTransformerBlock", self_att=attention(c), ffn=feed_forward(c))
    prompts = c.dim("prompt_types", default=32) * c.dim("prompt_length", default=32)
    return Module(
        "CpmAntModel",
        encoder=Module(
            "CpmAntEncoder",
            layers=Layers.of(c.count("num_hidden_layers", default=48), block),
            output_layernorm=_norm(c),
        ),
        segment_embedding=Embedding(c.dim("segment_types", default=32), h, kind="segment"),
        input_embedding=Embedding(c.dim("vocab_size", default=30720) + prompts, h),
        position_bias=positions(c),
    )


def causal(c: ModelConfig) -> Module:
    head = to_words(_hidden(c), c.dim("vocab_size", default=30720))
    return Module("CpmAntForCausalLM", cpmant=model(c), lm_head=head)


register(
    "cpmant",
    without_static_cache({"CpmAntForCausalLM": causal, "CpmAntModel": model}),
    base="CpmAntModel",
    base_prefix="cpmant",
    category="text decoder",
)
