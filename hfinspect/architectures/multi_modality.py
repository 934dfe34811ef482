"""DeepSeek-VL (Lu et al. 2024) and Janus (Wu et al. 2024; Chen et al. 2025) as their own code saves
them; transformers' ``deepseek_vl`` and ``janus`` are the converted forms. Source of shapes:
janus/models/{modeling_vlm,clip_encoder,siglip_vit,projector,vq_model}.py of
github.com/deepseek-ai/Janus, of which github.com/deepseek-ai/DeepSeek-VL is the first half.

SigLIP in timm's names, pooling included, a projector and Llama. Janus makes images as well: a
VQ-GAN (LlamaGen's), a projector and an embedding of its codes, and a head over them.
"""

from collections.abc import Sequence
from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..errors import UnknownArchitectureError
from ..trees.catalog import auto_class, register
from ..trees.modules import (
    Activation,
    Buffer,
    Conv,
    Embedding,
    GroupNorm,
    Linear,
    Module,
    ModuleList,
    Parameter,
)
from .deepseek_vl_v2 import projector, vision_model

#: siglip_vit.py's table: width, layers, patch and ratio of the MLP by model_name.
_SIGLIP = {
    "siglip_so400m_patch14_384": (1152, 27, 14, 3.7362),
    "siglip_so400m_patch14_224": (1152, 27, 14, 3.7362),
    "siglip_large_patch16_384": (1024, 24, 16, 4),
}
#: vq_model.py's ModelArgs, the only ones there are ("VQ-16").
_CHANNELS, _MULTIPLES, _LATENT, _BLOCKS = 128, (1, 1, 2, 2, 4), 256, 2
_USAGE = 65536


def _unknown(what: str, c: ModelConfig) -> UnknownArchitectureError:
    return UnknownArchitectureError(
        what[:80], "is not in the catalog",
        where=c.path.rstrip(".") or None,
        hint="a checkpoint's headers are read without the catalog",
    )  # fmt: skip


def vision_tower(c: ModelConfig) -> Module:
    """``cls`` CLIPVisionTower, which is a SigLIP; HybridVisionTower (with SAM) is not known."""
    if c.text("cls", default="CLIPVisionTower") != "CLIPVisionTower":
        raise _unknown(f"the vision tower {c.text('cls')}", c)
    params = c.section("params")
    name = params.text("model_name", default="siglip_large_patch16_384") or ""
    if name not in _SIGLIP:
        raise _unknown(f"the vision tower {name}", params)
    width, layers, patch, ratio = _SIGLIP[name]
    tower = vision_model(
        params.with_defaults(
            width=width, layers=layers, patch_size=patch, mlp_ratio=ratio, image_size=384
        )
    )
    return Module("CLIPVisionTower", vision_tower=tower, part="vision")


# ---- images made of codes


def _conv(inner: int, out: int, size: int = 3) -> Module:
    return Conv(inner, out, size)


def resnet(inner: int, out: int, name: str = "ResnetBlock") -> Module:
    """LlamaGen's residual block, and its attention below."""
    return Module(
        name,
        norm1=GroupNorm(32, inner, eps=1e-6),
        conv1=_conv(inner, out),
        norm2=GroupNorm(32, out, eps=1e-6),
        conv2=_conv(out, out),
        nin_shortcut=_conv(inner, out, 1) if inner != out else None,
    )


def attention(width: int, name: str = "AttnBlock") -> Module:
    return Module(
        name,
        norm=GroupNorm(32, width, eps=1e-6),
        q=Conv(width, width, 1, component=None),
        k=Conv(width, width, 1, component=None),
        v=Conv(width, width, 1, component=None),
        proj_out=Conv(width, width, 1, component=None),
        component=Component.ATTENTION,
    )


def _middle(width: int) -> ModuleList:
    return ModuleList([resnet(width, width), attention(width), resnet(width, width)])


def _level(widths: Sequence[int], *, attends: bool, moves: str | None) -> Module:
    """Residual blocks from each width to the next, attention behind each, and a change of size."""
    out = widths[-1]
    resized = Module("Resample", conv=_conv(out, out)) if moves else None
    return Module(
        "Module",
        {
            "res": ModuleList(resnet(a, b) for a, b in pairwise(widths)),
            "attn": ModuleList([attention(out)] * (len(widths) - 1)) if attends else None,
            **({moves: resized} if moves else {}),
        },
    )


def vq_model(c: ModelConfig) -> Module:
    widths = [_CHANNELS * multiple for multiple in _MULTIPLES]
    last = len(widths) - 1
    down, up = [], []
    for i, width in enumerate(widths):
        before = widths[max(i - 1, 0)]
        row = [before, *[width] * _BLOCKS]
        down.append(_level(row, attends=i == last, moves="downsample" if i < last else None))
        above = widths[min(i + 1, last)]
        row = [above, *[width] * (_BLOCKS + 1)]
        up.append(_level(row, attends=i == last, moves="upsample" if i else None))
    codes, code = c.dim("image_token_size", default=16384), c.dim("n_embed", default=8)
    return Module(
        "VQModel",
        encoder=Module(
            "Encoder",
            conv_in=_conv(3, _CHANNELS),
            conv_blocks=ModuleList(down),
            mid=_middle(widths[-1]),
            norm_out=GroupNorm(32, widths[-1], eps=1e-6),
            conv_out=_conv(widths[-1], _LATENT),
        ),
        decoder=Module(
            "Decoder",
            conv_in=_conv(_LATENT, widths[-1]),
            mid=_middle(widths[-1]),
            conv_blocks=ModuleList(reversed(up)),
            norm_out=GroupNorm(32, widths[0], eps=1e-6),
            conv_out=_conv(widths[0], 3),
        ),
        quantize=Module(
            "VectorQuantizer",
            embedding=Embedding(codes, code, kind="codebook"),
            codebook_used=Buffer(_USAGE),
        ),
        quant_conv=_conv(_LATENT, code, 1),
        post_quant_conv=_conv(code, _LATENT, 1),
        component=Component.CONV,
        part="vq",
    )


def _head(c: ModelConfig) -> Module:
    width, inner = c.dim("n_embed", default=2048), c.dim("image_token_embed", default=2048)
    return Module(
        "vision_head",
        output_mlp_projector=Linear(width, inner),
        vision_activation=Activation("GELU"),
        vision_head=Linear(inner, c.dim("image_token_size", default=16384)),
        component=Component.HEAD,
    )


def _making(c: ModelConfig) -> dict[str, Module | Parameter]:
    vq = c.section("gen_vision_config").section("params")
    codes, code = vq.dim("image_token_size", default=16384), vq.dim("n_embed", default=8)
    aligner = projector(_projector_params(c, "gen_aligner_config", 8))
    return {
        "gen_vision_model": vq_model(vq),
        "gen_aligner": aligner,
        "gen_head": _head(c.section("gen_head_config").section("params")),
        "gen_embed": Embedding(codes, code, kind="codebook"),
    }


def _projector_params(c: ModelConfig, key: str, width: int) -> ModelConfig:
    params = c.section(key).section("params")
    return params.with_defaults(projector_type="mlp_gelu", input_dim=width, n_embed=2048, depth=2)


def model(c: ModelConfig) -> Module:
    kind = c.section("aligner_config").section("params").text("projector_type", default="mlp_gelu")
    if kind not in ("mlp_gelu", "linear", "identity"):
        raise _unknown(f"the projector {kind}", c)
    aligner = projector(_projector_params(c, "aligner_config", 1024))
    language = auto_class(c.section("language_config"), "ForCausalLM", default_type="llama")
    makes = c.has("gen_vision_config") or not c.has("vision_config")
    return Module(
        "MultiModalityCausalLM",
        {
            "vision_model": vision_tower(c.section("vision_config")),
            "aligner": aligner,
            **(_making(c) if makes else {}),
            "language_model": language,
        },
    )


register(
    "multi_modality",
    {"MultiModalityCausalLM": model},
    category="multimodal",
    source="github.com/deepseek-ai/Janus and github.com/deepseek-ai/DeepSeek-VL",
)
