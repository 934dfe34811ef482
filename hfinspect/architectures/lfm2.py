"""LFM2 (Liquid AI 2025; transformers/models/lfm2): attention or short gated convolutions."""

from ..layers.blocks import depthwise, grouped_attention, layer_types
from ..layers.composing import changed
from ..layers.decoders import Decoder, mixed, norms_called, says
from ..trees import Builder, Component, Dim, Linear, ModelConfig, Module, config_defaults, named


def _adjusted(c: ModelConfig) -> Dim:
    """``block_ff_dim`` is the older key and wins."""
    inner = c.dim("block_ff_dim", "intermediate_size", default=12288)
    if not c.flag("block_auto_adjust_ff_dim", default=True):
        return inner
    adjusted = int(2 * int(inner) / 3)
    if "block_ffn_dim_multiplier" not in c.values or c.has("block_ffn_dim_multiplier"):
        adjusted = int(c.number("block_ffn_dim_multiplier", default=1.0) * adjusted)
        multiple = c.dim("block_multiple_of", default=256)
        adjusted = multiple * ((adjusted + multiple - 1) // multiple)
    meaning = "2/3 of intermediate_size, times block_ffn_dim_multiplier, rounded up"
    return named(int(adjusted), "adjusted_intermediate_size", meaning)


def three(d: Decoder, c: ModelConfig, inner: Dim, *, expert: bool = False) -> Module:
    """w2(silu(w1(x)) * w3(x)): 3·H·I."""
    h = d.width(c)
    gate, up, down = (None,) * 3 if expert else ("gate", "up", "down")
    return Module(
        f"{d.name}MLP",
        w1=Linear(h, inner, bias=False, kind=gate),
        w3=Linear(h, inner, bias=False, kind=up),
        w2=Linear(inner, h, bias=False, kind=down),
        component=Component.MLP,
    )


def _attention(d: Decoder, c: ModelConfig) -> Module:
    heads = d.heads(c)
    block = grouped_attention(f"{d.name}Attention", d.width(c), heads, out="out_proj")
    norm = d.norm(d, c, heads.dim)
    return block.adding(q_layernorm=norm, k_layernorm=norm)


def layer(d: Decoder, c: ModelConfig, kind: object, *, kernel: int = 3) -> Module:
    """Two gates around a depthwise convolution, 4·H² + H·k weights, or attention, and an MLP."""
    convolves = says(kind, "conv")
    h = d.width(c)
    bias = c.flag("conv_bias", default=False)
    size = c.dim("conv_L_cache", default=kernel)
    component = Component.CONV
    convolution = Module(
        f"{d.name}ShortConv",
        conv=depthwise(h, size, bias=bias, component=component),
        in_proj=Linear(h, 3 * h, bias=bias),
        out_proj=Linear(h, h, bias=bias),
        component=component,
    )
    return mixed(
        d,
        c,
        convolution if convolves else d.attention(d, c),
        kind,
        mlp="feed_forward",
        self_attn="conv" if convolves else "self_attn",
        input_layernorm="operator_norm",
        post_attention_layernorm="ffn_norm",
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> tuple[str, ...]:
    """layer_types, or attention where full_attn_idxs says; without either, everywhere."""
    full = {int(i) for i in c.dims("full_attn_idxs", default=range(layers), minimum=0)}
    return layer_types(c, layers, lambda i: "full_attention" if i in full else "conv")


LFM2 = Decoder(
    "Lfm2",
    **config_defaults("lfm2"),
    norm=norms_called("Lfm2RMSNorm", "norm_eps"),
    layer=layer,
    kinds=_kinds,
    attention=_attention,
    mlp=lambda d, c: three(d, c, _adjusted(c)),
    last_norm="embedding_norm",
    tasks=(),
)


def older_tie(d: Decoder) -> dict[str, Builder]:
    """The class with a head: ``tie_embedding`` is the older key and wins."""
    name = f"{d.name}ForCausalLM"
    keys = ("tie_embedding", "tie_word_embeddings")
    build = d.classes()[name]
    return {name: lambda c: build(c.with_values(tie_word_embeddings=c.flag(*keys, default=True)))}


def _norm_last(_c: ModelConfig, root: Module) -> None:
    """The model makes its positions before its last norm."""
    model = root.inside("model") if "model" in root.children else root
    model.adding(embedding_norm=model.children.pop("embedding_norm"))


LFM2.register("lfm2", more=changed({**LFM2.classes(), **older_tie(LFM2)}, _norm_last))
