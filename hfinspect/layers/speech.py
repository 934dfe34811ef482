"""What wav2vec 2.0's descendants share, each under its own class names.

Source: transformers' wav2vec2, hubert, wavlm, unispeech ... whose files copy one another.  ``name``
is the prefix of the class names.  Configs given here hold the family's defaults (``DEFAULTS``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..trees import Component, Dim, ModelConfig, config_defaults
from ..trees import modules as nn
from .blocks import activation
from .encoders import hidden
from .vision import clip_attention

#: The sizes of wav2vec 2.0 base, which the descendants' config classes keep.
DEFAULTS = config_defaults("wav2vec2")


def norm(c: ModelConfig, size: int | None = None) -> nn.Module:
    """LayerNorm of the hidden size."""
    return nn.LayerNorm(size or hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


def weight_normed(conv: nn.Module, scale: Sequence[int]) -> nn.Module:
    """A convolution whose weight is a direction (original1) and a ``scale`` (original0).

    Files written before torch 2 call them weight_v and weight_g.
    """
    weight = conv.children.pop("weight")
    assert not isinstance(weight, nn.Module)
    pair = {"original0": nn.Weight(*scale), "original1": nn.Weight(*weight.shape)}
    conv.class_name = f"Parametrized{conv.class_name}"
    conv.children |= {
        "parametrizations": nn.Module("ModuleDict", weight=nn.Module("ParametrizationList", pair)),
        "weight_g": nn.Weight(*scale, saved=False),
        "weight_v": nn.Weight(*weight.shape, saved=False),
    }
    return conv


def conv_sizes(c: ModelConfig) -> list[tuple[Dim | int, Dim, Dim]]:
    """(channels in, channels out, kernel) of each convolution over the waveform."""
    outs = c.dims("conv_dim")
    kernels = c.dims("conv_kernel")
    if not outs or len(outs) != len(kernels):
        raise c.miscounted("conv_kernel", len(kernels), f"as many as conv_dim: {len(outs)}")
    return list(zip((1, *outs[:-1]), outs, kernels, strict=True))


def feature_encoder(c: ModelConfig, name: str, *, form: str | None = None) -> nn.Module:
    """Convolutions: the first with a norm over time (``group``), or all with one over the
    channels (``layer``), as the config says unless ``form`` does."""
    one_form = form is not None
    form = form or c.word("feat_extract_norm", "group", "layer")
    bias = c.flag("conv_bias", default=False)
    act = c.text("feat_extract_activation", default="gelu")
    built = []
    for i, (inputs, outputs, kernel) in enumerate(conv_sizes(c)):
        normed = {"layer": nn.LayerNorm(outputs), "group": nn.GroupNorm(outputs, outputs)}[form]
        has_norm = form == "layer" or i == 0
        kind = "" if one_form else normed.class_name if has_norm else "NoLayerNorm"
        layer = nn.Module(
            f"{name}{kind}ConvLayer",
            conv=nn.Conv(inputs, outputs, kernel, dims=1, bias=bias),
            layer_norm=normed if has_norm else None,
            activation=activation(act),
        )
        built.append(layer)
    return nn.Module(
        f"{name}FeatureEncoder", conv_layers=nn.ModuleList(built), component=Component.CONV
    )


def feature_projection(
    c: ModelConfig, name: str, *, normed: bool = True, inputs: Dim | None = None
) -> nn.Module:
    """From the last convolution's channels (or ``inputs``) to the width D: (D, channels),
    after a norm."""
    last = inputs or conv_sizes(c)[-1][1]
    return nn.Module(
        f"{name}FeatureProjection",
        layer_norm=norm(c, last) if normed else None,
        projection=nn.Linear(last, hidden(c)),
        dropout=nn.Dropout(c.number("feat_proj_dropout", default=0.0)),
        component=Component.EMBEDDING,
    )


def masked_spec_embed(c: ModelConfig) -> nn.Parameter | None:
    """The vector in place of masked frames: there if the config masks any."""
    masked = c.number("mask_time_prob", default=0.05), c.number("mask_feature_prob", default=0.0)
    weight = nn.Weight(hidden(c), component=Component.EMBEDDING, kind="mask_token")
    return weight if max(masked) > 0 else None


def positions(c: ModelConfig, name: str) -> nn.Module:
    """Positions known by one wide grouped convolution, of normed weight or before a batch norm."""
    h = hidden(c)
    kernel = c.dim("num_conv_pos_embeddings")
    groups = c.dim("num_conv_pos_embedding_groups")
    c.divided(h, groups, "hidden_size", "num_conv_pos_embedding_groups")
    conv = nn.Conv(h, h, kernel, dims=1, groups=groups)
    batch = c.flag("conv_pos_batch_norm", default=False)
    return nn.Module(
        f"{name}PositionalConvEmbedding",
        conv=conv if batch else weight_normed(conv, (1, 1, kernel)),
        batch_norm=nn.BatchNorm(h, dims=1) if batch else None,
        padding=nn.Activation(f"{name}SamePadLayer"),
        activation=activation(c.text("feat_extract_activation", default="gelu")),
        component=Component.CONV,
        kind="position",
    )


def attention(c: ModelConfig, name: str) -> nn.Module:
    """Four projections of D·D + D."""
    c.divided(hidden(c), c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return clip_attention(f"{name}Attention", hidden(c))


def feed_forward(
    c: ModelConfig, name: str, *, width: Dim | None = None, act: str | None = None
) -> nn.Module:
    """Two linear layers, (I, D) and (D, I), with biases; ``width`` in place of D."""
    h = width or hidden(c)
    inner = c.dim("intermediate_size")
    return nn.Module(
        f"{name}FeedForward",
        intermediate_dropout=nn.Dropout(c.number("activation_dropout", default=0.0)),
        intermediate_dense=nn.Linear(h, inner, kind="up"),
        intermediate_act_fn=activation(act or c.text("hidden_act")),
        output_dense=nn.Linear(inner, h, kind="down"),
        output_dropout=nn.Dropout(c.number("hidden_dropout", default=0.1)),
        component=Component.MLP,
    )


def is_stable(c: ModelConfig) -> bool:
    """Norms before attention and MLP instead of after."""
    return c.flag("do_stable_layer_norm", default=False)


def unstable(c: ModelConfig) -> ModelConfig:
    """The same config with norms after them, for layers that know no other order."""
    return c.with_values(do_stable_layer_norm=False)


def adapter(c: ModelConfig, name: str) -> nn.Module | None:
    """Two small matrices after a layer, of models fine-tuned language by language."""
    inner = c.optional_dim("adapter_attn_dim")
    if inner is None or not is_stable(c):
        return None
    return nn.Module(
        f"{name}AttnAdapterLayer",
        norm=nn.LayerNorm(hidden(c)),
        linear_1=nn.Linear(hidden(c), inner, kind="down"),
        act_fn=nn.Activation("ReLU"),
        linear_2=nn.Linear(inner, hidden(c), kind="up"),
        component=Component.MLP,
    )


def layer(
    c: ModelConfig, name: str, *, attend: nn.Module | None = None, adapted: bool = True
) -> nn.Module:
    """Attention and MLP, each with a norm before (``is_stable``) or after it: 4·D² + 2·D·I weights
    in matrices. ``attend`` in place of the usual attention."""
    return nn.Module(
        f"{name}EncoderLayerStableLayerNorm" if is_stable(c) else f"{name}EncoderLayer",
        attention=attend or attention(c, name),
        dropout=nn.Dropout(c.number("hidden_dropout", default=0.1)),
        layer_norm=norm(c),
        feed_forward=feed_forward(c, name),
        final_layer_norm=norm(c),
        adapter_layer=adapter(c, name) if adapted else None,
    )


def encoder(c: ModelConfig, name: str, blocks: Sequence[nn.Module] | None = None) -> nn.Module:
    """Positions, a norm and the layers; ``blocks`` where these differ from each other."""
    count = c.count("num_hidden_layers")
    return nn.Module(
        f"{name}EncoderStableLayerNorm" if is_stable(c) else f"{name}Encoder",
        pos_conv_embed=positions(c, name),
        layer_norm=norm(c),
        dropout=nn.Dropout(c.number("hidden_dropout", default=0.1)),
        layers=nn.Layers.of(count, layer(c, name)) if blocks is None else nn.Layers(blocks),
    )


def output_width(c: ModelConfig) -> Dim:
    """Width behind the adapter, where there is one."""
    if not c.flag("add_adapter", default=False):
        return hidden(c)
    return c.dim("output_hidden_size", default=hidden(c))


def length_adapter(
    c: ModelConfig, name: str, block: Callable[[Dim], nn.Module] | None = None, *, count: int = 3
) -> nn.Module | None:
    """Layers that shorten the sequence for a decoder, ``count`` by default: strided convolutions,
    or each a ``block`` of a width."""
    if not c.flag("add_adapter", default=False):
        return None
    h = hidden(c)
    wide = c.dim("output_hidden_size", default=hidden(c))
    kernel = c.dim("adapter_kernel_size", default=3)
    conv = nn.Module(f"{name}AdapterLayer", conv=nn.Conv(wide, 2 * wide, kernel, dims=1))
    layer = block(wide) if block else conv
    return nn.Module(
        f"{name}Adapter",
        proj=nn.Linear(h, wide, component=Component.PROJECTOR) if wide != h else None,
        proj_layer_norm=norm(c, wide) if wide != h else None,
        layers=nn.Layers.of(c.count("num_adapter_layers", default=count), layer),
        component=Component.CONV,
    )
