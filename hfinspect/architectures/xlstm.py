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
from ..trees.modules import Embedding, Linear, Module, Parameter

_MODES = ("single", "fused")


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
    return c.word("weight_mode", *_MODES) == "fused"


def _norm(d: Spelled, c: ModelConfig) -> Module:
    norm = s.norm(d, c)
    if c.flag("use_bias", default=False):
        norm.children["bias"] = Parameter((d.width(c),))
    return norm


def memory(d: Spelled, c: ModelConfig) -> Module:
    h, heads, bias = d.width(c), d.heads(c), c.flag("use_bias", default=False)
    key = _scaled(d, c, "qk_dim_factor", 0.5, "qk_dim")
    value = _scaled(d, c, "v_dim_factor", 1.0, "v_dim")
    if _fused(c):
        inputs = {
            "qkv_opreact": Linear(h, 2 * key + 2 * value, bias=bias),
            "ifgate_preact": Linear(h, 2 * heads),
        }
    else:
        inputs = {
            "q": Linear(h, key, bias=bias, kind="query"),
            "k": Linear(h, key, bias=bias, kind="key"),
            "v": Linear(h, value, bias=bias, kind="value"),
            "ogate_preact": Linear(h, value, bias=bias, kind="gate"),
            "igate_preact": Linear(h, heads),
            "fgate_preact": Linear(h, heads),
        }
    width = heads * (value // heads)
    norm = Module("xLSTMMultiHeadLayerNorm", weight=Parameter((width,)), component=Component.NORM)
    if bias:
        norm.children["bias"] = Parameter((width,))
    return Module(
        "xLSTMLayer",
        {**inputs, "multihead_norm": norm, "out_proj": Linear(value, h, bias=bias, kind="output")},
        component=Component.SSM,
        keeps=(
            State("recurrent", (value, key // heads)),
            State("recurrent", (key,)),
            State("recurrent", (heads,)),
        ),
    )


def feed_forward(d: Spelled, c: ModelConfig) -> Module:
    h, bias = d.width(c), c.flag("use_bias", default=False)
    multiple = int(c.dim("ffn_round_up_to_multiple_of", default=64))
    inner = _scaled(d, c, "ffn_proj_factor", 2.667, "up_proj_dim", multiple)
    if _fused(c):
        inputs = {"proj_up_gate_z": Linear(h, 2 * inner, bias=bias, kind="gate_up")}
    else:
        inputs = {
            "proj_up_gate": Linear(h, inner, bias=bias, kind="gate"),
            "proj_up": Linear(h, inner, bias=bias, kind="up"),
        }
    down = Linear(inner, h, bias=bias, kind="down")
    return Module("xLSTMFeedForward", {**inputs, "proj_down": down}, component=Component.MLP)


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
