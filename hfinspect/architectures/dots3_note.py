"""dots3.note as a whole (rednote 2026). Source: transformers/models/dots3_note.

A ViT whose later layers have more and more experts, an audio encoder of convolutions and layers
with gated MLPs, each with an adapter to the text model's width, and that model
(dots3_note_text.py).  File names are those of the first release (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, fused_attention, layer_overrides, layer_types, size
from ..layers.experts import experts
from ..layers.heads import to_words
from ..layers.multimodal import projector
from ..layers.vision import bounded, patch_conv
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    Buffer,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Sequential,
    Weight,
)
from . import dots3_note_text

_NAME = "Dots3Note"
#: Experts of each vision layer where the config lists none; -1 is a dense layer.
_PYRAMID = [-1] * 25 + [*range(4, 65, 4), 64]


def _norm(width: Dim, c: ModelConfig | None = None) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5) if c else None
    return RMSNorm(width, eps=eps, class_name=f"{_NAME}RMSNorm")


# ---- vision


def _gated(name: str, c: ModelConfig, inner: Dim, *, kind: str | None = None) -> Module:
    """fc1 and fc3 are gate and up, fc2 goes down."""
    h, bias = _width(c), c.flag("mlp_bias", default=False) and kind is None
    return Module(
        name,
        fc1=Linear(h, inner, bias=bias, kind=kind or "gate"),
        fc3=Linear(h, inner, bias=bias, kind=kind or "up"),
        fc2=Linear(inner, h, bias=bias, kind=kind or "down"),
        act_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


_width = size("embed_dim", "hidden_size", default=1536)


def moe(c: ModelConfig, count: Dim, per_token: Dim) -> Module:
    inner = c.dim("moe_intermediate_size", default=2112)
    expert = _gated(f"{_NAME}VisionMLP", c, inner, kind="expert")
    return Module(
        f"{_NAME}VisionMoE",
        experts=experts(count, per_token, expert, class_name=f"{_NAME}Experts"),
        gate_weight=Weight(count, _width(c), component=Component.ROUTER),
        router_bias=Buffer(count),
        component=Component.MLP,
    )


def vision_block(c: ModelConfig, mlp: Module) -> Module:
    h = _width(c)
    heads = c.dim("num_heads", "num_attention_heads", default=24)
    bias, head_dim = c.flag("use_bias", "attention_bias", default=False), h // heads
    return Module(
        f"{_NAME}VisionBlock",
        norm_1=_norm(h, c),
        attn=fused_attention(
            f"{_NAME}VisionAttention", h, bias=bias, out_bias=bias,
            q_norm=_norm(head_dim, c), k_norm=_norm(head_dim, c),
        ),
        norm_2=_norm(h, c),
        mlp=mlp,
    )  # fmt: skip


def _routed(c: ModelConfig, layers: int) -> list[tuple[Dim, Dim] | None]:
    """Experts and how many serve a token, for each layer; None where it is dense."""
    per_token = c.dim("num_experts_per_tok", "capacity_factor", default=2)
    usual = c.count("num_local_experts", default=64)
    listed = c.raw("pyramid_num_routed")
    if listed is None and not c.has("mlp_layer_types"):
        listed = _PYRAMID
    if listed is not None:
        counts = ModelConfig({"pyramid_num_routed": listed}, c.path).dims(
            "pyramid_num_routed", minimum=-1
        )
        if len(counts) != layers:
            raise c.error(
                "pyramid_num_routed", f"{len(counts)} entries", f"one per {layers} layers"
            )
        bounded(c, "pyramid_num_routed", counts)
        return [(count, min(per_token, count)) if count > 0 else None for count in counts]
    found: list[tuple[Dim, Dim] | None] = []
    for i, kind in enumerate(layer_types(c, layers, lambda _: "dense", key="mlp_layer_types")):
        own = layer_overrides(c, i)
        sizes = (
            own.count("num_local_experts", default=usual),
            own.dim("num_experts_per_tok", default=per_token),
        )
        found.append(sizes if kind == "sparse" else None)
    return found


def vision_model(c: ModelConfig) -> Module:
    h, patch = _width(c), c.dim("patch_size", default=14)
    dense = _gated(f"{_NAME}VisionMLP", c, c.dim("intermediate_size", default=4224))
    routed = _routed(c, int(c.count("num_hidden_layers", default=42)))
    built = {
        sizes: vision_block(c, moe(c, *sizes) if sizes else dense)
        for sizes in dict.fromkeys(routed)
    }
    patches = patch_conv(c.dim("num_channels", default=3), h, (patch, patch))
    side, seen = c.dim("adapter_merge_size", default=2), c.dim("adapter_in_dim", default=1536)
    wide = seen * side * side
    return Module(
        f"{_NAME}VisionModel",
        patch_embed=Module(f"{_NAME}VisionPatchEmbed", proj=patches, norm=_norm(h, c)),
        blocks=Layers(built[sizes] for sizes in routed),
        adapter=projector(
            f"{_NAME}VisionMerger",
            ln_q=LayerNorm(seen, eps=1e-6),
            mlp=Sequential(
                Linear(wide, wide),
                Activation("GELU"),
                Linear(wide, c.dim("adapter_out_dim", default=5120)),
            ),
        ),
        post_trunk_norm=_norm(h, c),
        part="vision",
    )


# ---- audio


def _audio(c: ModelConfig) -> ModelConfig:
    """Keys of the release's own ``whisper_config`` win over those next to it."""
    older = c.section("whisper_config")
    spelled = {
        "d_model": "hidden_size", "encoder_attention_heads": "num_attention_heads",
        "encoder_layers": "num_hidden_layers", "encoder_ffn_dim": "intermediate_size",
        "num_mel_bins": "feature_size",
    }  # fmt: skip
    given = {ours: older.values[word] for word, ours in spelled.items() if older.has(word)}
    return ModelConfig({**c.values, **given}, c.path)


def audio_layer(c: ModelConfig, h: Dim) -> Module:
    inner, bias = c.dim("intermediate_size", default=5120), c.flag("attention_bias", default=True)
    c.divided(h, c.dim("num_attention_heads", default=20), "hidden_size", "num_attention_heads")
    return Module(
        f"{_NAME}AudioLayer",
        self_attn=Module(
            f"{_NAME}AudioAttention",
            q_proj=Linear(h, h, bias=bias, kind="query"),
            k_proj=Linear(h, h, bias=False, kind="key"),
            v_proj=Linear(h, h, bias=bias, kind="value"),
            out_proj=Linear(h, h, bias=bias, kind="output"),
            component=Component.ATTENTION,
        ),
        self_attn_layer_norm=_norm(h),
        fc1=Linear(h, 2 * inner, component=Component.MLP, kind="gate_up"),
        fc2=Linear(inner, h, component=Component.MLP, kind="down"),
        final_layer_norm=_norm(h),
    )


def audio_encoder(c: ModelConfig) -> Module:
    h, narrow = c.dim("hidden_size", default=1280), c.dim("downsample_hidden_size", default=480)
    bands = (c.dim("feature_size", default=128) + 7) // 8
    encoder = Module(
        f"{_NAME}AudioModel",
        conv2d1=Conv(1, narrow, 3, stride=2),
        conv2d2=Conv(narrow, narrow, 3, stride=2),
        conv2d3=Conv(narrow, narrow, 3, stride=2),
        conv_out=Linear(
            c.dim("conv_output_size", default=narrow * bands),
            h,
            bias=False,
            component=Component.CONV,
        ),
        layers=Layers.of(c.count("num_hidden_layers", default=32), audio_layer(c, h)),
        layer_norm=_norm(h),
    )
    return Module("DotsEncoder", speech_encoder=encoder)


def audio_adapter(c: ModelConfig) -> Module:
    seen = c.dim("whisper_adapter_in_dim", "adapter_input_size", default=1280)
    out = c.dim("whisper_adapter_out_dim", "adapter_output_size", "adapter_out_dim", default=5120)
    steps = (LayerNorm(seen), Linear(seen, out), Activation("GELU"), Linear(out, out))
    return projector(f"{_NAME}AudioAdapter", proj=Sequential(*steps))


# ---- together


def _text(c: ModelConfig) -> ModelConfig:
    """An older config has the text model's keys at the top."""
    return c.section("text_config") if c.has("text_config") else c


def audio_model(c: ModelConfig) -> Module:
    audio = _audio(c)
    return Module(
        f"{_NAME}AudioModel",
        dots_encoder=audio_encoder(audio),
        audio_adapter=audio_adapter(audio),
        part="audio",
    )


def towers(c: ModelConfig) -> dict[str, Module]:
    return {
        "vision_encoder": vision_model(c.section("vision_config")),
        "audio_encoder": audio_model(c.section("audio_config")),
    }


def base(c: ModelConfig) -> Module:
    """A save of it alone has the text model and the audio adapter at its top."""
    decoder, tower = dots3_note_text.model(_text(c)), towers(c)
    adapter = tower["audio_encoder"].children.pop("audio_adapter")
    return Module(f"{_NAME}Model", {**decoder.children, **tower, "audio_adapter": adapter})


def generation(c: ModelConfig) -> Module:
    text = _text(c)
    decoder = dots3_note_text.model(text)
    decoder.class_name = f"{_NAME}Model"  # what stands there in memory
    head = to_words(
        text.dim("hidden_size", default=5120),
        text.dim("vocab_size", default=152064),
        "model.embed_tokens.weight" if c.tied(default=False) else None,
    )
    return Module(
        f"{_NAME}ForConditionalGeneration", {"model": decoder, **towers(c), "lm_head": head}
    )


register(
    "dots3_note",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}ForConditionalGeneration",
    category="multimodal",
)
register_part("dots3_note_vision_encoder", f"{_NAME}VisionModel", vision_model, "vision")
register_part("dots3_note_audio_encoder", f"{_NAME}AudioModel", audio_model, "audio")
