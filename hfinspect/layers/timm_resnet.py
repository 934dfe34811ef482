"""ResNets as timm and torchvision name them, for models that take their backbone from there.

Structure: He et al. 2015, tables 1 and 4; attribute names: torchvision/models/resnet.py, which
timm/models/resnet.py shares. DETR with resnet50 has 41,524,768 parameters with this one.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import Activation, BatchNorm, Conv, Module, Sequential

#: Blocks per stage, and by how much a block's output is wider than its inside.
RESNETS = {
    "resnet18": ((2, 2, 2, 2), 1),
    "resnet34": ((3, 4, 6, 3), 1),
    "resnet50": ((3, 4, 6, 3), 4),
    "resnet101": ((3, 4, 23, 3), 4),
    "resnet152": ((3, 8, 36, 3), 4),
}


def _block(inputs: Dim, inner: Dim, expansion: int, *, first: bool) -> Module:
    outputs = inner * expansion if expansion > 1 else inner
    wide = expansion > 1
    projected = Sequential(Conv(inputs, outputs, 1, bias=False), BatchNorm(outputs))
    return Module(
        "Bottleneck" if wide else "BasicBlock",
        conv1=Conv(inputs, inner, 1 if wide else 3, bias=False),
        bn1=BatchNorm(inner),
        conv2=Conv(inner, inner, 3, bias=False),
        bn2=BatchNorm(inner),
        conv3=Conv(inner, outputs, 1, bias=False) if wide else None,
        bn3=BatchNorm(outputs) if wide else None,
        downsample=projected if first and int(inputs) != int(outputs) else None,
    )


def timm_resnet(c: ModelConfig, channels: Dim) -> tuple[Module, tuple[Dim, ...]]:
    """The network that ``backbone`` names and the widths of its four stages.

    Raises ConfigError for names that are not plain ResNets.
    """
    name = c.text("backbone", default="resnet50") or "resnet50"
    if name not in RESNETS:
        raise c.error("backbone", name, f"one of {', '.join(RESNETS)}")
    depths, expansion = RESNETS[name]
    before = Dim(64)
    children: dict[str, Module] = {
        "conv1": Conv(channels, before, 7, stride=2, bias=False),
        "bn1": BatchNorm(before),
        "act1": Activation("ReLU"),
        "maxpool": Activation("MaxPool2d"),
    }
    sizes = []
    for stage, depth in enumerate(depths):
        inner = Dim(64 * 2**stage)
        outputs = inner * expansion if expansion > 1 else inner
        entry = _block(before, inner, expansion, first=True)
        rest = _block(outputs, inner, expansion, first=False)
        children[f"layer{stage + 1}"] = Sequential(entry, *[rest] * (depth - 1))
        sizes.append(outputs)
        before = outputs
    return Module("FeatureListNet", dict(children)), tuple(sizes)
