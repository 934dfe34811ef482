"""GOT-OCR 2 (Wei et al. 2024). Source of shapes: transformers/models/got_ocr2/modeling_got_ocr2.py.

SAM's image encoder (attention in windows, relative positions), two strided convolutions and a
projection, and Qwen2. Files keep the layout in which the language model is a causal LM of its own.
"""

from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import lm_head
from ..layers.multimodal import LLAVA_ALIASES
from ..layers.vision import pair, patch_conv
from ..trees.catalog import auto_model, register, register_part
from ..trees.modules import Conv, LayerNorm, Layers, Linear, Module, Parameter, Weight

#: What the config class sets where the text section is left out.
_TEXT: dict[str, Any] = {
    "model_type": "qwen2",
    "vocab_size": 151860,
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
}


def vision_attention(c: ModelConfig, h: Dim, side: Dim) -> Module:
    """``side`` of the window in patches; one row of positions per offset and direction."""
    head = h // c.dim("num_attention_heads", default=12)
    relative = c.flag("use_rel_pos", default=True)

    def offsets() -> Parameter | None:
        return Weight(2 * side - 1, head, kind="relative_position") if relative else None

    return Module(
        "GotOcr2VisionAttention",
        {
            "rel_pos_h": offsets(),
            "rel_pos_w": offsets(),
            "qkv": Linear(h, h * 3, bias=c.flag("qkv_bias", default=True), kind="qkv"),
            "proj": Linear(h, h, kind="output"),
        },
        component=Component.ATTENTION,
    )


def vision_layer(c: ModelConfig, h: Dim, side: Dim) -> Module:
    eps, inner = c.number("layer_norm_eps", default=1e-6), c.dim("mlp_dim", default=3072)
    return Module(
        "GotOcr2VisionLayer",
        layer_norm1=LayerNorm(h, eps=eps),
        attn=vision_attention(c, h, side),
        layer_norm2=LayerNorm(h, eps=eps),
        mlp=Module(
            "GotOcr2MLPBlock",
            lin1=Linear(h, inner, kind="up"),
            lin2=Linear(inner, h, kind="down"),
            act=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
    )


def neck(h: Dim, out: Dim) -> Module:
    return Module(
        "GotOcr2VisionNeck",
        conv1=Conv(h, out, 1, bias=False),
        layer_norm1=LayerNorm(out, eps=1e-6, class_name="GotOcr2LayerNorm"),
        conv2=Conv(out, out, 3, bias=False),
        layer_norm2=LayerNorm(out, eps=1e-6, class_name="GotOcr2LayerNorm"),
    )


def vision_model(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=768)
    image, patch = pair(c, "image_size", default=1024), pair(c, "patch_size", default=16)
    grid = (image[0] // patch[0], image[1] // patch[1])
    window = c.dim("window_size", default=14, minimum=0)
    wide = {int(i) for i in c.dims("global_attn_indexes", default=(2, 5, 8, 11), minimum=0)}
    count = int(c.count("num_hidden_layers", default=12))
    seeing = [i in wide or not window for i in range(count)]
    built = {
        everything: vision_layer(c, h, grid[0] if everything else window)
        for everything in set(seeing)
    }
    absolute = c.flag("use_abs_pos", default=True)
    return Module(
        "GotOcr2VisionEncoder",
        patch_embed=Module(
            "GotOcr2PatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
            component=Component.EMBEDDING,
        ),
        pos_embed=Weight(exact(1), *grid, h, component=Component.EMBEDDING, kind="position")
        if absolute
        else None,
        layers=Layers(built[everything] for everything in seeing),
        neck=neck(h, c.dim("output_channels", default=256)),
        part="vision",
    )


def projector(c: ModelConfig, h: int) -> Module:
    out = c.section("vision_config").dim("output_channels", default=256)
    return Module(
        "GotOcr2MultiModalProjector",
        conv_upsampler1=Conv(out, out * 2, 3, stride=2, bias=False, component=None),
        conv_upsampler2=Conv(out * 2, h, 3, stride=2, bias=False, component=None),
        multimodal_projector=Linear(h, h),
        component=Component.PROJECTOR,
        part="projector",
    )


def _parts(c: ModelConfig, *, headed: bool = False) -> dict[str, Module]:
    language = auto_model(c.section("text_config", default=_TEXT), default_type="qwen2")
    table = language.inside("embed_tokens")
    weight = table["weight"]
    assert not isinstance(weight, Module)
    vocab, h = weight.shape
    tied_to = "language_model.model.embed_tokens.weight"
    head = lm_head(c, h, vocab, tied_to=tied_to) if headed else None
    return {
        "vision_tower": vision_model(c.section("vision_config")),
        "multi_modal_projector": projector(c, h),
        "language_model": Module("Qwen2ForCausalLM", model=language, lm_head=head),
    }


def model(c: ModelConfig) -> Module:
    return Module("GotOcr2Model", dict(_parts(c)))


def conditional_generation(c: ModelConfig) -> Module:
    return Module("GotOcr2ForConditionalGeneration", dict(_parts(c, headed=True)))


register(
    ("got_ocr2", "pp_chart2table"),
    {"GotOcr2ForConditionalGeneration": conditional_generation, "GotOcr2Model": model},
    aliases=LLAVA_ALIASES,
    category="multimodal",
)
register_part("got_ocr2_vision", "GotOcr2VisionEncoder", vision_model, "vision")
