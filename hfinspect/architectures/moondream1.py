"""Moondream 2, releases since 2025 (class HfMoondream; configs say ``moondream1``). Its modules are
plain dictionaries of linears; its config is empty (``"config": {}``), sizes are the code's own."""

from functools import partial

from ..layers.blocks import fused_attention, two_layer_mlp
from ..layers.composing import composed
from ..layers.heads import to_words
from ..layers.multimodal import as_projector, within
from ..trees import Component, LayerNorm, Layers, Linear, ModelConfig, Module, Weight, register_part

_dict = partial(Module, "ModuleDict")
#: fc2(gelu(fc1(x))): an MLP, a projector or a decoder of regions.
_two = partial(two_layer_mlp, "ModuleDict")


def text_model(c: ModelConfig) -> Module:
    width = c.dim("dim", default=2048)
    vocab = c.dim("vocab_size", default=51200)
    heads = c.dim("n_heads", default=32)
    kv = c.dim("n_kv_heads", default=heads) * c.divided(width, heads, "dim", "n_heads")
    block = _dict(
        ln=LayerNorm(width),
        attn=fused_attention("ModuleDict", width, joined=width + 2 * kv),
        mlp=_two(width, c.dim("ff_dim", default=4 * width)),
    )
    return _dict(
        wte=Weight(vocab, width, component=Component.EMBEDDING, kind="token"),
        blocks=Layers.of(c.count("n_layers", default=24), block),
        post_ln=LayerNorm(width),
        lm_head=to_words(width, vocab, bias=True),
    )


def vision_model(c: ModelConfig) -> Module:
    width = c.dim("enc_dim", default=1152)
    patch = c.dim("enc_patch_size", default=14)
    side = c.dim("crop_size", default=378) // patch
    pixels = c.dim("in_channels", default=3)
    inner = c.dim("proj_inner_dim", default=8192)
    out = c.dim("proj_out_dim", default=2048)
    block = _dict(
        ln1=LayerNorm(width),
        attn=fused_attention("ModuleDict", width),
        ln2=LayerNorm(width),
        mlp=_two(width, c.dim("enc_ff_dim", default=4304)),
    )
    place = Component.EMBEDDING
    return _dict(
        pos_emb=Weight(1, side * side, width, component=place, kind="position"),
        patch_emb=Linear(patch * patch * pixels, width, component=place, kind="patch"),
        blocks=Layers.of(c.count("enc_n_layers", default=27), block),
        post_ln=LayerNorm(width),
        proj_mlp=as_projector(_two(width * 2, inner, out=out)),
        part="vision",
    )


def region_model(c: ModelConfig) -> Module:
    """Coordinates and sizes as Fourier features into the text's width, and back to bins."""
    width = c.dim("dim", default=2048)
    inner = c.dim("inner_dim", default=8192)
    point = c.dim("coord_feat_dim", default=256)
    size = c.dim("size_feat_dim", default=512)
    return _dict(
        coord_features=Weight(1, point // 2),
        size_features=Weight(2, size // 2),
        coord_encoder=Linear(point, width),
        coord_decoder=_two(width, inner, out=c.dim("coord_out_dim", default=1024)),
        size_encoder=Linear(size, width),
        size_decoder=_two(width, inner, out=c.dim("size_out_dim", default=2048)),
        component=Component.EMBEDDING,
    )


_PARTS = {"vision": vision_model, "text": text_model, "region": region_model}
_MODEL = composed({"MoondreamModel": {at: within(at, build) for at, build in _PARTS.items()}})
_MODELS = {"model": within("config", _MODEL["MoondreamModel"])}
register_part(
    "moondream1", "HfMoondream", _MODELS, source="moondream/torch of github.com/vikhyat/moondream"
)
