"""FLAVA (Singh et al. 2021). Source of shapes: transformers/models/flava/modeling_flava.py.

Three encoders of one kind, for images, texts and both, and heads for as many tasks; DALL-E's
encoder makes the codes of images that one of them learns to say.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import google_layer, pair, patch_conv, patch_count
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    Weight,
)

#: Widths of the codebook's four groups, as multiples of its hidden_size.
_GROUPS = ((1, 1), (1, 2), (2, 4), (4, 8))


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-12)


def _stack(c: ModelConfig, depth: int = 12) -> dict[str, Module]:
    h = _hidden(c)
    block = google_layer(
        "Flava", h, c.dim("intermediate_size", default=3072), eps=_eps(c),
        act=c.text("hidden_act", default="gelu"), qkv_bias=c.flag("qkv_bias", default=True),
    )  # fmt: skip
    layers = Layers.of(c.count("num_hidden_layers", default=depth), block)
    return {
        "encoder": Module("FlavaEncoder", layer=layers),
        "layernorm": LayerNorm(h, eps=_eps(c)),
        "pooler": _pooler(h),
    }


def _pooler(h: Dim) -> Module:
    return Module(
        "FlavaPooler", dense=Linear(h, h), activation=Activation("Tanh"),
        component=Component.HEAD, kind="pooler",
    )  # fmt: skip


def image_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    masked = c.flag("mask_token", default=True)
    embeddings = Module(
        "FlavaImageEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        mask_token=Weight(1, 1, h, kind="mask_token") if masked else None,
        position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
        patch_embeddings=Module(
            "PatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
        ),
        component=Component.EMBEDDING,
    )
    return Module("FlavaImageModel", {"embeddings": embeddings, **_stack(c)}, part="vision")


def text_model(c: ModelConfig) -> Module:
    h, places = _hidden(c), c.dim("max_position_embeddings", default=512)
    embeddings = Module(
        "FlavaTextEmbeddings",
        word_embeddings=Embedding(c.dim("vocab_size", default=30522), h),
        position_embeddings=Embedding(places, h, kind="position"),
        token_type_embeddings=Embedding(c.dim("type_vocab_size", default=2), h, kind="segment"),
        LayerNorm=LayerNorm(h, eps=_eps(c)),
    )
    return Module("FlavaTextModel", {"embeddings": embeddings, **_stack(c)})


def multimodal_model(c: ModelConfig) -> Module:
    token = Weight(1, 1, _hidden(c), component=Component.EMBEDDING, kind="class_token")
    first = {"cls_token": token} if c.flag("use_cls_token", default=True) else {}
    return Module("FlavaMultimodalModel", {**first, **_stack(c, 6)})


# ---- codes of images


def _path(inputs: Dim, out: Dim) -> Module:
    inner = out // 4
    sizes = ((inputs, inner, 3), (inner, inner, 3), (inner, inner, 3), (inner, out, 1))
    parts: dict[str, Module | Parameter | None] = {}
    for i, (a, b, kernel) in enumerate(sizes, 1):
        parts |= {f"relu_{i}": Activation("ReLU"), f"conv_{i}": Conv(a, b, kernel)}
    return Module("FlavaImageCodebookResPath", path=Module("Sequential", parts))


def _block(inputs: Dim, out: Dim) -> Module:
    return Module(
        "FlavaImageCodebookBlock",
        id_path=Conv(inputs, out, 1) if inputs != out else Activation("Identity"),
        res_path=_path(inputs, out),
    )


def codebook(c: ModelConfig) -> Module:
    h, count = c.dim("hidden_size", default=256), c.count("num_blocks_per_group", default=2)
    parts: dict[str, Module | Parameter | None] = {
        "input": Conv(c.dim("input_channels", default=3), h, 7)
    }
    for number, (a, b) in enumerate(_GROUPS, 1):
        inputs, out = (h * size if size > 1 else h for size in (a, b))
        first, rest = _block(inputs, out), _block(out, out)
        blocks: dict[str, Module | Parameter | None] = {
            f"block_{i}": first if i == 1 else rest for i in range(1, int(count) + 1)
        }
        group = Module("Sequential", blocks)
        parts[f"group_{number}"] = Module("FlavaImageCodebookLayerGroup", group=group)
    parts["output"] = Module(
        "Sequential",
        relu=Activation("ReLU"),
        conv=Conv(h * 8, c.dim("vocab_size", default=8192), 1),
    )
    return Module(
        "FlavaImageCodebook", blocks=Module("Sequential", parts), component=Component.CONV,
        part="vq",
    )  # fmt: skip


# ---- together


def model(c: ModelConfig) -> Module:
    text, image = c.section("text_config"), c.section("image_config")
    both = c.section("multimodal_config")
    width, mixed = c.dim("projection_dim", default=768), _hidden(both)

    def projection(section: ModelConfig, size: Dim) -> Module:
        return Linear(_hidden(section), size, component=Component.PROJECTOR)

    return Module(
        "FlavaModel",
        text_model=text_model(text),
        image_model=image_model(image),
        multimodal_model=multimodal_model(both),
        image_projection=projection(image, width),
        text_projection=projection(text, width),
        logit_scale=Weight(kind="scale"),
        image_to_mm_projection=projection(image, mixed),
        text_to_mm_projection=projection(text, mixed),
    )


def _head(c: ModelConfig, at: str, words: int, tied: bool) -> Module:
    """The bias is saved as the decoder's."""
    h, vocab = _hidden(c), c.dim("vocab_size", default=words)
    transform = Module(
        "FlavaPredictionHeadTransform",
        dense=Linear(h, h, kind="transform"),
        transform_act_fn=activation(c.text("hidden_act", default="gelu")),
        LayerNorm=LayerNorm(h, eps=_eps(c)),
    )
    return Module(
        "FlavaMaskedPredictionHead",
        transform=transform,
        decoder=Linear(h, vocab, kind="lm_head"),
        bias=Weight(vocab, tied_to=f"{at}.decoder.bias" if tied else None),
        component=Component.HEAD,
    )


def pretraining(c: ModelConfig) -> Module:
    text, image, h = c.section("text_config"), c.section("image_config"), _hidden(c)
    codes = codebook(c.section("image_codebook_config"))
    heads = {
        name: _head(image if words == 8192 else text, name, words, c.tied(default=True))
        for name, words in (
            ("mim_head", 8192), ("mlm_head", 30522),
            ("mmm_image_head", 8192), ("mmm_text_head", 30522),
        )
    }  # fmt: skip
    matching = Module(
        "FlavaITMHead",
        pooler=_pooler(h),
        seq_relationship=Linear(h, 2),
        component=Component.HEAD,
    )
    return Module(
        "FlavaForPreTraining",
        {
            "flava": model(c),
            "image_codebook": codes if c.flag("init_codebook", default=True) else None,
            "mim_head": heads["mim_head"],
            "mlm_head": heads["mlm_head"],
            "itm_head": matching,
            "mmm_image_head": heads["mmm_image_head"],
            "mmm_text_head": heads["mmm_text_head"],
            "global_contrastive_head": Activation("FlavaGlobalContrastiveHead"),
        },
    )


register_part("flava_image_model", "FlavaImageModel", image_model, "vision")
register_part("flava_text_model", "FlavaTextModel", text_model, "encoder")
register_part("flava_multimodal_model", "FlavaMultimodalModel", multimodal_model, "encoder")
register_part("flava_image_codebook", "FlavaImageCodebook", codebook, "vision")
register(
    "flava",
    {"FlavaForPreTraining": pretraining, "FlavaModel": model},
    base="FlavaModel",
    base_prefix="flava",
    category="multimodal",
)
