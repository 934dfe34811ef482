"""The encoders of CLVP (Betker 2022), which judge whether speech and text belong together.
Source of shapes: transformers/models/clvp. The model of all parts of Tortoise, and the decoder of
GPT-2's kind that writes speech, are traces.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.composing import defaulted
from ..layers.heads import sequence_summary
from ..layers.vision import clip_attention
from ..trees.catalog import register_part
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm

_DEFAULTS = {
    "vocab_size": 256, "hidden_size": 768, "intermediate_size": 1536, "projection_dim": 768,
    "num_hidden_layers": 20, "num_attention_heads": 12, "use_attention_bias": False,
    "summary_use_proj": False,
}  # fmt: skip


def encoder(c: ModelConfig) -> Module:
    h, inner, heads = c.dim("hidden_size"), c.dim("intermediate_size"), c.dim("num_attention_heads")
    c.divided(h, heads, "hidden_size", "num_attention_heads")
    eps, out = c.number("layer_norm_eps", default=1e-5), c.dim("projection_dim")
    norm = RMSNorm(h, eps=eps, class_name="ClvpRMSNorm")
    if c.text("summary_type") == "attn":
        raise c.error("summary_type", "attn", "another word: the library has no such summary")
    bias = c.flag("use_attention_bias", default=True)
    attention = clip_attention("ClvpSelfAttention", h, bias=bias)
    attention.children["out_proj"] = Linear(h, h, kind="output")
    attention.keeps = ()  # it judges what was written, all at once
    act = activation(c.text("hidden_act", default="gelu"))
    gated = Linear(h, inner * 2, kind="gate_up")
    layer = Module(
        "ClvpEncoderLayer",
        self_attn=attention,
        mlp=Module(
            "ClvpEncoderMLP",
            fc1=Module("ClvpGatedLinearUnit", activation_fn=act, proj=gated),
            fc2=Linear(inner, h, kind="down"),
            dropout_layer=Dropout(c.number("dropout", default=0.1)),
            component=Component.MLP,
        ),
        input_rmsnorm=norm,
        post_attention_rmsnorm=norm,
    )
    frequencies = Buffer((max(int(out) // (int(heads) * 2), 32) + 1) // 2)
    rotary = Module("ClvpRotaryPositionalEmbedding", inv_freq=frequencies)
    summary = sequence_summary(c, "ClvpSequenceSummary", h, int(c.num_labels), to_labels=False)
    return Module(
        "ClvpEncoder",
        token_embedding=Embedding(c.dim("vocab_size"), h),
        rotary_pos_emb=rotary if c.flag("use_rotary_embedding", default=True) else None,
        layers=Layers.of(c.count("num_hidden_layers"), layer),
        sequence_summary=summary,
        final_layer_norm=LayerNorm(h, eps=eps),
        projection=Linear(h, out, bias=False, component=Component.PROJECTOR),
    )


register_part("clvp_encoder", "ClvpEncoder", defaulted(_DEFAULTS, encoder), "audio")
