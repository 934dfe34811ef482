"""LightGlue (Lindenberger et al. 2023). Source of shapes: transformers/models/lightglue.

SuperPoint finds points in two images; layers of attention within and across the images match them,
and after each of them the model may decide that it is done.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..trees.catalog import auto_class, register
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, ModuleList


def _width(c: ModelConfig) -> Dim:
    return c.dim("descriptor_dim", default=256)


def _heads(c: ModelConfig) -> Dim:
    return c.dim("num_attention_heads", default=4)


def _attention(c: ModelConfig) -> Module:
    h, heads = _width(c), _heads(c)
    bias = c.flag("attention_bias", default=True)
    head = c.dim("head_dim", default=c.divided(h, heads, "descriptor_dim", "num_attention_heads"))
    groups = c.dim("num_key_value_heads", default=heads)
    return Module(
        "LightGlueAttention",
        q_proj=Linear(h, heads * head, bias=bias, kind="query"),
        k_proj=Linear(h, groups * head, bias=bias, kind="key"),
        v_proj=Linear(h, groups * head, bias=bias, kind="value"),
        o_proj=Linear(heads * head, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def _mlp(c: ModelConfig) -> Module:
    h = _width(c)
    return Module(
        "LightGlueMLP",
        activation_fn=activation(c.text("hidden_act", default="gelu")),
        fc1=Linear(2 * h, 2 * h, kind="up"),
        fc2=Linear(2 * h, h, kind="down"),
        layer_norm=LayerNorm(2 * h),
        component=Component.MLP,
    )


def matching(c: ModelConfig) -> Module:
    h, count = _width(c), c.count("num_hidden_layers", default=9)
    section = c.section("keypoint_detector_config")
    found = section.dim("descriptor_decoder_dim", default=256)
    detector = auto_class(section, "ForKeypointDetection", default_type="superpoint", part="vision")
    layer = Module(
        "LightGlueTransformerLayer",
        self_attention=_attention(c),
        self_mlp=_mlp(c),
        cross_attention=_attention(c),
        cross_mlp=_mlp(c),
    )
    assignment = Module(
        "LightGlueMatchAssignmentLayer",
        final_projection=Linear(h, h, component=Component.PROJECTOR),
        matchability=Linear(h, 1),
        component=Component.HEAD,
    )
    confidence = Module(
        "LightGlueTokenConfidenceLayer", token=Linear(h, 1), component=Component.HEAD
    )
    projection = Linear(found, h, component=Component.PROJECTOR)
    return Module(
        "LightGlueForKeypointMatching",
        keypoint_detector=detector,
        input_projection=projection if found != h else Activation("Identity"),
        positional_encoder=Module(
            "LightGluePositionalEncoder",
            projector=Linear(2, h // _heads(c) // 2, bias=False),
            component=Component.PROJECTOR,
        ),
        transformer_layers=Layers.of(count, layer),
        match_assignment_layers=ModuleList([assignment] * int(count)),
        token_confidence=ModuleList([confidence] * (int(count) - 1)),
        part="vision",
    )


register("lightglue", {"LightGlueForKeypointMatching": matching}, category="vision")
