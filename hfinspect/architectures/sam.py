"""Segment Anything (Kirillov et al. 2023). Source: transformers/models/sam/modeling_sam.py. The
random frequencies that stand for positions are shared by both encoders."""

from collections.abc import Sequence
from functools import partial

from ..layers.blocks import activation, fused_attention, two_layer_mlp
from ..layers.composing import renamed, tied_to
from ..layers.vision import narrowed_attention, patch_conv, scaled
from ..trees import Component, ModelConfig, register_part
from ..trees import modules as nn


def norm(name: str, size: int) -> nn.Module:
    return nn.LayerNorm(size, eps=1e-6, class_name=f"{name}LayerNorm")


def _mlp(c: ModelConfig, width: int, inner: int, act: str) -> nn.Module:
    act = c.text("hidden_act", default=act) or act
    return two_layer_mlp("SamMLPBlock", width, inner, act=act, names=("lin1", "lin2"))


def vision_encoder(c: ModelConfig) -> nn.Module:
    h = c.dim("hidden_size", default=768)
    out = c.dim("output_channels", default=256)
    patch = c.dim("patch_size", default=16)
    heads = c.dim("num_attention_heads", default=12)
    side = c.dim("image_size", default=1024) // patch
    window = c.dim("window_size", default=14, minimum=0)
    inner = c.dim("mlp_dim") if c.has("mlp_dim") else scaled(c, h, "mlp_ratio", default=4.0)
    normed = nn.LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6))

    def layer(windowed: bool) -> nn.Module:
        look = fused_attention("SamVisionSdpaAttention", h, bias=c.flag("qkv_bias", default=True))
        if c.flag("use_rel_pos", default=True):
            reach = 2 * (window if windowed else side) - 1
            offsets = nn.Weight(reach, h // heads, kind="relative_position")
            look.children = {"rel_pos_h": offsets, "rel_pos_w": offsets, **look.children}
        parts = {"layer_norm1": normed, "attn": look, "layer_norm2": normed}
        return nn.Module("SamVisionLayer", parts, mlp=_mlp(c, h, inner, "gelu"))

    everywhere = c.dims("global_attn_indexes", default=(2, 5, 8, 11), minimum=0)
    count = range(c.count("num_hidden_layers", default=12))
    positions = nn.Weight(1, side, side, h, component=Component.EMBEDDING, kind="position")
    patches = patch_conv(c.dim("num_channels", default=3), h, (patch, patch))
    to = partial(nn.Conv, bias=False)
    last = norm("Sam", out)
    neck = {"conv1": to(h, out, 1), "layer_norm1": last}
    neck |= {"conv2": to(out, out, 3), "layer_norm2": last}
    return nn.Module(
        "SamVisionEncoder",
        pos_embed=positions if c.flag("use_abs_pos", default=True) else None,
        patch_embed=nn.Module("SamPatchEmbeddings", projection=patches),
        layers=nn.Layers(nn.once([window > 0 and i not in everywhere for i in count], layer)),
        neck=nn.Module("SamVisionNeck", neck, component=Component.PROJECTOR),
        part="vision",
    )


def encoder_of(name: str, c: ModelConfig, **defaults: int) -> nn.Module:
    """The image encoder of families that read documents with it."""
    root = vision_encoder(c.with_defaults(mlp_dim=3072, **defaults))
    return renamed(renamed(root, "SamVisionSdpa", "SamVision"), "Sam", name)


def prompts(name: str, c: ModelConfig, shared: nn.Module, points: nn.Module) -> nn.Module:
    """Points, and masks made smaller by two convolutions, as vectors; SAM 2's too."""
    d = c.dim("hidden_size", default=256)
    masked = c.dim("mask_input_channels", default=16)
    quarter = masked // 4
    half = partial(nn.Conv, kernel=2, stride=2)
    act = activation(c.text("hidden_act", default="gelu"))
    convs = {"conv1": half(1, quarter), "conv2": half(quarter, masked)}
    norms = {"layer_norm1": norm(name, quarter), "layer_norm2": norm(name, quarter * 4)}
    parts = {"activation": act, **convs, "conv3": nn.Conv(masked, d, 1), **norms}
    prompt = {"shared_embedding": shared, "mask_embed": nn.Module(f"{name}MaskEmbedding", parts)}
    one = nn.Embedding(1, d)
    at = Component.EMBEDDING
    tables = {"no_mask_embed": one, "point_embed": points, "not_a_point_embed": one}
    return nn.Module(f"{name}PromptEncoder", {**prompt, **tables}, component=at, part="vision")


def forward(
    sizes: Sequence[int], depth: int = 2, act: str | None = None, at: Component = Component.MLP
) -> nn.Module:
    """``depth`` linear layers, all but the ends of the inner size; with ``act`` SAM 2's."""
    inputs, inner, outputs = sizes
    up, down = (None, None) if act is None else ("up", "down")
    return nn.Module(
        "SamFeedForward" if act is None else "Sam2FeedForward",
        activation=None if act is None else activation(act),
        proj_in=nn.Linear(inputs, inner, kind=up),
        proj_out=nn.Linear(inner, outputs, kind=down),
        layers=nn.ModuleList([nn.Linear(inner, inner)] * (int(depth) - 2)),
        component=at,
    )


def mask_decoder(c: ModelConfig, name: str = "Sam") -> nn.Module:
    """Prompts and picture look at each other; of each mask come the weights of its pixels."""
    d = c.dim("hidden_size", default=256)
    masks = c.count("num_multimask_outputs", default=3) + 1
    down = c.dim("attention_downsample_rate", default=2)
    wide = c.dim("mlp_dim", default=2048)
    reduced = d // down if int(down) != 1 else d
    depth = c.count("num_hidden_layers", default=2)
    scored = d, c.dim("iou_head_hidden_dim", default=256), masks
    if name == "Sam":
        # The rate between streams is the block's own default, not the config's.
        make_mlp = forward
        mlp = _mlp(c, d, wide, "relu")
        out = "out_proj"
        inner = d // 2
        eps: float | None = c.number("layer_norm_eps", default=1e-6)
    else:  # whose config has no layer_norm_eps, and whose MLP is as deep as the transformer
        make_mlp = partial(forward, act="relu")
        out = "o_proj"
        inner = reduced
        eps = None
        mlp = make_mlp((d, wide, d), depth)
    look = partial(narrowed_attention, f"{name}Attention", d, out=out)
    (attention, cross, last) = map(look, (d, inner, reduced))
    normed = nn.LayerNorm(d, eps=eps)
    first = {"self_attn": attention, "layer_norm1": normed, "cross_attn_token_to_image": cross}
    norms = {"layer_norm2": normed, "mlp": mlp, "layer_norm3": normed, "layer_norm4": normed}
    block = {**first, **norms, "cross_attn_image_to_token": cross}
    layers = nn.Layers.of(depth, nn.Module(f"{name}TwoWayAttentionBlock", block))
    final = {"final_attn_token_to_image": last, "layer_norm_final_attn": nn.LayerNorm(d)}
    larger = partial(nn.Conv, kernel=2, stride=2, transposed=True)
    parts = {"iou_token": nn.Embedding(1, d), "mask_tokens": nn.Embedding(masks, d)}
    parts["transformer"] = nn.Module(f"{name}TwoWayTransformer", {"layers": layers, **final})
    parts |= {"upscale_conv1": larger(d, d // 4), "upscale_conv2": larger(d // 4, d // 8)}
    parts["upscale_layer_norm"] = norm(name, d // 4)
    parts["output_hypernetworks_mlps"] = nn.ModuleList([make_mlp((d, d, d // 8), 3)] * int(masks))
    scores = make_mlp(scored, c.count("iou_head_depth", default=3), at=Component.HEAD)
    return nn.Module(f"{name}MaskDecoder", parts, iou_prediction_head=scores, part="vision")


def model(c: ModelConfig) -> nn.Module:
    prompt_config = c.section("prompt_encoder_config")
    point = nn.Embedding(1, prompt_config.dim("hidden_size", default=256))
    points = nn.ModuleList([point] * int(prompt_config.count("num_point_embeddings", default=4)))
    features = c.section("vision_config").dim("num_pos_feats", default=128)
    at = Component.EMBEDDING
    table = nn.Weight(2, features, component=at, kind="position")
    shared = nn.Module("SamPositionalEmbedding", positional_embedding=table)
    positions = tied_to(shared, "shared_image_embedding") if c.tied() else shared
    return nn.Module(
        "SamModel",
        shared_image_embedding=shared,
        vision_encoder=vision_encoder(c.section("vision_config")),
        prompt_encoder=prompts("Sam", prompt_config, positions, points),
        mask_decoder=mask_decoder(c.section("mask_decoder_config")),
        part="vision",
    )


def vision_model(c: ModelConfig) -> nn.Module:
    if c.has("vision_config") or c.model_type == "sam":
        c = c.section("vision_config")
    return nn.Module("SamVisionModel", vision_encoder=vision_encoder(c), part="vision")


register_part("sam", "SamModel", model, "vision")
register_part("sam_vision_model", "SamVisionModel", vision_model, "vision")
