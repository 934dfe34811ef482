"""Depth Pro (Bochkovskii et al. 2024): two ViTs, one over patches of the image at several sizes and
one over the whole, whose maps are fused from coarse to fine; a third may look for the field of
view. Source of shapes: transformers/models/depth_pro."""

from functools import partial
from itertools import chain, pairwise

from ..layers.reassembling import fused_width, fusion_layer
from ..layers.vision import pair
from ..trees import Component, Dim, ModelConfig, auto_model, register
from ..trees.modules import Activation, Conv, Linear, Module, ModuleList

_NAME = "DepthPro"
_head = partial(Conv, component=Component.HEAD)
_double = partial(Conv, kernel=2, stride=2, transposed=True)


def _seeing(c: ModelConfig, at: str) -> tuple[ModelConfig, Dim]:
    """One of the ViTs and its width; all of them see squares of ``patch_size`` pixels."""
    key = f"{at}_model_config"
    side = pair(c, "patch_size", default=384)
    if not c.has(key) and (int(side[0]), int(side[1])) != (384, 384):
        raise c.error(key, None, "a section, where patch_size is not 384")
    sizes = [int(size) for size in side] if isinstance(c.raw("patch_size"), list) else int(side[0])
    values = {"model_type": "dinov2", **c.section(key).file_values, "image_size": sizes}
    section = ModelConfig(values, f"{c.path}{key}.")
    usual = {"default": 768} if section.model_type == "dinov2" else {}
    return section, section.dim("hidden_size", **usual)


def _maps(c: ModelConfig) -> list[tuple[Dim, ...]]:
    """The widths of what is seen of the scaled images, and in between."""
    maps = []
    for key, older, default in (
        ("scaled_images_feature_dims", "scaled_images_ratios", (1024, 1024, 512)),
        ("intermediate_feature_dims", "intermediate_hook_ids", (256, 256)),
    ):
        value = c.raw(older)
        count = len(value) if isinstance(value, (list, tuple)) else len(default)
        maps.append(c.dims(key, default=default, count=max(count, 1)))
    return maps


def _upsample(inputs: Dim, middle: Dim, outputs: Dim, doublings: int) -> Module:
    """A projection, then transposed convolutions that double the size."""
    sizes = [middle] + [outputs] * doublings
    double = [_double(size, outputs, bias=False) for size in sizes[:-1]]
    layers = ModuleList([Conv(inputs, middle, 1, bias=False), *double])
    return Module(f"{_NAME}FeatureUpsampleBlock", layers=layers)


def model(c: ModelConfig) -> Module:
    fused = fused_width(c)
    (images, hooked) = _maps(c)
    (patch, patches), (image, wide) = (_seeing(c, at) for at in ("patch", "image"))
    tower_of = partial(auto_model, part="vision")
    enlarged = Module(f"{_NAME}FeatureUpsampleBlock", layers=ModuleList([_double(wide, images[0])]))
    rest = [_upsample(patches, size, size, i) for i, size in enumerate(hooked[1:], 3)]
    larger = {
        "image_block": enlarged,
        "scaled_images": ModuleList(_upsample(patches, size, size, 1) for size in images),
        "intermediate": ModuleList([_upsample(patches, fused, hooked[0], 2), *rest]),
    }
    projections = [Conv(size, fused, 3, bias=False) for size in (*images, *hooked)]
    if hooked[-1] == fused:
        projections[-1] = Activation("Identity")
    parts = {"feature_upsample": Module(f"{_NAME}FeatureUpsample", larger)}
    parts["fuse_image_with_low_res"] = Conv(2 * images[0], images[0], 1)
    flat = Module(f"{_NAME}FeatureProjection", projections=ModuleList(projections))
    parts["feature_projection"] = flat
    neck = Module(f"{_NAME}Neck", parts, component=Component.CONV, part="projector")
    towers = {"patch_encoder": Module(f"{_NAME}PatchEncoder", model=tower_of(patch))}
    towers["image_encoder"] = Module(f"{_NAME}ImageEncoder", model=tower_of(image))
    encoder = Module(f"{_NAME}Encoder", towers)
    return Module(f"{_NAME}Model", encoder=encoder, neck=neck, part="vision")


def field_of_view(c: ModelConfig) -> Module:
    fused = fused_width(c)
    count = int(c.count("num_fov_head_layers", default=2))
    if fused >> count == 0:
        raise c.error("num_fov_head_layers", count, f"halvings of {int(fused)}")
    # Patches in a row of the ViT over the whole image; DINOv2's are 14 pixels wide unless said.
    (image, _), (tower, wide) = (_seeing(c, at) for at in ("image", "fov"))
    patch = image.dim("patch_size", default=14 if image.model_type == "dinov2" else 16)
    side = pair(image, "image_size", default=384)[0] // patch
    # Each half as wide as the one before, rounded up.
    widths = [-(-int(fused) // (1 << i)) for i in range(1, count + 2)]
    steps = [[_head(*both, 3), Activation("ReLU")] for both in pairwise(widths)]
    last = _head(widths[-1], 1, int((int(side) - 1) / 2**count + 1))
    layers = ModuleList([*chain.from_iterable(steps), last])
    half = Linear(wide, fused // 2, component=Component.CONV)
    encoder = Module(f"{_NAME}FovEncoder", model=auto_model(tower, part="vision"), neck=half)
    head = Module(f"{_NAME}FovHead", layers=layers, component=Component.HEAD)
    parts = {"fov_encoder": encoder, "conv": Conv(fused, fused // 2, 3)}
    return Module(f"{_NAME}FovModel", parts, activation=Activation("ReLU"), head=head)


def depth_estimation(c: ModelConfig) -> Module:
    fused = fused_width(c)
    relu = Activation("ReLU")
    final = fusion_layer(c, _NAME, biased=True)
    layer = fusion_layer(c, _NAME, biased=True, deconv=_double(fused, fused, bias=False))
    stages = {"intermediate": ModuleList([layer] * (sum(map(len, _maps(c))) - 1)), "final": final}
    half = fused // 2
    to = _double(fused // 2, fused // 2, component=Component.HEAD)
    head = ModuleList([_head(fused, half, 3), to, _head(half, 32, 3), relu, _head(32, 1, 1), relu])
    return Module(
        f"{_NAME}ForDepthEstimation",
        depth_pro=model(c),
        fusion_stage=Module(f"{_NAME}FeatureFusionStage", stages, component=Component.CONV),
        head=Module(f"{_NAME}DepthEstimationHead", layers=head, component=Component.HEAD),
        fov_model=field_of_view(c) if c.flag("use_fov_model", default=False) else None,
        part="vision",
    )


_CLASSES = {f"{_NAME}ForDepthEstimation": depth_estimation, f"{_NAME}Model": model}
register("depth_pro", _CLASSES, base_prefix="depth_pro", category="vision")
