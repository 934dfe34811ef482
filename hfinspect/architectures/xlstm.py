"""xLSTM (Beck et al. 2024, 2025; transformers/models/xlstm). transformers 5 cannot build the
fused form of ``weight_mode``, so it is not recorded."""

from ..layers import named_decoder as s
from ..layers.blocks import rms_norms, size
from ..layers.composing import without_static_cache
from ..layers.heads import to_words
from ..trees import Component, Dim, Embedding, Linear, ModelConfig, Module, State, Weight, named


def _scaled(
    d: s.NamedDecoder, c: ModelConfig, key: str, default: float, name: str, multiple: int = 1
) -> Dim:
    """hidden_size times a factor, as an int, in the MLP up to the next multiple."""
    width = int(d.width(c)) * c.number(key, default=default)
    how = f"int(hidden_size · {key})"
    if multiple > 1:
        width = ((width + multiple - 1) // multiple) * multiple
        how += f", up to a multiple of {multiple}"
    if width < 1:
        raise c.error(key, c.raw(key), "a factor that leaves a width")
    return named(int(width), name, how)


def _fused(c: ModelConfig) -> bool:
    return c.word("weight_mode", "single", "fused") == "fused"


def _norm(d: s.NamedDecoder, c: ModelConfig) -> Module:
    return s.norm(d, c).adding(bias=Weight(d.width(c)) if d.bias(c) else None)


def _linears(
    d: s.NamedDecoder, c: ModelConfig, **outputs: tuple[Dim, str | None]
) -> dict[str, Module]:
    return {
        name: Linear(d.width(c), width, bias=d.bias(c), kind=kind)
        for name, (width, kind) in outputs.items()
    }


def _memory(d: s.NamedDecoder, c: ModelConfig) -> Module:
    h = d.width(c)
    heads = d.heads(c)
    key = _scaled(d, c, "qk_dim_factor", 0.5, "qk_dim")
    value = _scaled(d, c, "v_dim_factor", 1.0, "v_dim")
    if _fused(c):
        inputs = _linears(d, c, qkv_opreact=(2 * key + 2 * value, None))
        gates = {"ifgate_preact": 2 * heads}
    else:
        apart = {"q": (key, "query"), "k": (key, "key"), "v": (value, "value")}
        inputs = _linears(d, c, **apart, ogate_preact=(value, "gate"))
        gates = {"igate_preact": heads, "fgate_preact": heads}
    width = heads * (value // heads)
    norm = Module("xLSTMMultiHeadLayerNorm", weight=Weight(width), component=Component.NORM)
    states = (value, key // heads), (key,), (heads,)
    return Module(
        "xLSTMLayer",
        {**inputs, **{name: Linear(h, count) for name, count in gates.items()}},
        multihead_norm=norm.adding(bias=Weight(width) if d.bias(c) else None),
        out_proj=Linear(value, h, bias=d.bias(c), kind="output"),
        component=Component.SSM,
        cache=tuple(State("recurrent", sizes) for sizes in states),
    )


def _mlp(d: s.NamedDecoder, c: ModelConfig) -> Module:
    multiple = int(c.dim("ffn_round_up_to_multiple_of", default=64))
    inner = _scaled(d, c, "ffn_proj_factor", 2.667, "up_proj_dim", multiple)
    apart = {"proj_up_gate": (inner, "gate"), "proj_up": (inner, "up")}
    inputs = {"proj_up_gate_z": (2 * inner, "gate_up")} if _fused(c) else apart
    down = Linear(inner, d.width(c), bias=d.bias(c), kind="down")
    parts = _linears(d, c, **inputs)
    return Module("xLSTMFeedForward", parts, proj_down=down, component=Component.MLP)


_XLSTM = s.NamedDecoder(
    "xLSTM",
    width=size("hidden_size", default=4096),
    heads=size("num_heads", default=8),
    depth=size("num_blocks", "num_hidden_layers", default=32),
    bias=s.flagged("use_bias"),
    vocab=size("vocab_size", default=50304),
    norms=rms_norms("xLSTMRMSNorm", 1e-6, "norm_eps"),
    model={
        "embeddings": lambda d, c: Embedding(
            d.vocab(c), c.dim("embedding_dim", default=d.width(c))
        ),
        "blocks": s.layers,
        "out_norm": s.norm,
    },
    block={"norm_mlstm": _norm, "mlstm_layer": _memory, "norm_ffn": _norm, "ffn": _mlp},
    prefix="backbone",
)


def _causal(c: ModelConfig) -> Module:
    """The class ties nothing, whatever tie_word_embeddings says."""
    head = to_words(_XLSTM.width(c), _XLSTM.vocab(c))
    return Module("xLSTMForCausalLM", backbone=_XLSTM.base(c), lm_head=head)


_CLASSES = {"xLSTMForCausalLM": _causal, "xLSTMModel": _XLSTM.base}
_XLSTM.register("xlstm", without_static_cache(_CLASSES))
