"""Florence-2 as released (Xiao et al. 2023): modeling_florence2.py of microsoft/Florence-2-large.
The form that transformers converts it to is another tree: florence2.py."""

from ..layers.composing import respelled
from ..trees import Component, ModelConfig, auto_class, builder
from ..trees.modules import Buffer, Embedding, LayerNorm, Layers, Module, ModuleList, Weight

#: DaViT's keys -> those of transformers' tower, and their values by default.
_KEYS = {"dim_embed": "embed_dim", "in_chans": "in_channels"}
_STAGES = {"dim_embed": (256, 512, 1024, 2048), "depths": (1, 1, 9, 1)}


def _block(block: Module) -> Module:
    """Halves of convolution, attention, convolution, MLP; each with what stands before it."""
    sequential = Module("MySequential")
    for kind, attention in {"spatial": "window_attn", "channel": "channel_attn"}.items():
        half = block.inside(f"{kind}_block")
        first, second = (Module("DepthWiseConv2d", dw=half[at]) for at in ("conv1", "conv2"))
        net = Module("Sequential", half.inside("ffn").children)
        mlp = Module("Mlp", net=net, component=Component.MLP)
        parts = {
            "conv1": Module("PreNorm", fn=first),
            attention: Module("PreNorm", norm=half["norm1"], fn=half[attention]),
            "conv2": Module("PreNorm", fn=second),
            "ffn": Module("PreNorm", norm=half["norm2"], fn=mlp),
        }
        sequential.children[f"{kind}_block"] = Module(f"{kind.capitalize()}Block", dict(parts))
    return sequential


def _modules(of: Module) -> list[Module]:
    return [child for child in of.children.values() if isinstance(child, Module)]


def davit(c: ModelConfig) -> Module:
    """transformers' tower, put together in another way."""
    c = c.with_defaults(**_STAGES)
    values = {_KEYS.get(key, key): value for key, value in c.values.items()}
    tower = builder("Florence2VisionBackbone")(ModelConfig(values, c.path))
    convs = respelled(tower.inside("convs"), {"conv": "proj"})
    for conv in _modules(convs):
        conv.inside("proj").component = Component.EMBEDDING
    stages = [
        Layers(map(_block, _modules(stage)), class_name="MySequential")
        for stage in _modules(tower.inside("blocks"))
    ]
    return Module("DaViT", convs=convs, blocks=ModuleList(stages), part="vision")


def is_released(c: ModelConfig) -> bool:
    """Its own names for the widths of DaViT and for the parts."""
    vision = c.section("vision_config")
    text = c.section("text_config")
    has_older_types = vision.model_type == "davit" or text.model_type == "florence2_language"
    return vision.has("dim_embed") or has_older_types


def conditional_generation(c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    text = c.section("text_config")
    width = vision.dims("dim_embed", default=_STAGES["dim_embed"])[-1]
    out = vision.dim("projection_dim", default=1024)
    count = vision.section("image_pos_embed").dim("max_pos_embeddings", default=50)
    video = vision.section("visual_temporal_embedding")
    frames = video.dim("max_temporal_embeddings", default=100)
    # Half of the width for rows, the rest for columns; images of a video by a fixed cosine.
    rows = Embedding(count, width // 2, kind="position")
    half = width - width // 2
    grid = {"row_embeddings": rows, "column_embeddings": Embedding(count, half, kind="position")}
    cosine = Module("PositionalEmbeddingCosine1D", component=Component.EMBEDDING, part="vision")
    cosine.adding(pos_idx_to_embed=Buffer(frames, width, kind="position"))
    return Module(
        "Florence2ForConditionalGeneration",
        image_projection=Weight(width, out, component=Component.PROJECTOR),
        vision_tower=davit(vision),
        image_pos_embed=Module("LearnedAbsolutePositionEmbedding2D", grid, part="vision"),
        visual_temporal_embed=cosine,
        image_proj_norm=LayerNorm(out),
        language_model=auto_class(text.with_values(model_type="bart"), "ForConditionalGeneration"),
    )
