"""The encoders of CLVP (Betker 2022), which judge whether speech and text belong together. Source:
transformers/models/clvp. The model of all parts of Tortoise, and its decoder, are traces."""

from ..layers.blocks import activation
from ..layers.heads import sequence_summary
from ..layers.vision import clip_attention
from ..trees import Component, ModelConfig, register_part
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm


def encoder(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    inner = c.dim("intermediate_size", default=1536)
    heads = c.dim("num_attention_heads", default=12)
    out = c.dim("projection_dim", default=768)
    c.divided(h, heads, "hidden_size", "num_attention_heads")
    eps = c.number("layer_norm_eps", default=1e-5)
    words = c.dim("vocab_size", default=256)
    norm = RMSNorm(h, eps=eps, class_name="ClvpRMSNorm")
    if c.text("summary_type") == "attn":
        raise c.error("summary_type", "attn", "another word: the library has no such summary")
    out_proj = Linear(h, h, kind="output")
    bias = c.flag("use_attention_bias", default=False)
    attention = clip_attention("ClvpSelfAttention", h, bias=bias).adding(out_proj=out_proj)
    attention.cache = ()  # it judges what was written, all at once
    gated = Linear(h, inner * 2, kind="gate_up")
    act = c.text("hidden_act", default="gelu")
    up = Module("ClvpGatedLinearUnit", activation_fn=activation(act), proj=gated)
    down = Linear(inner, h, kind="down")
    drop = Dropout(c.number("dropout", default=0.1))
    mlp = Module("ClvpEncoderMLP", fc1=up, fc2=down, dropout_layer=drop, component=Component.MLP)
    parts = {"self_attn": attention, "mlp": mlp, "input_rmsnorm": norm}
    layer = Module("ClvpEncoderLayer", parts, post_attention_rmsnorm=norm)
    frequencies = Buffer((max(int(out) // (int(heads) * 2), 32) + 1) // 2)
    rotary = Module("ClvpRotaryPositionalEmbedding", inv_freq=frequencies)
    plain = c.with_defaults(summary_use_proj=False)
    summary = sequence_summary(plain, "ClvpSequenceSummary", h, int(c.num_labels), to_labels=False)
    return Module(
        "ClvpEncoder",
        token_embedding=Embedding(words, h),
        rotary_pos_emb=rotary if c.flag("use_rotary_embedding", default=True) else None,
        layers=Layers.of(c.count("num_hidden_layers", default=20), layer),
        sequence_summary=summary,
        final_layer_norm=LayerNorm(h, eps=eps),
        projection=Linear(h, out, bias=False, component=Component.PROJECTOR),
    )


register_part("clvp_encoder", "ClvpEncoder", encoder, "audio")
