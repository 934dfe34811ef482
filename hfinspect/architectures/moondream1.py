"""Moondream 2, releases since 2025 (class HfMoondream; configs say ``moondream1``). No class in
transformers. Source of shapes: moondream/torch/{config,moondream,text,vision}.py of
github.com/vikhyat/moondream, whose modules are plain dictionaries of linears. The released config
is empty (``"config": {}``): the sizes are the code's own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import fused_attention, two_layer_mlp
from ..layers.heads import to_words
from ..layers.multimodal import as_projector
from ..trees.catalog import register_part
from ..trees.modules import LayerNorm, Layers, Linear, Module, Weight


def _two(first: Dim, inner: Dim, last: Dim) -> Module:
    """fc2(gelu(fc1(x))): an MLP, a projector or a decoder of regions."""
    return two_layer_mlp("ModuleDict", first, inner, out=last)


def text_model(c: ModelConfig) -> Module:
    width, vocab = c.dim("dim", default=2048), c.dim("vocab_size", default=51200)
    heads = c.dim("n_heads", default=32)
    kv = c.dim("n_kv_heads", default=heads)
    head = c.divided(width, heads, "dim", "n_heads")
    block = Module(
        "ModuleDict",
        ln=LayerNorm(width),
        attn=fused_attention("ModuleDict", width, joined=width + 2 * (kv * head)),
        mlp=_two(width, c.dim("ff_dim", default=4 * width), width),
    )
    return Module(
        "ModuleDict",
        wte=Weight(vocab, width, component=Component.EMBEDDING, kind="token"),
        blocks=Layers.of(c.count("n_layers", default=24), block),
        post_ln=LayerNorm(width),
        lm_head=to_words(width, vocab, bias=True),
    )


def vision_model(c: ModelConfig) -> Module:
    width, patch = c.dim("enc_dim", default=1152), c.dim("enc_patch_size", default=14)
    side = c.dim("crop_size", default=378) // patch
    block = Module(
        "ModuleDict",
        ln1=LayerNorm(width),
        attn=fused_attention("ModuleDict", width),
        ln2=LayerNorm(width),
        mlp=_two(width, c.dim("enc_ff_dim", default=4304), width),
    )
    between, out = c.dim("proj_inner_dim", default=8192), c.dim("proj_out_dim", default=2048)
    return Module(
        "ModuleDict",
        pos_emb=Weight(1, side * side, width, component=Component.EMBEDDING, kind="position"),
        patch_emb=Linear(
            patch * patch * c.dim("in_channels", default=3), width,
            component=Component.EMBEDDING, kind="patch",
        ),
        blocks=Layers.of(c.count("enc_n_layers", default=27), block),
        post_ln=LayerNorm(width),
        proj_mlp=as_projector(_two(width * 2, between, out)),
        part="vision",
    )  # fmt: skip


def region_model(c: ModelConfig) -> Module:
    """Coordinates and sizes as Fourier features into the text's width, and back to bins."""
    width, inner = c.dim("dim", default=2048), c.dim("inner_dim", default=8192)
    point, size = c.dim("coord_feat_dim", default=256), c.dim("size_feat_dim", default=512)
    return Module(
        "ModuleDict",
        coord_features=Weight(1, point // 2),
        size_features=Weight(2, size // 2),
        coord_encoder=Linear(point, width),
        coord_decoder=_two(width, inner, c.dim("coord_out_dim", default=1024)),
        size_encoder=Linear(size, width),
        size_decoder=_two(width, inner, c.dim("size_out_dim", default=2048)),
        component=Component.EMBEDDING,
    )


def model(config: ModelConfig) -> Module:
    made = {"vision": vision_model, "text": text_model, "region": region_model}
    c = config.section("config")
    parts = {name: build(c.section(name)) for name, build in made.items()}
    return Module("HfMoondream", model=Module("MoondreamModel", dict(parts)))


_SOURCE = "moondream/torch of github.com/vikhyat/moondream"
register_part("moondream1", "HfMoondream", model, source=_SOURCE)
