"""xLSTM (Beck et al. 2024, 2025). Source of shapes: transformers/models/xlstm/modeling_xlstm.py.

Blocks of a matrix memory (mLSTM) and a gated MLP, widths rounded up to multiples; ``weight_mode``
fused joins the projections.  transformers 5.23 cannot build the fused form, so it is not recorded.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers import spelled as s
from ..layers.blocks import rms_norms, size
from ..layers.heads import to_words
from ..layers.spelled import Spelled
from ..trees.keeps import State
from ..trees.modules import Embedding, Linear, Module, Weight


def _scaled(
    d: Spelled, c: ModelConfig, key: str, default: float, name: str, multiple: int = 1
) -> Dim:
    """hidden_size times a factor, as an int, in the MLP up to the next multiple."""
    width, how = int(d.width(c)) * c.number(key, default=default), f"int(hidden_size · {key})"
    if multiple > 1:
        width = ((width + multiple - 1) // multiple) * multiple
        how += f", up to a multiple of {multiple}"
    if width < 1:
        raise c.error(key, c.raw(key), "a factor that leaves a width")
    return named(int(width), name, how)


def _fused(c: ModelConfig) -> bool:
    return c.word("weight_mode", "single", "fused") == "fused"


def _biased(c: ModelConfig) -> bool:
    return c.flag("use_bias", default=False)


def _norm(d: Spelled, c: ModelConfig) -> Module:
    return s.norm(d, c).adding(bias=Weight(d.width(c)) if _biased(c) else None)


def _linears(c: ModelConfig, h: Dim, **outputs: tuple[Dim, str | None]) -> dict[str, Module]:
    return {
        name: Linear(h, width, bias=_biased(c), kind=kind)
        for name, (width, kind) in outputs.items()
    }


def memory(d: Spelled, c: ModelConfig) -> Module:
    h, heads = d.width(c), d.heads(c)
    key = _scaled(d, c, "qk_dim_factor", 0.5, "qk_dim")
    value = _scaled(d, c, "v_dim_factor", 1.0, "v_dim")
    if _fused(c):
        inputs = _linears(c, h, qkv_opreact=(2 * key + 2 * value, None))
        gates = {"ifgate_preact": 2 * heads}
    else:
        apart = {"q": (key, "query"), "k": (key, "key"), "v": (value, "value")}
        inputs = _linears(c, h, **apart, ogate_preact=(value, "gate"))
        gates = {"igate_preact": heads, "fgate_preact": heads}
    width = heads * (value // heads)
    norm = Module("xLSTMMultiHeadLayerNorm", weight=Weight(width), component=Component.NORM)
    return Module(
        "xLSTMLayer",
        {**inputs, **{name: Linear(h, count) for name, count in gates.items()}},
        multihead_norm=norm.adding(bias=Weight(width) if _biased(c) else None),
        out_proj=Linear(value, h, bias=_biased(c), kind="output"),
        component=Component.SSM,
        keeps=tuple(
            State("recurrent", sizes) for sizes in ((value, key // heads), (key,), (heads,))
        ),
    )


def feed_forward(d: Spelled, c: ModelConfig) -> Module:
    h, multiple = d.width(c), int(c.dim("ffn_round_up_to_multiple_of", default=64))
    inner = _scaled(d, c, "ffn_proj_factor", 2.667, "up_proj_dim", multiple)
    if _fused(c):
        inputs = _linears(c, h, proj_up_gate_z=(2 * inner, "gate_up"))
    else:
        inputs = _linears(c, h, proj_up_gate=(inner, "gate"), proj_up=(inner, "up"))
    parts = inputs | _linears(c, inner, proj_down=(h, "down"))
    return Module("xLSTMFeedForward", parts, component=Component.MLP)


def _words(d: Spelled, c: ModelConfig) -> Module:
    return Embedding(d.vocab(c), c.dim("embedding_dim", default=d.width(c)))


_XLSTM = Spelled(
    "xLSTM", width=size("hidden_size", default=4096), heads=size("num_heads", default=8),
    depth=size("num_blocks", "num_hidden_layers", default=32),
    vocab=size("vocab_size", default=50304), norms=rms_norms("xLSTMRMSNorm", 1e-6, "norm_eps"),
    model={"embeddings": _words, "blocks": s.layers, "out_norm": s.norm},
    block={"norm_mlstm": _norm, "mlstm_layer": memory, "norm_ffn": _norm, "ffn": feed_forward},
    prefix="backbone",
)  # fmt: skip


def causal(c: ModelConfig) -> Module:
    """The class ties nothing, whatever tie_word_embeddings says."""
    head = to_words(_XLSTM.width(c), _XLSTM.vocab(c))
    return Module("xLSTMForCausalLM", backbone=_XLSTM.base(c), lm_head=head)


_XLSTM.register("xlstm", {"xLSTMForCausalLM": causal, "xLSTMModel": _XLSTM.base})
