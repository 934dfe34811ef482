"""Zamba 2 (Glorioso et al. 2024; transformers/models/zamba2). Mamba 2 layers; some also apply one
of ``num_mem_blocks`` shared blocks, in turn. Uses of a block differ in low-rank adapters."""

from collections.abc import Callable, Sequence
from itertools import chain, cycle

from ..layers import named_decoder as s
from ..layers.blocks import Heads, activation, grouped_attention, rms_norms, size
from ..layers.composing import tied_to
from ..layers.decoders import SEQUENCE_HEAD
from ..layers.layer_kinds import words
from ..layers.mamba2_mixer import Mixer
from ..trees import Component, Dim, ModelConfig
from ..trees.modules import Activation, Layers, Linear, Module, ModuleList, Sequential

_KINDS = words(  # configuration_zamba2.py
    lambda _c, i: "hybrid" if i in {6, 12, 18, 24, 30, 36, 42, 47, 51} else "mamba",
    key="layers_block_type",
    older="layer_types",
)
#: Published models share one or two blocks; every block lists a slot for each hybrid layer.
_MAX_BLOCKS = 16
_biased = s.flagged("add_bias_linear")
_MIXER = Mixer(
    heads=size("n_mamba_heads", default=8),
    groups=size("mamba_ngroups", default=1),
    state=size("mamba_d_state", default=64),
    bias=_biased,
    conv_bias=s.always,
)


def wide(d: s.NamedDecoder, c: ModelConfig) -> Dim:
    """Hidden state and embedding side by side; a saved config lists it."""
    return c.dim("attention_hidden_size", default=2 * d.width(c))


def wide_block(
    d: s.NamedDecoder, c: ModelConfig, feed_forward: Module, kv: int, **slots: Module
) -> Module:
    """The transformer block that layers share: attention over both, put out at the hidden state's
    width, with ``kv`` key heads by default."""
    h = d.width(c)
    query = d.heads(c)
    dim = c.dim("attention_head_dim", "head_dim", default=2 * h // query)
    heads = Heads(query, c.dim("num_key_value_heads", default=kv), dim)
    output = Linear(query * dim, h, bias=False, kind="output")
    attention = grouped_attention(f"{d.name}Attention", wide(d, c), heads)
    return Module(
        f"{d.name}AttentionDecoderLayer",
        self_attn=attention.adding(o_proj=output, **slots),
        feed_forward=feed_forward,
        input_layernorm=d.norms(c, wide(d, c)),
        pre_ff_layernorm=d.norms(c, h),
    )


def _shared_block(d: s.NamedDecoder, c: ModelConfig, block: int, uses: int) -> Module:
    h = d.width(c)
    joined = wide(d, c)
    inner = c.dim("intermediate_size", default=4 * h)
    rank = c.dim("adapter_rank", default=128)
    blocks = c.dim("num_mem_blocks", default=1)

    def adapters(inputs: int, outputs: int) -> ModuleList:
        """One slot for each use of any block; only the uses of this block are filled."""
        adapter = Sequential(Linear(inputs, rank, bias=False), Linear(rank, outputs, bias=False))
        identity = Activation("Identity")
        return ModuleList(adapter if use % blocks == block else identity for use in range(uses))

    adapted = "qkv" if c.flag("use_shared_attention_adapter", default=False) else ""
    slots = {f"linear_{name}_adapter_list": adapters(joined, joined) for name in adapted}
    mlp = Module(
        "Zamba2MLP",
        gate_up_proj=Linear(h, 2 * inner, bias=_biased(c), kind="gate_up"),
        down_proj=Linear(inner, h, bias=_biased(c), kind="down"),
        act_fn=activation(c.text("hidden_act", default="gelu")),
        gate_up_proj_adapter_list=adapters(h, 2 * inner),
        component=Component.MLP,
    )
    return wide_block(d, c, mlp, d.heads(c), **slots)


def shared_layers(
    c: ModelConfig,
    kinds: Sequence[str],
    mamba: Module,
    block: Callable[[int], Module],
    at: str,
    hybrid: Callable[[Module], Module],
    blocks: int = 1,
) -> Layers:
    """Mamba layers; where the kind is ``hybrid``, also one of the shared blocks in turn, which is
    stored under ``at`` where it first occurs. Later uses are tied to it, or copies of their own."""
    places = [i for i, kind in enumerate(kinds) if kind == "hybrid"]
    first = {i: block(use) for use, i in enumerate(places[:blocks])}
    again = [tied_to(x, f"layers.{i}.{at}") if c.tied() else x for i, x in first.items()]
    uses = zip(places, chain(first.values(), cycle(again)), strict=False)
    by_layer = {i: hybrid(shared) for i, shared in uses}
    return Layers(by_layer.get(i, mamba) for i in range(len(kinds)))


def _layers(d: s.NamedDecoder, c: ModelConfig) -> Layers:
    kinds = _KINDS(d, c, int(c.count("num_hidden_layers", default=54)))
    both = [c.file_values.get(name) for name in ("layers_block_type", "layer_types")]
    if None not in both and both[0] != both[1]:  # the slots are counted by the one that goes unused
        raise c.error("layer_types", both[1], "what layers_block_type says")
    blocks = c.dim("num_mem_blocks", default=1, maximum=_MAX_BLOCKS)
    # A saved config lists where they are, for the slots only.
    listed = c.has("hybrid_layer_ids")
    uses = len(c.dims("hybrid_layer_ids", minimum=0)) if listed else kinds.count("hybrid")
    mixer = _MIXER("Zamba2MambaMixer", c, d.width(c), norm="Zamba2RMSNormGated")
    mamba = Module("Zamba2MambaDecoderLayer", mamba=mixer, input_layernorm=s.norm(d, c))
    linear = Linear(d.width(c), d.width(c), bias=False)
    return shared_layers(
        c,
        kinds,
        mamba,
        lambda use: _shared_block(d, c, use, uses),
        "shared_transformer",
        lambda shared: Module(
            "Zamba2HybridLayer", linear=linear, mamba_decoder=mamba, shared_transformer=shared
        ),
        int(blocks),
    )


s.NamedDecoder(
    "Zamba2",
    width=size("hidden_size", default=2560),
    heads=size("num_attention_heads", default=32),
    vocab=size("vocab_size", default=32000),
    norms=rms_norms("Zamba2RMSNorm", 1e-5),
    prefix="model",
    scope=True,
    model={"embed_tokens": s.words, "layers": _layers, "final_layernorm": s.norm},
).register("zamba2", heads=SEQUENCE_HEAD)
