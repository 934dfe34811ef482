"""DeepSeek-OCR (Wei et al. 2025). No class in transformers; configs say model_type
``deepseek_vl_v2`` and class DeepseekOCRForCausalLM. Source of shapes: modeling_deepseekocr.py and
deepencoder.py in deepseek-ai/DeepSeek-OCR, and a printed module tree of it (zyfjrx/deepseekocr).

SAM's ViT-B with two more convolutions, then CLIP-L over its output, side by side into one linear
projector; DeepSeek-V2's decoder without latent attention. The sizes of both towers stand in the
model's code, not in the config.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, two_layer_mlp
from ..layers.heads import to_words
from ..layers.vision import patch_conv, position_table
from ..trees.catalog import register
from ..trees.modules import Conv, LayerNorm, Layers, Linear, Module, Sequential, Weight
from .deepseek_vl_v2 import language_model, projector

#: build_sam_vit_b and build_clip_l of the model's code.
SAM = ModelConfig(
    {"width": 768, "layers": 12, "side": 64, "window": 14, "output": 256, "patch": 16, "heads": 12}
)
CLIP = ModelConfig({"width": 1024, "layers": 24, "inner": 4096, "positions": 257, "patch": 14})
#: Layers of SAM that look at the whole image; the others at windows.
GLOBAL = frozenset({2, 5, 8, 11})


def _sam_block(width: Dim, side: Dim, head: Dim) -> Module:
    return Module(
        "Block",
        norm1=LayerNorm(width, eps=1e-6),
        attn=Module(
            "Attention",
            rel_pos_h=Weight(2 * side - 1, head, kind="position"),
            rel_pos_w=Weight(2 * side - 1, head, kind="position"),
            qkv=Linear(width, 3 * width, kind="qkv"),
            proj=Linear(width, width, kind="output"),
            component=Component.ATTENTION,
        ),
        norm2=LayerNorm(width, eps=1e-6),
        mlp=Module(
            "MLPBlock",
            lin1=Linear(width, 4 * width, kind="up"),
            lin2=Linear(4 * width, width, kind="down"),
            act=activation("gelu"),
            component=Component.MLP,
        ),
    )


def sam_model() -> Module:
    c = SAM
    width, side, out, patch = c.dim("width"), c.dim("side"), c.dim("output"), c.dim("patch")
    head = width // c.dim("heads")
    kinds = {True: _sam_block(width, side, head), False: _sam_block(width, c.dim("window"), head)}
    norm = Module("LayerNorm2d", weight=Weight(out), bias=Weight(out), component=Component.NORM)
    return Module(
        "ImageEncoderViT",
        pos_embed=Weight(1, side, side, width, component=Component.EMBEDDING, kind="position"),
        patch_embed=Module("PatchEmbed", proj=patch_conv(3, width, (patch, patch))),
        blocks=Layers(kinds[i in GLOBAL] for i in range(int(c.count("layers")))),
        neck=Sequential(
            Conv(width, out, 1, bias=False), norm, Conv(out, out, 3, bias=False), norm
        ),
        net_2=Conv(out, 2 * out, 3, bias=False, stride=2),
        net_3=Conv(2 * out, 4 * out, 3, bias=False, stride=2),
        part="vision",
    )  # fmt: skip


def _clip_block(width: Dim, inner: Dim) -> Module:
    return Module(
        "NoTPTransformerBlock",
        self_attn=Module(
            "NoTPAttention",
            qkv_proj=Linear(width, 3 * width, kind="qkv"),
            out_proj=Linear(width, width, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=two_layer_mlp("NoTPFeedForward", width, inner),
        layer_norm1=LayerNorm(width),
        layer_norm2=LayerNorm(width),
    )


def clip_model() -> Module:
    """CLIP's tower, its patches never used: SAM's output stands in their place."""
    c = CLIP
    width, patch = c.dim("width"), c.dim("patch")
    layers = Layers.of(c.count("layers"), _clip_block(width, c.dim("inner")))
    return Module(
        "VitModel",
        embeddings=Module(
            "CLIPVisionEmbeddings",
            class_embedding=Weight(width, kind="class_token"),
            patch_embedding=patch_conv(3, width, (patch, patch), bias=False),
            position_embedding=position_table(c.dim("positions"), width),
            component=Component.EMBEDDING,
        ),
        transformer=Module("NoTPTransformer", layers=layers),
        pre_layrnorm=LayerNorm(width),
        part="vision",
    )


def text_section(c: ModelConfig) -> ModelConfig:
    """The decoder's keys stand next to ``language_config`` and in it."""
    return c.with_defaults(**c.section("language_config").values)


def causal_lm(config: ModelConfig) -> Module:
    c = text_section(config)
    text = language_model(c)
    base = text.inside("model")
    width = c.dim("hidden_size", default=4096)
    joining = config.section("projector_config").with_defaults(
        projector_type="linear", input_dim=2048, n_embed=int(width)
    )
    mark = Weight(width, component=Component.EMBEDDING)
    base.class_name = "DeepseekOCRModel"
    base.children |= {
        "sam_model": sam_model(),
        "vision_model": clip_model(),
        "projector": projector(joining),
        "image_newline": mark,
        "view_seperator": mark,
    }
    vocab = c.dim("vocab_size", default=102400)
    tied = "model.embed_tokens.weight" if c.tied(default=False) else None
    head = to_words(width, vocab, tied)  # fmt: skip
    return Module("DeepseekOCRForCausalLM", model=base, lm_head=head)


register(
    ("DeepseekOCR", "deepseekocr"),
    {"DeepseekOCRForCausalLM": causal_lm},
    category="multimodal",
    source="modeling_deepseekocr.py and deepencoder.py of deepseek-ai/DeepSeek-OCR",
)
