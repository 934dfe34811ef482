"""ChromaTransformer2DModel: Chroma (lodestones 2025), FLUX.1-schnell pruned of its modulations.

Source of shapes: diffusers/models/transformers/transformer_chroma.py. Flux's blocks, whose shifts,
scales and gates come from one small network for all of them instead of a matrix in each.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import out_channels, text_projection
from ..trees.catalog import register
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, ModuleList, RMSNorm
from .flux_transformer_2d import double_block, single_block


def _pruned(class_name: str, width: Dim) -> Module:
    norm = LayerNorm(width, eps=1e-6, weight=False)
    return Module(class_name, norm=norm, component=Component.NORM)


def _double(width: Dim, head: Dim) -> Module:
    block = double_block(width, head)
    block.class_name = "ChromaTransformerBlock"
    for name in ("norm1", "norm1_context"):
        block.children[name] = _pruned("ChromaAdaLayerNormZeroPruned", width)
    return block


def _single(width: Dim, head: Dim) -> Module:
    block = single_block(width, head)
    block.class_name = "ChromaSingleTransformerBlock"
    block.children["norm"] = _pruned("ChromaAdaLayerNormZeroSinglePruned", width)
    return block


def approximator(c: ModelConfig, width: Dim) -> Module:
    """From the time's and the place's channels to one vector of modulation."""
    hidden = c.dim("approximator_hidden_dim", default=5120)
    layers = c.count("approximator_layers", default=5)
    step = text_projection(hidden, hidden)
    step.component = Component.EMBEDDING
    return Module(
        "ChromaApproximator",
        in_proj=Linear(c.dim("approximator_num_channels", default=64), hidden),
        layers=Layers.of(layers, step),
        norms=ModuleList([RMSNorm(hidden)] * int(layers), count=layers),
        out_proj=Linear(hidden, width),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    head = c.dim("attention_head_dim", default=128)
    width = c.dim("num_attention_heads", default=24) * head
    patch = c.dim("patch_size", default=1)
    pixels = patch * patch * out_channels(c, default=None, in_default=64)
    text = c.dim("joint_attention_dim", default=4096)
    return Module(
        "ChromaTransformer2DModel",
        pos_embed=Activation("FluxPosEmbed"),
        time_text_embed=Activation("ChromaCombinedTimestepTextProjEmbeddings"),
        distilled_guidance_layer=approximator(c, width),
        context_embedder=Linear(text, width, component=Component.PROJECTOR),
        x_embedder=Linear(
            c.dim("in_channels", default=64), width, component=Component.EMBEDDING, kind="patch"
        ),
        transformer_blocks=Layers.of(c.count("num_layers", default=19), _double(width, head)),
        single_transformer_blocks=Layers.of(
            c.count("num_single_layers", default=38), _single(width, head)
        ),
        norm_out=_pruned("ChromaAdaLayerNormContinuousPruned", width),
        proj_out=Linear(width, pixels, component=Component.HEAD),
        part="vision",
    )


register((), {"ChromaTransformer2DModel": model}, category="diffusion", source="diffusers")
