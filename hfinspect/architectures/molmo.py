"""Molmo 7B-D, 7B-O and 72B (Deitke et al. 2024). No class in transformers (``molmo2`` is another
model). Source of shapes: modeling_molmo.py in allenai/Molmo-7B-D-0924; vLLM's molmo.py reads the
same names.

OLMo's block with q, k and v in one matrix and gate and up in another; a CLIP-L whose sizes stand in
the model's code, of which two layers' outputs are pooled 2 by 2 by an attention and projected by a
gated MLP. 128 rows of the token table are a tensor of their own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..errors import UnknownArchitectureError
from ..layers.blocks import size
from ..layers.composing import renamed
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Layers, Linear, Module, RMSNorm, Weight
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
        att_proj=Linear(
            h, h + 2 * kv, bias=c.flag("qkv_bias", default=False),
            component=Component.ATTENTION, kind="qkv",
        ),
        attn_out=Linear(h, h, bias=False, component=Component.ATTENTION, kind="output"),
        ff_proj=Linear(h, both, bias=False, component=Component.MLP, kind="gate_up"),
        ff_out=Linear(both // 2, h, bias=False, component=Component.MLP, kind="down"),
        attn_norm=_norm(c, h),
        ff_norm=_norm(c, h),
    )  # fmt: skip


def vision_backbone(c: ModelConfig) -> Module:
    """Molmo 2's tower with a class token and a norm before its layers, and what pools two of them
    like it."""
    width, both = VISION.dim("hidden_size"), c.dim("intermediate_size", default=22016)
    tower = renamed(vision_model(VISION), "Molmo2VisionModel", "VisionTransformer")
    del tower.inside("patch_embedding").children["bias"]
    tower.children |= {
        "class_embedding": Weight(width, component=Component.EMBEDDING, kind="class_token"),
        "pre_ln": LayerNorm(width),
    }
    pooling = adapter(VISION, 2).inside("image_pooling_2d")
    pooling.part = "projector"
    return Module(
        "MolmoVisionBackbone",
        image_vit=tower,
        image_pooling_2d=pooling,
        image_projector=Module(
            "MLP",
            w1=Linear(width, both // 2, bias=False, kind="gate"),
            w2=Linear(both // 2, _hidden(c), bias=False, kind="down"),
            w3=Linear(width, both // 2, bias=False, kind="up"),
            component=Component.PROJECTOR,
            part="projector",
        ),
        pad_embed=Weight(2, 2 * width, component=Component.EMBEDDING),
        part="vision",
    )


def _tables(c: ModelConfig) -> Module:
    return Module(
        "Embedding",
        embedding=Weight(c.dim("embedding_size", "vocab_size", default=50304), _hidden(c)),
        new_embedding=Weight(VISION.dim("additional_vocab_size"), _hidden(c)),
        component=Component.EMBEDDING,
        kind="token",
    )


def model(c: ModelConfig) -> Module:
    if c.has("moe_num_experts"):
        raise UnknownArchitectureError(
            "a molmo config with moe_num_experts (MolmoE)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    vocab = c.dim("embedding_size", "vocab_size", default=50304)
    head = to_words(_hidden(c), vocab)
    tied = c.flag("weight_tying", default=False)
    return Module(
        "Molmo",
        transformer=Module(
            "ModuleDict",
            wte=_tables(c),
            ln_f=_norm(c, _hidden(c)),
            blocks=Layers.of(c.count("num_hidden_layers", default=32), block(c)),
            ff_out=None if tied else head,
        ),
        vision_backbone=vision_backbone(c),
    )


register(
    "molmo",
    {"MolmoForCausalLM": lambda c: Module("MolmoForCausalLM", model=model(c))},
    category="multimodal",
    source="modeling_molmo.py of allenai/Molmo-7B-D-0924; vLLM's molmo.py",
)
