"""dots3.note (rednote 2026; transformers/models/dots3_note): a ViT with more and more experts, an
audio encoder, each with an adapter, and text. File names are those of the first release."""

from functools import partial

from ..core.config import MAX_COUNT
from ..layers.blocks import fused_attention, layer_overrides, layer_types, size
from ..layers.experts import experts
from ..layers.heads import causal_lm
from ..layers.multimodal import projector, text_section, within
from ..layers.vision import clip_attention, patch_conv
from ..trees import Component, Dim, Linear, ModelConfig, Module, register_pair, register_part
from ..trees import modules as nn
from . import dots3_note_text
from .dots_ocr import gated, merger

_NAME = "Dots3Note"
_width = size("embed_dim", "hidden_size", default=1536)


def _norm(width: Dim, c: ModelConfig | None = None) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5) if c else None
    return nn.RMSNorm(width, eps=eps, class_name=f"{_NAME}RMSNorm")


def _mlp(c: ModelConfig, sizes: tuple[Dim, Dim] | None) -> Module:
    """Experts and how many serve a token, or a dense MLP."""
    h = _width(c)
    name = f"{_NAME}VisionMLP"
    act = c.text("hidden_act", default="silu")
    if sizes is None:
        inner = c.dim("intermediate_size", default=4224)
        bias = c.flag("mlp_bias", default=False)
        return gated(name, h, inner, bias=bias, act=act)
    count, per_token = sizes
    expert = gated(name, h, c.dim("moe_intermediate_size", default=2112), act=act, kind="expert")
    return Module(
        f"{_NAME}VisionMoE",
        experts=experts(count, per_token, expert, class_name=f"{_NAME}Experts"),
        gate_weight=nn.Weight(count, h, component=Component.ROUTER),
        router_bias=nn.Buffer(count),
        component=Component.MLP,
    )


def _block(c: ModelConfig, sizes: tuple[Dim, Dim] | None) -> Module:
    h = _width(c)
    bias = c.flag("use_bias", "attention_bias", default=False)
    head = _norm(h // c.dim("num_heads", "num_attention_heads", default=24), c)
    attention = fused_attention(f"{_NAME}VisionAttention", h, bias=bias, out_bias=bias)
    attention.adding(q_norm=head, k_norm=head)
    norm = _norm(h, c)
    mlp = _mlp(c, sizes)
    return Module(f"{_NAME}VisionBlock", norm_1=norm, attn=attention, norm_2=norm, mlp=mlp)


def _routed(c: ModelConfig, layers: int) -> list[tuple[Dim, Dim] | None]:
    """Experts and how many serve a token, for each layer; None where it is dense."""
    if not c.has("mlp_layer_types"):  # more and more of them; -1 is a dense layer
        c = c.with_defaults(pyramid_num_routed=[-1] * 25 + [*range(4, 65, 4), 64])
    per_token = c.dim("num_experts_per_tok", "capacity_factor", default=2)
    usual = c.count("num_local_experts", default=64)
    key = "pyramid_num_routed"
    if c.has(key):
        listed = c.dims(key, minimum=-1, maximum=MAX_COUNT, count=layers)
        return [(count, min(per_token, count)) if count > 0 else None for count in listed]
    kinds = layer_types(c, layers, lambda _: "dense", key="mlp_layer_types")
    overrides = [layer_overrides(c, i) for i in range(layers)]
    counts = [one.count("num_local_experts", default=usual) for one in overrides]
    chosen = (one.dim("num_experts_per_tok", default=per_token) for one in overrides)
    sizes = zip(counts, chosen, kinds, strict=True)
    return [(count, used) if kind == "sparse" else None for count, used, kind in sizes]


def _vision_model(c: ModelConfig) -> Module:
    h = _width(c)
    patch = c.dim("patch_size", default=14)
    routed = _routed(c, int(c.count("num_hidden_layers", default=42)))
    patches = patch_conv(c.dim("num_channels", default=3), h, (patch, patch))
    side = c.dim("adapter_merge_size", default=2)
    inner = c.dim("adapter_in_dim", default=1536)
    return Module(
        f"{_NAME}VisionModel",
        patch_embed=Module(f"{_NAME}VisionPatchEmbed", proj=patches, norm=_norm(h, c)),
        blocks=nn.Layers(nn.once(routed, partial(_block, c))),
        adapter=merger(f"{_NAME}VisionMerger", inner, side, c.dim("adapter_out_dim", default=5120)),
        post_trunk_norm=_norm(h, c),
        part="vision",
    )


#: Keys of the release's own ``whisper_config``, which win over those next to it.
_WHISPER = {
    "d_model": "hidden_size",
    "encoder_attention_heads": "num_attention_heads",
    "encoder_layers": "num_hidden_layers",
    "encoder_ffn_dim": "intermediate_size",
    "num_mel_bins": "feature_size",
}


def _audio_model(c: ModelConfig) -> Module:
    older = c.section("whisper_config")
    values = {ours: older.values[word] for word, ours in _WHISPER.items() if older.has(word)}
    c = ModelConfig({**c.values, **values}, c.path)
    h = c.dim("hidden_size", default=1280)
    size = c.dim("downsample_hidden_size", default=480)
    inner = c.dim("intermediate_size", default=5120)
    bias = c.flag("attention_bias", default=True)
    c.divided(h, c.dim(key := "num_attention_heads", default=20), "hidden_size", key)
    layer = Module(
        f"{_NAME}AudioLayer",
        self_attn=clip_attention(f"{_NAME}AudioAttention", h, bias=bias, key_bias=False),
        self_attn_layer_norm=_norm(h),
        fc1=Linear(h, 2 * inner, component=Component.MLP, kind="gate_up"),
        fc2=Linear(inner, h, component=Component.MLP, kind="down"),
        final_layer_norm=_norm(h),
    )
    bands = (c.dim("feature_size", default=128) + 7) // 8
    joined = c.dim("conv_output_size", default=size * bands)
    widths = {"conv2d1": 1, "conv2d2": size, "conv2d3": size}
    encoder = Module(
        f"{_NAME}AudioModel",
        {at: nn.Conv(width, size, 3, stride=2) for at, width in widths.items()},
        conv_out=Linear(joined, h, bias=False, component=Component.CONV),
        layers=nn.Layers.of(c.count("num_hidden_layers", default=32), layer),
        layer_norm=_norm(h),
    )
    inputs = c.dim("whisper_adapter_in_dim", "adapter_input_size", default=1280)
    out = c.dim("whisper_adapter_out_dim", "adapter_output_size", "adapter_out_dim", default=5120)
    steps = (nn.LayerNorm(inputs), Linear(inputs, out), nn.Activation("GELU"), Linear(out, out))
    return Module(
        f"{_NAME}AudioModel",
        dots_encoder=Module("DotsEncoder", speech_encoder=encoder),
        audio_adapter=projector(f"{_NAME}AudioAdapter", proj=nn.Sequential(*steps)),
        part="audio",
    )


_VISION = within("vision_config", _vision_model)
_AUDIO = within("audio_config", _audio_model)


def _decoder(c: ModelConfig) -> Module:
    return dots3_note_text.model(text_section(c)).called(f"{_NAME}Model")


def _model(c: ModelConfig) -> Module:
    """A save of it alone has the text model and the audio adapter at its top."""
    audio = _AUDIO(c)
    parts = {"vision_encoder": _VISION(c), "audio_encoder": audio}
    return _decoder(c).adding(**parts, audio_adapter=audio.children.pop("audio_adapter"))


def _generation(c: ModelConfig) -> Module:
    root = causal_lm(_WHOLE, _decoder)(c)
    head = root.children.pop("lm_head")
    return root.adding(vision_encoder=_VISION(c), audio_encoder=_AUDIO(c), lm_head=head)


_WHOLE = f"{_NAME}ForConditionalGeneration"
register_pair("dots3_note", _NAME, _generation, _model, "multimodal", prefix="", base=_WHOLE)
register_part("dots3_note_vision_encoder", f"{_NAME}VisionModel", _vision_model, "vision")
register_part("dots3_note_audio_encoder", f"{_NAME}AudioModel", _audio_model, "audio")
