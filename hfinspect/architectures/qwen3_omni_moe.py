"""Qwen3-Omni (Xu et al. 2025). Source: transformers/models/qwen3_omni_moe.

A thinker that hears, sees and writes (Qwen3-MoE with Qwen3-VL's tower and a Whisper-like one), and
what speaks (qwen3_omni_moe_talker_code_predictor.py). File names are those of the first release:
``thinker.model`` is the decoder, towers stand next to it.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.decoders import Decoder
from ..layers.experts import sparse_block, sparse_kinds
from ..layers.whisper_encoder import encoder_layer, width
from ..trees.catalog import register_part
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
)
from .qwen2_5_omni import Thinker
from .qwen3_5 import patch_embed, vision_block
from .qwen3_omni_moe_talker_code_predictor import NAME, code2wav, end_named, talker, talker_model


def audio_model(c: ModelConfig) -> Module:
    """Three convolutions over time and frequency, Whisper's layers (with a bias on the keys too),
    put out at the decoder's width."""
    d, narrow = width(c), c.dim("downsample_hidden_size", default=480)
    mel = c.dim("num_mel_bins", default=128)
    for _ in range(3):
        mel = (mel + 1) // 2
    layer = encoder_layer(f"{NAME}Audio", c)
    keys = layer.inside("self_attn")
    keys.children["k_proj"] = Linear(d, d, kind="key")
    return Module(
        f"{NAME}AudioEncoder",
        positional_embedding=Activation("SinusoidsPositionEmbedding"),
        layers=Layers.of(c.count("encoder_layers", "num_hidden_layers", default=32), layer),
        ln_post=LayerNorm(d),
        conv2d1=Conv(1, narrow, 3, stride=2),
        conv2d2=Conv(narrow, narrow, 3, stride=2),
        conv2d3=Conv(narrow, narrow, 3, stride=2),
        conv_out=Linear(narrow * mel, d, bias=False, component=Component.CONV),
        proj1=Linear(d, d, component=Component.PROJECTOR),
        act=activation(c.text("activation_function", default="gelu")),
        proj2=Linear(d, c.dim("output_dim", default=3584), component=Component.PROJECTOR),
        part="audio",
    )


def _merger(c: ModelConfig, h: Dim, *, after: bool) -> Module:
    side = c.dim("spatial_merge_size", default=2)
    wide, out = h * side * side, c.dim("out_hidden_size", default=3584)
    return Module(
        f"{NAME}VisionPatchMerger",
        ln_q=LayerNorm(wide if after else h, eps=1e-6),
        mlp=ModuleList([Linear(wide, wide), Activation("GELU"), Linear(wide, out)]),
        component=Component.PROJECTOR,
        part="projector",
    )


def vision_model(c: ModelConfig) -> Module:
    """Qwen3-VL's tower (qwen3_vl.py) with other names in its mergers."""
    h, inner = c.dim("hidden_size", default=1152), c.dim("intermediate_size", default=4304)
    block = vision_block(NAME, h, inner, c.text("hidden_act", default="gelu_pytorch_tanh"))
    fed = c.dims("deepstack_visual_indexes", default=(8, 16, 24), minimum=0)
    positions = c.dim("num_position_embeddings", default=2304)
    return Module(
        f"{NAME}VisionEncoder",
        merger_list=ModuleList([_merger(c, h, after=True)] * len(fed)),
        patch_embed=patch_embed(NAME, c, h),
        pos_embed=Embedding(positions, h, kind="position"),
        rotary_pos_emb=Activation(f"{NAME}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=27), block),
        merger=_merger(c, h, after=False),
        part="vision",
    )


def _experts(c: ModelConfig) -> Dim:
    return c.count("num_experts", default=128)


def _moe(d: Decoder, c: ModelConfig) -> Module:
    return sparse_block(
        d.name,
        d.width(c),
        c.dim("moe_intermediate_size", default=768),
        count=_experts(c),
        per_token=c.dim("num_experts_per_tok", default=8),
        shared=None,
        act=d.act(c),
    )


TEXT = Decoder(
    f"{NAME}ThinkerText", vocab_size=3584, hidden_size=2048, intermediate_size=18944,
    num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4, qk_norm=True, moe=_moe,
    kinds=lambda _d, c, layers: sparse_kinds(c, layers, _experts(c)),
)  # fmt: skip
_THINKER = Thinker(NAME, audio_model, vision_model, TEXT, end_named)


def whole(c: ModelConfig) -> Module:
    return _THINKER.whole(c, talker=talker, code2wav=code2wav)


def talker_alone(c: ModelConfig) -> Module:
    return talker_model(c, stacked=True)


register_part("qwen3_omni_moe", f"{NAME}ForConditionalGeneration", whole, "multimodal")
_THINKER.register("qwen3_omni_moe_thinker", {})
register_part("qwen3_omni_moe_text", f"{NAME}ThinkerTextModel", _THINKER.only_text, "text decoder")
register_part("qwen3_omni_moe_audio_encoder", f"{NAME}AudioEncoder", audio_model, "audio")
register_part("qwen3_omni_moe_vision_encoder", f"{NAME}VisionEncoder", vision_model, "vision")
register_part("qwen3_omni_moe_talker_text", f"{NAME}TalkerModel", talker_alone, "audio")
