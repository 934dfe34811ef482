"""Segment Anything (Kirillov et al. 2023). Source: transformers/models/sam/modeling_sam.py. The
random frequencies that stand for positions are shared by both encoders."""

from collections.abc import Callable, Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, fused_attention, two_layer_mlp
from ..layers.composing import renamed
from ..layers.vision import narrowed_attention, pair, patch_conv, scaled
from ..trees.catalog import register_part
from ..trees.modules import Conv, Embedding, LayerNorm, Layers, Linear, Module, ModuleList, Weight


def norm(name: str, size: Dim) -> Module:
    return LayerNorm(size, eps=1e-6, class_name=f"{name}LayerNorm")


def _mlp(c: ModelConfig, width: Dim, inner: Dim, act: str) -> Module:
    act = c.text("hidden_act", default=act) or act
    return two_layer_mlp("SamMLPBlock", width, inner, act=act, names=("lin1", "lin2"))


def vision_layer(c: ModelConfig, h: Dim, *, windowed: bool) -> Module:
    heads = c.dim("num_attention_heads", default=12)
    image, patch = c.dim("image_size", default=1024), c.dim("patch_size", default=16)
    side = c.dim("window_size", default=14) if windowed else image // patch
    normed = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6))
    inner = c.dim("mlp_dim") if c.has("mlp_dim") else scaled(c, h, "mlp_ratio", default=4.0)
    look = fused_attention("SamVisionSdpaAttention", h, bias=c.flag("qkv_bias", default=True))
    if c.flag("use_rel_pos", default=True):
        offsets = Weight(2 * side - 1, h // heads, kind="relative_position")
        look.children = {"rel_pos_h": offsets, "rel_pos_w": offsets, **look.children}
    parts = {"layer_norm1": normed, "attn": look, "layer_norm2": normed}
    return Module("SamVisionLayer", parts, mlp=_mlp(c, h, inner, "gelu"))


def vision_encoder(c: ModelConfig) -> Module:
    h, out = c.dim("hidden_size", default=768), c.dim("output_channels", default=256)
    image, patch = pair(c, "image_size", default=1024), pair(c, "patch_size", default=16)
    everywhere = {int(i) for i in c.dims("global_attn_indexes", default=(2, 5, 8, 11), minimum=0)}
    windowed = int(c.dim("window_size", default=14, minimum=0)) > 0
    kinds = {local: vision_layer(c, h, windowed=local) for local in {windowed, False}}
    count = int(c.count("num_hidden_layers", default=12))
    rows, columns = image[0] // patch[0], image[1] // patch[1]
    positions = Weight(1, rows, columns, h, component=Component.EMBEDDING, kind="position")
    patches, normed = patch_conv(c.dim("num_channels", default=3), h, patch), norm("Sam", out)
    point, wide = Conv(h, out, 1, bias=False), Conv(out, out, 3, bias=False)
    neck = {"conv1": point, "layer_norm1": normed, "conv2": wide, "layer_norm2": normed}
    return Module(
        "SamVisionEncoder",
        pos_embed=positions if c.flag("use_abs_pos", default=True) else None,
        patch_embed=Module("SamPatchEmbeddings", projection=patches),
        layers=Layers(kinds[windowed and i not in everywhere] for i in range(count)),
        neck=Module("SamVisionNeck", neck, component=Component.PROJECTOR),
        part="vision",
    )


def encoder_of(name: str, c: ModelConfig, **defaults: int) -> Module:
    """The image encoder of families that read documents with it."""
    root = vision_encoder(c.with_defaults(mlp_dim=3072, **defaults))
    return renamed(renamed(root, "SamVisionSdpa", "SamVision"), "Sam", name)


def _frequencies(c: ModelConfig, tied_to: str | None = None) -> Module:
    features = c.section("vision_config").dim("num_pos_feats", default=128)
    return Module(
        "SamPositionalEmbedding",
        positional_embedding=Weight(2, features, tied_to=tied_to, kind="position"),
        component=Component.EMBEDDING,
    )


def prompts(name: str, c: ModelConfig, shared: Module, points: Module) -> Module:
    """Points, and masks made smaller by two convolutions, as vectors; SAM 2's too."""
    d, masked = c.dim("hidden_size", default=256), c.dim("mask_input_channels", default=16)
    quarter = masked // 4
    return Module(
        f"{name}PromptEncoder",
        shared_embedding=shared,
        mask_embed=Module(
            f"{name}MaskEmbedding",
            activation=activation(c.text("hidden_act", default="gelu")),
            conv1=Conv(1, quarter, 2, stride=2),
            conv2=Conv(quarter, masked, 2, stride=2),
            conv3=Conv(masked, d, 1),
            layer_norm1=norm(name, quarter),
            layer_norm2=norm(name, quarter * 4),
        ),
        no_mask_embed=Embedding(1, d),
        point_embed=points,
        not_a_point_embed=Embedding(1, d),
        component=Component.EMBEDDING,
        part="vision",
    )


def narrower(name: str, c: ModelConfig, rate: int | None = None, out: str = "o_proj") -> Module:
    """Attention, narrower inside by the downsampling rate."""
    d = c.dim("hidden_size", default=256)
    down = c.dim("attention_downsample_rate", default=2) if rate is None else rate
    return narrowed_attention(f"{name}Attention", d, d // down if int(down) != 1 else d, out=out)


def forward(
    sizes: tuple[Dim, Dim, Dim | int],
    depth: int = 2,
    act: str | None = None,
    component: Component = Component.MLP,
) -> Module:
    """``depth`` linear layers, all but the ends of the inner size; with ``act`` SAM 2's."""
    inputs, inner, outputs = sizes
    up, down = (None, None) if act is None else ("up", "down")
    return Module(
        "SamFeedForward" if act is None else "Sam2FeedForward",
        activation=None if act is None else activation(act),
        proj_in=Linear(inputs, inner, kind=up),
        proj_out=Linear(inner, outputs, kind=down),
        layers=ModuleList([Linear(inner, inner)] * max(depth - 2, 0)),
        component=component,
    )


def decoder(
    name: str, c: ModelConfig, looks: Sequence[Module], mlp: Module, made: Callable[..., Module]
) -> Module:
    """Prompts look at themselves and at the picture, and the picture at them; of each mask come the
    weights of its pixels, of all how good they are. SAM 2's too."""
    d, masks = c.dim("hidden_size", default=256), c.count("num_multimask_outputs", default=3) + 1
    scored = d, c.dim("iou_head_hidden_dim", default=256), masks
    depth, (own, cross, last) = int(c.count("iou_head_depth", default=3)), looks
    # SAM 2's config has no such key.
    normed = LayerNorm(d, eps=c.number("layer_norm_eps", default=1e-6) if name == "Sam" else None)
    layer = Module(
        f"{name}TwoWayAttentionBlock",
        self_attn=own,
        layer_norm1=normed,
        cross_attn_token_to_image=cross,
        layer_norm2=normed,
        mlp=mlp,
        layer_norm3=normed,
        layer_norm4=normed,
        cross_attn_image_to_token=cross,
    )
    return Module(
        f"{name}MaskDecoder",
        iou_token=Embedding(1, d),
        mask_tokens=Embedding(masks, d),
        transformer=Module(
            f"{name}TwoWayTransformer",
            layers=Layers.of(c.count("num_hidden_layers", default=2), layer),
            final_attn_token_to_image=last,
            layer_norm_final_attn=LayerNorm(d),
        ),
        upscale_conv1=Conv(d, d // 4, 2, stride=2, transposed=True),
        upscale_conv2=Conv(d // 4, d // 8, 2, stride=2, transposed=True),
        upscale_layer_norm=norm(name, d // 4),
        output_hypernetworks_mlps=ModuleList([made((d, d, d // 8), depth=3)] * int(masks)),
        iou_prediction_head=made(scored, depth=depth, component=Component.HEAD),
        part="vision",
    )


def mask_decoder(c: ModelConfig) -> Module:
    mlp = _mlp(c, c.dim("hidden_size", default=256), c.dim("mlp_dim", default=2048), "relu")
    # The rate between streams is the block's own default, not the config's.
    looks = [narrower("Sam", c, rate, "out_proj") for rate in (1, 2, None)]
    return decoder("Sam", c, looks, mlp, forward)


def model(c: ModelConfig) -> Module:
    said = c.section("prompt_encoder_config")
    point = Embedding(1, said.dim("hidden_size", default=256))
    points = ModuleList([point] * int(said.count("num_point_embeddings", default=4)))
    tied = "shared_image_embedding.positional_embedding" if c.tied(default=True) else None
    return Module(
        "SamModel",
        shared_image_embedding=_frequencies(c),
        vision_encoder=vision_encoder(c.section("vision_config")),
        prompt_encoder=prompts("Sam", said, _frequencies(c, tied), points),
        mask_decoder=mask_decoder(c.section("mask_decoder_config")),
        part="vision",
    )


def vision_model(c: ModelConfig) -> Module:
    whole = c.has("vision_config") or c.model_type == "sam"
    section = c.section("vision_config") if whole else c
    return Module("SamVisionModel", vision_encoder=vision_encoder(section), part="vision")


register_part("sam", "SamModel", model, "vision")
register_part("sam_vision_model", "SamVisionModel", vision_model, "vision")
