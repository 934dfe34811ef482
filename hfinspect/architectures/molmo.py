"""Molmo 7B-D, 7B-O and 72B (Deitke et al. 2024); ``molmo2`` is another model. OLMo's block, and a
CLIP-L whose sizes stand in the model's code, of which two layers' outputs are pooled 2 by 2."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.composing import renamed
from ..layers.multimodal import projector
from ..trees import Component, Dim, ModelConfig, config_defaults, register_part
from ..trees.modules import LayerNorm, Linear, Module, RMSNorm, Weight
from .hf_olmo import OLMO, flat
from .molmo2 import adapter, vision_model

#: VisionBackboneConfig of the model's code, in the words of Molmo 2's tower.
VISION = ModelConfig(config_defaults("molmo"), "vision_backbone.")


def _norm(c: ModelConfig, size: int) -> Module:
    c.word("layer_norm_type", "rms")
    return RMSNorm(size, eps=c.number("layer_norm_eps", default=1e-5))


def _key_width(d: s.NamedDecoder, c: ModelConfig) -> Dim:
    return c.dim("num_key_value_heads", default=d.heads(c)) * d.head(c)


_wide = size("intermediate_size", default=22016)  # gate and up together
_normed = s.flagged("attention_layer_norm")
_head = s.where(s.unless("weight_tying"), s.lm_head)


def _words(d: s.NamedDecoder, c: ModelConfig) -> Module:
    rows = {"embedding": d.vocab(c), "new_embedding": VISION.dim("additional_vocab_size")}
    tables = {name: Weight(count, d.width(c), kind="token") for name, count in rows.items()}
    return Module("Embedding", tables, component=Component.EMBEDDING, kind="token")


_TEXT = OLMO.like(
    "Molmo",
    width=size("hidden_size", default=4096),
    heads=size("num_attention_heads", default=32),
    depth=size("num_hidden_layers", default=32),
    inner=lambda c, _h: _wide(c) // 2,
    joined=lambda d, c: d.width(c) + 2 * _key_width(d, c),
    norms=_norm,
    bias=s.never,
    attention_bias=s.flagged("qkv_bias"),
    out_bias=s.never,
    called={"Model": "ModuleDict", "Block": "MolmoSequentialBlock"},
    model={"wte": _words, "ln_f": s.norm, "blocks": s.layers, "ff_out": _head},
    block={
        "q_norm": s.where(_normed, s.norm),
        "k_norm": s.where(_normed, lambda d, c: _norm(c, _key_width(d, c))),
        "att_proj": s.qkv,
        "attn_out": s.output,
        "ff_proj": lambda d, c: flat(d.width(c), _wide(c), kind="gate_up"),
        "ff_out": s.down,
        "attn_norm": s.norm,
        "ff_norm": s.norm,
    },
)


def vision_backbone(c: ModelConfig) -> Module:
    """Molmo 2's tower with a class token and a norm before its layers, and what pools two of them
    like it."""
    width = VISION.dim("hidden_size")
    h = _TEXT.width(c)
    inner = _TEXT.inner(c, _TEXT.width(c))
    tower = renamed(vision_model(VISION), "Molmo2VisionModel", "VisionTransformer")
    tower.inside("patch_embedding").without("bias")
    token = Weight(width, component=Component.EMBEDDING, kind="class_token")
    tower.adding(class_embedding=token, pre_ln=LayerNorm(width))
    pooling = adapter(VISION, 2).inside("image_pooling_2d")
    pooling.part = "projector"
    return Module(
        "MolmoVisionBackbone",
        image_vit=tower,
        image_pooling_2d=pooling,
        image_projector=projector(
            "MLP",
            w1=Linear(width, inner, bias=False, kind="gate"),
            w2=Linear(inner, h, bias=False, kind="down"),
            w3=Linear(width, inner, bias=False, kind="up"),
        ),
        pad_embed=Weight(2, 2 * width, component=Component.EMBEDDING),
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    if c.has("moe_num_experts"):
        raise c.uncatalogued("a molmo config with moe_num_experts (MolmoE)")
    return Module("Molmo", transformer=_TEXT.base(c), vision_backbone=vision_backbone(c))


_SOURCE = "modeling_molmo.py of allenai/Molmo-7B-D-0924; vLLM's molmo.py"
register_part("molmo", "MolmoForCausalLM", {"model": model}, source=_SOURCE)
