"""Molmo 7B-D, 7B-O and 72B (Deitke et al. 2024). No class in transformers (``molmo2`` is another
model). Source of shapes: modeling_molmo.py in allenai/Molmo-7B-D-0924; vLLM's molmo.py.

OLMo's block, and a CLIP-L whose sizes stand in the model's code, of which two layers' outputs are
pooled 2 by 2.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.composing import renamed
from ..layers.heads import to_words
from ..layers.multimodal import projector
from ..trees.catalog import register_part
from ..trees.modules import LayerNorm, Layers, Linear, Module, RMSNorm, Weight
from .hf_olmo import flat
from .molmo2 import adapter, vision_model

#: VisionBackboneConfig of the model's code, in the words of Molmo 2's tower.
VISION = ModelConfig(
    {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 23, "patch_size": 14,
     "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 64,
     "num_position_embeddings": 577, "additional_vocab_size": 128}, "vision_backbone.",
)  # fmt: skip
_hidden = size("hidden_size", default=4096)


def _norm(c: ModelConfig, size: Dim) -> Module:
    c.word("layer_norm_type", "rms")
    return RMSNorm(size, eps=c.number("layer_norm_eps", default=1e-5))


def block(c: ModelConfig) -> Module:
    """``intermediate_size`` counts gate and up together."""
    h, both = _hidden(c), c.dim("intermediate_size", default=22016)
    heads = c.dim("num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    kv = c.dim("num_key_value_heads", default=heads) * head
    normed = c.flag("attention_layer_norm", default=False)
    return Module(
        "MolmoSequentialBlock",
        q_norm=_norm(c, h) if normed else None,
        k_norm=_norm(c, kv) if normed else None,
        att_proj=flat(h, h + 2 * kv, "qkv", c.flag("qkv_bias", default=False)),
        attn_out=flat(h, h, "output"),
        ff_proj=flat(h, both, "gate_up"),
        ff_out=flat(both // 2, h, "down"),
        attn_norm=_norm(c, h),
        ff_norm=_norm(c, h),
    )


def vision_backbone(c: ModelConfig) -> Module:
    """Molmo 2's tower with a class token and a norm before its layers, and what pools two of them
    like it."""
    width, inner = VISION.dim("hidden_size"), c.dim("intermediate_size", default=22016) // 2
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
            w2=Linear(inner, _hidden(c), bias=False, kind="down"),
            w3=Linear(width, inner, bias=False, kind="up"),
        ),
        pad_embed=Weight(2, 2 * width, component=Component.EMBEDDING),
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    if c.has("moe_num_experts"):
        raise c.uncatalogued("a molmo config with moe_num_experts (MolmoE)")
    h, vocab = _hidden(c), c.dim("embedding_size", "vocab_size", default=50304)
    rows = {"embedding": vocab, "new_embedding": VISION.dim("additional_vocab_size")}
    tables = {name: Weight(count, h, kind="token") for name, count in rows.items()}
    tied = c.flag("weight_tying", default=False)
    transformer = Module(
        "ModuleDict",
        wte=Module("Embedding", tables, component=Component.EMBEDDING, kind="token"),
        ln_f=_norm(c, h),
        blocks=Layers.of(c.count("num_hidden_layers", default=32), block(c)),
        ff_out=None if tied else to_words(h, vocab),
    )
    whole = Module("Molmo", transformer=transformer, vision_backbone=vision_backbone(c))
    return Module("MolmoForCausalLM", model=whole)


_SOURCE = "modeling_molmo.py of allenai/Molmo-7B-D-0924; vLLM's molmo.py"
register_part("molmo", "MolmoForCausalLM", model, source=_SOURCE)
