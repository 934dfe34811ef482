"""Zamba 2 (Glorioso et al. 2024). Source of shapes: transformers/models/zamba2/modeling_zamba2.py.

Mamba 2 layers; some also apply one of ``num_mem_blocks`` shared transformer blocks, in turn, to the
hidden state joined with the embedding (width 2·H). A shared block is stored where it first occurs;
its later uses differ in low-rank adapters, which every block lists by the number of the use. With
tie_word_embeddings false a file holds each use by itself.
"""

from collections.abc import Callable, Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import spelled as s
from ..layers.blocks import Heads, activation, grouped_attention, layer_types, rms_norms, size
from ..layers.composing import tied_to
from ..layers.decoders import SEQUENCE_HEAD
from ..layers.mamba2_mixer import Mixer, expanded
from ..layers.mamba2_mixer import mixer as mamba_mixer
from ..layers.spelled import Spelled
from ..trees.modules import Activation, Layers, Linear, Module, ModuleList, Sequential

#: 54 layers, of which nine are hybrid (configuration_zamba2.py).
_HYBRID_BY_DEFAULT = frozenset({6, 12, 18, 24, 30, 36, 42, 47, 51})
#: Published models share one or two blocks; every block lists a slot for each hybrid layer.
_MAX_BLOCKS = 16


def mamba_layer(d: Spelled, c: ModelConfig) -> Module:
    h, heads = d.width(c), c.dim("n_mamba_heads", default=8)
    groups, state = c.dim("mamba_ngroups", default=1), c.dim("mamba_d_state", default=64)
    inner, kernel = expanded(c, "mamba_expand", h), c.dim("mamba_d_conv", default=4)
    bias = c.flag("add_bias_linear", default=False)
    sizes = Mixer(h, inner, heads, groups, state, kernel, bias, conv_bias=True)
    return Module(
        "Zamba2MambaDecoderLayer",
        mamba=mamba_mixer("Zamba2MambaMixer", sizes, norm="Zamba2RMSNormGated"),
        input_layernorm=s.norm(d, c),
    )


def adapters(c: ModelConfig, inputs: int, outputs: int, *, block: int, uses: int) -> ModuleList:
    """One slot for each use of any block; only the uses of this block are filled."""
    rank = c.dim("adapter_rank", default=128)
    blocks = c.dim("num_mem_blocks", default=1)
    adapter = Sequential(Linear(inputs, rank, bias=False), Linear(rank, outputs, bias=False))
    other = Activation("Identity")
    return ModuleList(adapter if use % blocks == block else other for use in range(uses))


def wide(d: Spelled, c: ModelConfig) -> Dim:
    """Hidden state and embedding side by side; a saved config lists it."""
    return c.dim("attention_hidden_size", default=2 * d.width(c))


def wide_attention(d: Spelled, c: ModelConfig, kv: int) -> Module:
    """Attention over both, put out at the hidden state's width; ``kv`` key heads by default."""
    query = d.heads(c)
    dim = c.dim("attention_head_dim", "head_dim", default=2 * d.width(c) // query)
    heads = Heads(query, c.dim("num_key_value_heads", default=kv), dim)
    output = Linear(query * dim, d.width(c), bias=False, kind="output")
    return grouped_attention(f"{d.name}Attention", wide(d, c), heads).adding(o_proj=output)


def wide_block(d: Spelled, c: ModelConfig, attention: Module, feed_forward: Module) -> Module:
    """The transformer block that layers share."""
    return Module(
        f"{d.name}AttentionDecoderLayer",
        self_attn=attention,
        feed_forward=feed_forward,
        input_layernorm=d.norms(c, wide(d, c)),
        pre_ff_layernorm=d.norms(c, d.width(c)),
    )


def shared_transformer(d: Spelled, c: ModelConfig, *, block: int, uses: int) -> Module:
    h, joined = d.width(c), wide(d, c)
    inner = c.dim("intermediate_size", default=4 * h)
    bias = c.flag("add_bias_linear", default=False)
    attention = wide_attention(d, c, d.heads(c))
    if c.flag("use_shared_attention_adapter", default=False):
        slots = adapters(c, joined, joined, block=block, uses=uses)
        attention.children |= {f"linear_{name}_adapter_list": slots for name in "qkv"}
    mlp = Module(
        "Zamba2MLP",
        gate_up_proj=Linear(h, 2 * inner, bias=bias, kind="gate_up"),
        down_proj=Linear(inner, h, bias=bias, kind="down"),
        act_fn=activation(c.text("hidden_act", default="gelu")),
        gate_up_proj_adapter_list=adapters(c, h, 2 * inner, block=block, uses=uses),
        component=Component.MLP,
    )
    return wide_block(d, c, attention, mlp)


def shared_layers(
    c: ModelConfig, kinds: Sequence[str], mamba: Module, block: Callable[[int], Module], at: str,
    hybrid: Callable[[Module], Module], blocks: int = 1,
) -> Layers:  # fmt: skip
    """Mamba layers; where the kind is ``hybrid``, also one of the shared blocks in turn, which is
    stored under ``at`` where it first occurs. Later uses are tied to it, or copies of their own."""
    out: list[Module] = []
    again: list[Module] = []
    uses = 0
    for i, kind in enumerate(kinds):
        if kind != "hybrid":
            out.append(mamba)
            continue
        shared = block(uses) if uses < blocks else again[uses % blocks]
        if uses < blocks:
            again.append(tied_to(shared, f"layers.{i}.{at}") if c.tied() else shared)
        uses += 1
        out.append(hybrid(shared))
    return Layers(out)


def layers(d: Spelled, c: ModelConfig) -> Layers:
    count = c.count("num_hidden_layers", default=54)
    key = "layers_block_type" if c.has("layers_block_type") else "layer_types"
    kinds = layer_types(
        c, count, lambda i: "hybrid" if i in _HYBRID_BY_DEFAULT else "mamba", key=key
    )
    both = [c.given.get(name) for name in ("layers_block_type", "layer_types")]
    if None not in both and both[0] != both[1]:  # the slots are counted by the one that goes unused
        raise c.error("layer_types", both[1], "what layers_block_type says")
    blocks = c.dim("num_mem_blocks", default=1)
    if blocks > _MAX_BLOCKS:
        raise c.error("num_mem_blocks", int(blocks), f"at most {_MAX_BLOCKS}")
    # A saved config lists where they are, for the slots only.
    listed = c.has("hybrid_layer_ids")
    uses = len(c.dims("hybrid_layer_ids", minimum=0)) if listed else kinds.count("hybrid")
    mamba, linear = mamba_layer(d, c), Linear(d.width(c), d.width(c), bias=False)
    return shared_layers(
        c, kinds, mamba, lambda use: shared_transformer(d, c, block=use, uses=uses),
        "shared_transformer", lambda shared: Module(
            "Zamba2HybridLayer", linear=linear, mamba_decoder=mamba, shared_transformer=shared
        ), int(blocks),
    )  # fmt: skip


_ZAMBA = Spelled(
    "Zamba2", width=size("hidden_size", default=2560),
    heads=size("num_attention_heads", default=32), vocab=size("vocab_size", default=32000),
    norms=rms_norms("Zamba2RMSNorm", 1e-5), prefix="model",
    model={"embed_tokens": s.words, "layers": layers, "final_layernorm": s.norm}, scope=True,
)  # fmt: skip
_ZAMBA.register("zamba2", _ZAMBA.classes(heads=SEQUENCE_HEAD))
