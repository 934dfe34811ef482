"""Depth Pro (Bochkovskii et al. 2024). Source of shapes: transformers/models/depth_pro.

Two ViTs, one over patches of the image at several sizes and one over the whole; their maps are
enlarged, fused from coarse to fine, and read by a few convolutions. A third ViT may look for the
field of view.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.reassembling import fused_width, fusion_layer
from ..layers.vision import Pair, bounded, pair
from ..trees.catalog import auto_model, register
from ..trees.modules import Activation, Conv, Linear, Module, ModuleList


def _section(c: ModelConfig, key: str) -> ModelConfig:
    """One of the ViTs; all of them see squares of ``patch_size`` pixels."""
    side = pair(c, "patch_size", default=384)
    if not c.has(key) and (int(side[0]), int(side[1])) != (384, 384):
        raise c.error(key, None, "a section, where patch_size is not 384")
    sizes = [int(size) for size in side] if isinstance(c.raw("patch_size"), list) else int(side[0])
    given = dict(c.section(key).given)
    return ModelConfig({"model_type": "dinov2", **given, "image_size": sizes}, f"{c.path}{key}.")


def _vit(c: ModelConfig, key: str) -> Module:
    return auto_model(_section(c, key), part="vision")


def _width(c: ModelConfig, key: str) -> Dim:
    section = _section(c, key)
    if section.model_type == "dinov2":
        return section.dim("hidden_size", default=768)
    return section.dim("hidden_size")


def _scaled(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("scaled_images_feature_dims", default=(1024, 1024, 512))
    return _as_many(c, found, "scaled_images_feature_dims", "scaled_images_ratios", 3)


def _hooked(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("intermediate_feature_dims", default=(256, 256))
    return _as_many(c, found, "intermediate_feature_dims", "intermediate_hook_ids", 2)


def _as_many(
    c: ModelConfig, found: tuple[Dim, ...], key: str, other: str, default: int
) -> tuple[Dim, ...]:
    given = c.raw(other)
    count = len(given) if isinstance(given, (list, tuple)) else default
    if not found or len(found) != count:
        raise c.error(key, c.raw(key), f"{count} entries, as many as {other}")
    return found


def _upsample(inputs: Dim, middle: Dim, outputs: Dim, doublings: int) -> Module:
    """A projection, then transposed convolutions that double the size."""
    sizes = [middle] + [outputs] * doublings
    double = [Conv(size, outputs, 2, stride=2, bias=False, transposed=True) for size in sizes[:-1]]
    layers = [Conv(inputs, middle, 1, bias=False), *double]
    return Module("DepthProFeatureUpsampleBlock", layers=ModuleList(layers))


def neck(c: ModelConfig) -> Module:
    fused, scaled, hooked = fused_width(c), _scaled(c), _hooked(c)
    patches, image = _width(c, "patch_model_config"), _width(c, "image_model_config")
    enlarged = Conv(image, scaled[0], 2, stride=2, transposed=True)
    upsample = Module(
        "DepthProFeatureUpsample",
        image_block=Module("DepthProFeatureUpsampleBlock", layers=ModuleList([enlarged])),
        scaled_images=ModuleList(_upsample(patches, size, size, 1) for size in scaled),
        intermediate=ModuleList(
            _upsample(patches, size if i else fused, size, 2 + i) for i, size in enumerate(hooked)
        ),
    )
    projections = [Conv(size, fused, 3, bias=False) for size in (*scaled, *hooked)]
    if hooked[-1] == fused:
        projections[-1] = Activation("Identity")
    return Module(
        "DepthProNeck",
        feature_upsample=upsample,
        fuse_image_with_low_res=Conv(2 * scaled[0], scaled[0], 1),
        feature_projection=Module("DepthProFeatureProjection", projections=ModuleList(projections)),
        component=Component.CONV,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    encoder = Module(
        "DepthProEncoder",
        patch_encoder=Module("DepthProPatchEncoder", model=_vit(c, "patch_model_config")),
        image_encoder=Module("DepthProImageEncoder", model=_vit(c, "image_model_config")),
    )
    return Module("DepthProModel", encoder=encoder, neck=neck(c), part="vision")


def fusion_stage(c: ModelConfig) -> Module:
    fused = fused_width(c)
    double = Conv(fused, fused, 2, stride=2, bias=False, transposed=True)
    layer = fusion_layer(c, "DepthPro", biased=True, deconv=double)
    count = len(_scaled(c)) + len(_hooked(c)) - 1
    return Module(
        "DepthProFeatureFusionStage",
        intermediate=ModuleList([layer] * count),
        final=fusion_layer(c, "DepthPro", biased=True),
        component=Component.CONV,
    )


def _halved(size: int, times: int) -> int:
    return -(-int(size) // (1 << times))


def _patches(c: ModelConfig) -> int:
    """Patches in a row of the ViT over the whole image."""
    section = _section(c, "image_model_config")
    image: Pair = pair(section, "image_size", default=384)
    default = 14 if section.model_type == "dinov2" else 16
    patch = section.dim("patch_size", default=default)
    return int(image[0]) // int(patch)


def _seeing(inputs: int, outputs: int, kernel: int, *, doubled: bool = False) -> Module:
    """A convolution of a head."""
    stride = 2 if doubled else 1
    return Conv(
        inputs, outputs, kernel, stride=stride, transposed=doubled, component=Component.HEAD
    )


def field_of_view(c: ModelConfig) -> Module:
    fused = fused_width(c)
    count = int(bounded(c, "num_fov_head_layers", (c.count("num_fov_head_layers", default=2),))[0])
    if fused >> count == 0:
        raise c.error("num_fov_head_layers", count, f"halvings of {int(fused)}")
    layers: list[Module] = []
    for i in range(count):
        layers += [_seeing(_halved(fused, i + 1), _halved(fused, i + 2), 3), Activation("ReLU")]
    kernel = int((_patches(c) - 1) / 2**count + 1)
    layers.append(_seeing(_halved(fused, count + 1), 1, kernel))
    width = _width(c, "fov_model_config")
    return Module(
        "DepthProFovModel",
        fov_encoder=Module(
            "DepthProFovEncoder",
            model=_vit(c, "fov_model_config"),
            neck=Linear(width, fused // 2, component=Component.CONV),
        ),
        conv=Conv(fused, fused // 2, 3),
        activation=Activation("ReLU"),
        head=Module("DepthProFovHead", layers=ModuleList(layers), component=Component.HEAD),
    )


def depth_estimation(c: ModelConfig) -> Module:
    fused = fused_width(c)
    layers = [
        _seeing(fused, fused // 2, 3),
        _seeing(fused // 2, fused // 2, 2, doubled=True),
        _seeing(fused // 2, 32, 3),
        Activation("ReLU"),
        _seeing(32, 1, 1),
        Activation("ReLU"),
    ]
    seen = c.flag("use_fov_model", default=False)
    return Module(
        "DepthProForDepthEstimation",
        depth_pro=model(c),
        fusion_stage=fusion_stage(c),
        head=Module(
            "DepthProDepthEstimationHead", layers=ModuleList(layers), component=Component.HEAD
        ),
        fov_model=field_of_view(c) if seen else None,
        part="vision",
    )


register(
    "depth_pro",
    {"DepthProForDepthEstimation": depth_estimation, "DepthProModel": model},
    base_prefix="depth_pro",
    category="vision",
)
