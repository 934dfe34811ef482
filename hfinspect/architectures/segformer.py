"""SegFormer (Xie et al. 2021). Source of shapes: transformers/models/segformer.

Four stages of attention over fewer and fewer keys, with a 3x3 convolution per channel inside the
MLP instead of positions; a head of linear layers alone. Files keep the first release's names, which
group patch embeddings, blocks and norms by kind (conversion_mapping.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import bounded, scaled
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
)


class _Stages:
    """The config's lists, one entry per stage."""

    def __init__(self, c: ModelConfig) -> None:
        self.config = c
        self.count = int(c.count("num_encoder_blocks", "num_hidden_layers", default=4, minimum=1))
        self.widths = self._list("hidden_sizes", (32, 64, 160, 256))
        self.depths = bounded(c, "depths", self._list("depths", (2, 2, 2, 2), minimum=0))
        self.reduced = self._list("sr_ratios", (8, 4, 2, 1))
        self.patches = self._list("patch_sizes", (7, 3, 3, 3))
        self.strides = self._list("strides", (4, 2, 2, 2))
        self.heads = self._list("num_attention_heads", (1, 2, 5, 8))
        self.inner = [self._inner(i) for i in range(self.count)]

    def _list(self, key: str, default: tuple[int, ...], minimum: int = 1) -> tuple[Dim, ...]:
        found = self.config.dims(key, default=default, minimum=minimum)
        if len(found) < self.count:
            raise self.config.error(key, self.config.raw(key), f"{self.count} entries")
        return found

    def _inner(self, i: int) -> Dim:
        ratios = self.config.raw("mlp_ratios") or (4, 4, 4, 4)
        if not isinstance(ratios, (list, tuple)) or len(ratios) < self.count:
            raise self.config.error("mlp_ratios", ratios, f"{self.count} entries")
        key = f"mlp_ratios[{i}]"
        one = ModelConfig({key: ratios[i]}, self.config.path)
        return scaled(one, self.widths[i], key, default=4)


def block(s: _Stages, i: int) -> Module:
    h, inner = s.widths[i], s.inner[i]
    width = s.heads[i] * (h // s.heads[i])
    reduced = int(s.reduced[i]) > 1
    return Module(
        "SegformerLayer",
        layer_norm_1=LayerNorm(h),
        attention=Module(
            "SegformerAttention",
            {
                "self": Module(
                    "SegformerEfficientSelfAttention",
                    query=Linear(h, width, kind="query"),
                    key=Linear(h, width, kind="key"),
                    value=Linear(h, width, kind="value"),
                    sr=Conv(h, h, int(s.reduced[i]), component=Component.ATTENTION)
                    if reduced
                    else None,
                    layer_norm=LayerNorm(h) if reduced else None,
                ),
                "output": Module("SegformerSelfOutput", dense=Linear(width, h, kind="output")),
            },
            component=Component.ATTENTION,
        ),
        layer_norm_2=LayerNorm(h),
        mlp=Module(
            "SegformerMixFFN",
            dense1=Linear(h, inner, kind="up"),
            dwconv=Module("SegformerDWConv", dwconv=Conv(inner, inner, 3, groups=inner)),
            intermediate_act_fn=activation(s.config.text("hidden_act", default="gelu")),
            dense2=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
    )


def _patches(s: _Stages, i: int) -> Module:
    before = s.widths[i - 1] if i else s.config.dim("num_channels", default=3)
    return Module(
        "SegformerOverlapPatchEmbeddings",
        proj=Conv(
            before, s.widths[i], int(s.patches[i]), stride=int(s.strides[i]),
            component=Component.EMBEDDING, kind="patch",
        ),
        layer_norm=LayerNorm(s.widths[i]),
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    s = _Stages(c)
    order = range(s.count)
    return Module(
        "SegformerModel",
        encoder=Module(
            "SegformerEncoder",
            patch_embeddings=ModuleList(_patches(s, i) for i in order),
            block=Layers(ModuleList([block(s, i)] * int(s.depths[i])) for i in order),
            layer_norm=ModuleList(LayerNorm(s.widths[i]) for i in order),
        ),
        part="vision",
    )


def image_classification(c: ModelConfig) -> Module:
    head = Linear(_Stages(c).widths[-1], c.num_labels, component=Component.HEAD, kind="classifier")
    return Module(
        "SegformerForImageClassification", segformer=model(c), classifier=head, part="vision"
    )


def semantic_segmentation(c: ModelConfig) -> Module:
    """Every stage projected to one width, joined, and classified pixel by pixel."""
    s, d = _Stages(c), c.dim("decoder_hidden_size", default=256)
    linear = [Module("SegformerMLP", proj=Linear(s.widths[i], d)) for i in range(s.count)]
    head = Module(
        "SegformerDecodeHead",
        linear_c=ModuleList(linear),
        linear_fuse=Conv(d * s.count, d, 1, bias=False, component=Component.HEAD),
        batch_norm=BatchNorm(d),
        activation=Activation("ReLU"),
        classifier=Conv(d, c.num_labels, 1, component=Component.HEAD, kind="classifier"),
        component=Component.HEAD,
    )
    return Module(
        "SegformerForSemanticSegmentation", segformer=model(c), decode_head=head, part="vision"
    )


register(
    "segformer",
    {
        "SegformerForSemanticSegmentation": semantic_segmentation,
        "SegformerForImageClassification": image_classification,
        "SegformerModel": model,
    },
    base_prefix="segformer",
    category="vision",
)
