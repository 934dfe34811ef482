"""Gemma 3n (Gemma Team 2025), text and audio.

Source of shapes: transformers/models/gemma3n/modeling_gemma3n.py.

Beside Gemma 3's layer: AltUp (several copies of the residual stream, predicted and corrected by
small matrices), LAuReL (a low-rank branch) and an embedding of its own for every layer. The last
layers reuse the keys and values of earlier ones: files hold projections that are never used.

The vision tower is timm's MobileNetV5, whose class is outside transformers: the composite
Gemma3nForConditionalGeneration is not in the catalog.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from .blocks import activation, gated_mlp, grouped_heads
from .heads import causal_lm
from .modules import (
    Activation,
    Conv,
    Embedding,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)
from .registry import register


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2048)


def _norm(c: ModelConfig, width: Dim) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(width, eps=eps, class_name="Gemma3nRMSNorm")


def _per_layer(c: ModelConfig) -> Dim:
    return c.dim("hidden_size_per_layer_input", default=256)


def saved_unless(unused: bool, module: Module) -> Module:
    """What the class does not build (and a save leaves out) although files on the Hub hold it."""
    module.saved = not unused
    return module


def attention(c: ModelConfig, *, shared: bool) -> Module:
    """``shared``: keys and values come from an earlier layer."""
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=8, kv=2, head_dim=256)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    bias = c.flag("attention_bias", default=False)
    return Module(
        "Gemma3nTextAttention",
        q_proj=Linear(h, width, bias=bias, kind="query"),
        q_norm=_norm(c, heads.dim),
        k_proj=saved_unless(shared, Linear(h, kv_width, bias=bias, kind="key")),
        v_proj=saved_unless(shared, Linear(h, kv_width, bias=bias, kind="value")),
        k_norm=saved_unless(shared, _norm(c, heads.dim)),
        v_norm=None if shared else Activation("Gemma3nRMSNorm"),
        o_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def altup(c: ModelConfig) -> Module:
    """Alternating updates (Baykal et al. 2023): n copies of the stream, n² + n³ coefficients."""
    h, inputs = _hidden(c), c.count("altup_num_inputs", default=4, minimum=1)
    return Module(
        "Gemma3nTextAltUp",
        correct_output_scale=Weight(h, kind="scale"),
        correction_coefs=Linear(inputs, inputs, bias=False),
        prediction_coefs=Linear(inputs, inputs * inputs, bias=False),
        modality_router=Linear(h, inputs, bias=False, component=Component.ROUTER),
        router_norm=_norm(c, h),
    )


def laurel(c: ModelConfig) -> Module:
    """Learned augmented residual layer (Menghani et al. 2024): rank r, 2·H·r."""
    h, rank = _hidden(c), c.dim("laurel_rank", default=64)
    return Module(
        "Gemma3nTextLaurelBlock",
        linear_left=Linear(h, rank, bias=False),
        linear_right=Linear(rank, h, bias=False),
        post_laurel_norm=_norm(c, h),
    )


def layer(c: ModelConfig, inner: Dim, *, shared: bool) -> Module:
    h = _hidden(c)
    act = c.text("hidden_activation", default="gelu_pytorch_tanh")
    return Module(
        "Gemma3nTextDecoderLayer",
        self_attn=attention(c, shared=shared),
        mlp=gated_mlp("Gemma3nTextMLP", h, inner, act=act),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
        pre_feedforward_layernorm=_norm(c, h),
        post_feedforward_layernorm=_norm(c, h),
        act_fn=activation(act),
        altup=altup(c),
        laurel=laurel(c),
        per_layer_input_gate=Linear(h, _per_layer(c), bias=False),
        per_layer_projection=Linear(_per_layer(c), h, bias=False),
        post_per_layer_input_norm=_norm(c, h),
    )


def layers(c: ModelConfig) -> Layers:
    """The last num_kv_shared_layers have no keys and values of their own."""
    count = c.count("num_hidden_layers", default=35)
    widths = c.dims("intermediate_size", default=(16384,))
    if len(widths) == 1:
        widths *= int(count)
    if len(widths) != count:
        found = f"{len(widths)} entries"
        raise c.error("intermediate_size", found, f"one for each of {count} layers")
    first_shared = int(count) - c.count("num_kv_shared_layers", default=15)
    built: dict[tuple[int, bool], Module] = {}
    blocks = []
    for i, inner in enumerate(widths):
        key = (int(inner), i >= first_shared)
        if key not in built:
            built[key] = layer(c, inner, shared=key[1])
        blocks.append(built[key])
    return Layers(blocks)


def text_model(c: ModelConfig) -> Module:
    h, per_layer = _hidden(c), _per_layer(c)
    count = c.count("num_hidden_layers", default=35)
    copies = int(c.count("altup_num_inputs", default=4, minimum=1)) - 1
    table = "Gemma3nTextScaledWordEmbedding"
    return Module(
        "Gemma3nTextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=262400), h, class_name=table),
        layers=layers(c),
        norm=_norm(c, h),
        rotary_emb=Activation("Gemma3nRotaryEmbedding"),
        embed_tokens_per_layer=Embedding(
            c.dim("vocab_size_per_layer_input", default=262144), count * per_layer, class_name=table
        ),
        per_layer_model_projection=Linear(
            h, count * per_layer, bias=False, component=Component.EMBEDDING
        ),
        per_layer_projection_norm=_norm(c, per_layer),
        altup_projections=ModuleList([Linear(h, h, bias=False)] * copies),
        altup_unembed_projections=ModuleList([Linear(h, h, bias=False)] * copies),
    )


# ---- audio: Universal Speech Model (Zhang et al. 2023), a conformer


def _width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1536)


def _plain_norm(c: ModelConfig) -> Module:
    return RMSNorm(_width(c), class_name="Gemma3nRMSNorm")


def _pairs(c: ModelConfig, key: str, default: int) -> list[tuple[Dim, Dim]]:
    """Two pairs (time, frequency)."""
    rows = c.raw(key) or [[default, default]] * 2
    if not isinstance(rows, (list, tuple)) or len(rows) != 2:
        raise c.error(key, rows, "two pairs")
    pairs = [ModelConfig({f"{key}[{i}]": row}, c.path) for i, row in enumerate(rows)]
    out = []
    for i, pair in enumerate(pairs):
        sizes = pair.dims(f"{key}[{i}]")
        if len(sizes) != 2:
            raise c.error(f"{key}[{i}]", rows[i], "a pair")
        out.append((sizes[0], sizes[1]))
    return out


def subsampling(c: ModelConfig) -> Module:
    """Two strided convolutions over the spectrogram, flattened and projected."""
    channels = c.dims("sscp_conv_channel_size", default=(128, 32))
    if len(channels) != 2:
        raise c.error("sscp_conv_channel_size", c.raw("sscp_conv_channel_size"), "two sizes")
    kernels = _pairs(c, "sscp_conv_kernel_size", 3)
    strides = _pairs(c, "sscp_conv_stride_size", 2)
    blocks: dict[str, Module] = {}
    frequencies, incoming = c.dim("input_feat_size", default=128), exact(1)
    for i, (outgoing, kernel, stride) in enumerate(zip(channels, kernels, strides, strict=True)):
        # One frequency of padding on either side.
        frequencies = (frequencies + 2 - kernel[1]) // stride[1] + 1
        blocks[f"conv_{i}"] = Module(
            "Gemma3nAudioSSCPConvBlock",
            conv=Conv(incoming, outgoing, kernel, bias=False, stride=stride),
            norm=Module(
                "Gemma3nAudioCumulativeGroupNorm",
                weight=Weight(outgoing),
                component=Component.NORM,
            ),
            activation=Activation("ReLU"),
        )
        incoming = outgoing
    if frequencies < 1:
        raise c.error("input_feat_size", c.raw("input_feat_size"), "enough for the convolutions")
    blocks["input_proj_linear"] = Linear(channels[1] * frequencies, _width(c), bias=False)
    return Module("Gemma3nAudioSubSampleConvProjection", dict(blocks), component=Component.CONV)


def audio_attention(c: ModelConfig) -> Module:
    h, heads = _width(c), c.dim("conf_num_attention_heads", default=8)
    width = heads * (h // heads)
    return Module(
        "Gemma3nAudioConformerAttention",
        pre_attn_norm=_plain_norm(c),
        attn=Module(
            "Gemma3nAudioAttention",
            per_dim_scale=Weight(h // heads, kind="scale"),
            relative_position_embedding=Module(
                "Gemma3nAudioRelativePositionEmbedding",
                pos_proj=Linear(h, width, bias=False, kind="relative_position"),
            ),
            q_proj=Linear(h, width, bias=False, kind="query"),
            k_proj=Linear(h, width, bias=False, kind="key"),
            v_proj=Linear(h, width, bias=False, kind="value"),
        ),
        post=Linear(h, h, bias=False, kind="output"),
        post_norm=_plain_norm(c),
        component=Component.ATTENTION,
    )


def audio_feed_forward(c: ModelConfig) -> Module:
    h = _width(c)
    return Module(
        "Gemma3nAudioConformerFeedForward",
        pre_layer_norm=_plain_norm(c),
        ffw_layer_1=Linear(h, h * 4, bias=False, kind="up"),
        ffw_layer_2=Linear(h * 4, h, bias=False, kind="down"),
        post_layer_norm=_plain_norm(c),
        component=Component.MLP,
    )


def light_convolution(c: ModelConfig) -> Module:
    h = _width(c)
    kernel = c.dim("conf_conv_kernel_size", default=5)
    return Module(
        "Gemma3nAudioConformerLightConv1d",
        pre_layer_norm=_plain_norm(c),
        linear_start=Linear(h, h * 2, bias=False),
        depthwise_conv1d=Conv(h, h, kernel, dims=1, groups=h, bias=False),
        conv_norm=_plain_norm(c),
        linear_end=Linear(h, h, bias=False),
        component=Component.CONV,
    )


def audio_model(c: ModelConfig) -> Module:
    block = Module(
        "Gemma3nAudioConformerBlock",
        ffw_layer_start=audio_feed_forward(c),
        attention=audio_attention(c),
        lconv1d=light_convolution(c),
        ffw_layer_end=audio_feed_forward(c),
        norm=_plain_norm(c),
    )
    return Module(
        "Gemma3nAudioEncoder",
        subsample_conv_projection=subsampling(c),
        conformer=Layers.of(c.count("conf_num_hidden_layers", default=12), block),
        part="audio",
    )


register(
    "gemma3n_text",
    {
        "Gemma3nForCausalLM": causal_lm("Gemma3nForCausalLM", text_model, tied_default=True),
        "Gemma3nTextModel": text_model,
    },
    base="Gemma3nTextModel",
    base_prefix="model",
    category="text decoder",
)

register("gemma3n_audio", {"Gemma3nAudioEncoder": audio_model}, category="audio")
