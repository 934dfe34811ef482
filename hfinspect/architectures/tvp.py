"""TVP (Zhang et al. 2023), text and video. Source: transformers/models/tvp/modeling_tvp.py.

A ResNet over frames whose edges are learned, tables of places in rows and columns, and a BERT over
a learned prompt, the text and the grid; the head says where in the video it is.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.backbones import backbone
from ..layers.multimodal import nested
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-12))


def _tables(c: ModelConfig, name: str, sizes: dict[str, Dim]) -> Module:
    h = _hidden(c)
    tables = {
        f"{at}_embeddings": Embedding(size, h, kind="token" if at == "word" else "position")
        for at, size in sizes.items()
    }
    return Module(name, {**tables, "layer_norm": _norm(c)}, component=Component.EMBEDDING)


def _layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=3072)
    return Module(
        "TvpEncodeLayer",
        attention=Module(
            "TvpAttention",
            query=Linear(h, h, kind="query"),
            key=Linear(h, h, kind="key"),
            value=Linear(h, h, kind="value"),
            dense=Linear(h, h, kind="output"),
            layer_norm=_norm(c),
            component=Component.ATTENTION,
        ),
        intermediate=Module(
            "TvpIntermediate", dense=Linear(h, inner, kind="up"), component=Component.MLP
        ),
        output=Module(
            "TvpOutputLayer",
            dense=Linear(inner, h, kind="down"),
            layer_norm=_norm(c),
            component=Component.MLP,
        ),
    )


def _prompter(c: ModelConfig) -> Module:
    kind = c.text("visual_prompter_type", default="framepad")
    if kind != "framepad":
        raise c.error("visual_prompter_type", kind, "framepad, the one that its class can build")
    size, image = c.dim("visual_prompt_size", default=96), c.dim("max_img_size", default=448)
    frames, inner = c.dim("num_frames", default=48), image - 2 * size
    if inner < 0:
        raise c.error("visual_prompt_size", int(size), f"at most half of {int(image)}")
    rows, sides = Weight(1, frames, 3, size, image), Weight(1, frames, 3, inner, size)
    return Module(
        "TvpFramePadPrompter",
        pad_up=rows,
        pad_down=rows,
        pad_left=sides,
        pad_right=sides,
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    section = nested(c, "backbone_config", model_type="resnet", out_features=["stage4"])
    network, _ = backbone(section, default_type="resnet")
    last = section.dims("hidden_sizes", default=(256, 512, 1024, 2048))[-1]
    places = c.dim("max_position_embeddings", default=512)
    return Module(
        "TvpModel",
        text_prompt=Weight(1, 10, h),
        vision_model=Module(
            "TvpVisionModel",
            backbone=network,
            grid_encoder_conv=Conv(last, h, 3, bias=False),
            part="vision",
        ),
        embeddings=_tables(
            c,
            "TvpTextInputEmbeddings",
            {
                "word": c.dim("vocab_size", default=30522),
                "position": places,
                "token_type": c.dim("type_vocab_size", default=2),
            },
        ),
        visual_embeddings=_tables(
            c,
            "TvpVisualInputEmbedding",
            {
                "position": places,
                "row_position": c.dim("max_grid_row_position_embeddings", default=100),
                "col_position": c.dim("max_grid_col_position_embeddings", default=100),
                "token_type": Dim(1),
            },
        ),
        encoder=Module(
            "TvpEncoder", layer=Layers.of(c.count("num_hidden_layers", default=12), _layer(c))
        ),
        pooler=Module("TvpPooler", dense=Linear(h, h), component=Component.HEAD, kind="pooler"),
        visual_prompter=_prompter(c),
    )


def grounding(c: ModelConfig) -> Module:
    h = _hidden(c)
    head = Module(
        "TvpVideoGroundingHead",
        layer_0=Linear(h, h * 2),
        layer_1=Linear(h * 2, 2),
        activation_0=Activation("ReLU"),
        activation_1=Activation("Sigmoid"),
        component=Component.HEAD,
    )
    return Module("TvpForVideoGrounding", model=model(c), video_grounding_head=head)


register(
    "tvp",
    {"TvpForVideoGrounding": grounding, "TvpModel": model},
    base="TvpModel",
    base_prefix="model",
    category="multimodal",
)
