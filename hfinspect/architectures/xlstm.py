"""xLSTM (Beck et al. 2024, 2025). Source of shapes: transformers/models/xlstm/modeling_xlstm.py.

Blocks of a matrix memory (mLSTM) and a gated MLP, widths rounded up to multiples; ``weight_mode``
fused joins the projections.  transformers 5.23 cannot build the fused form, so it is not recorded.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import size
from ..layers.heads import lm_head
from ..trees.catalog import register
from ..trees.keeps import State
from ..trees.modules import Embedding, Layers, Linear, Module, Parameter, RMSNorm

_MODES = ("single", "fused")


_hidden = size("hidden_size", default=4096)


def _scaled(c: ModelConfig, key: str, default: float, name: str, multiple: int = 1) -> Dim:
    """hidden_size times a factor, as an int, in the MLP up to the next multiple."""
    width, how = int(_hidden(c)) * c.number(key, default=default), f"int(hidden_size · {key})"
    if multiple > 1:
        width = ((width + multiple - 1) // multiple) * multiple
        how += f", up to a multiple of {multiple}"
    if width < 1:
        raise c.error(key, c.raw(key), "a factor that leaves a width")
    return named(int(width), name, how)


def _fused(c: ModelConfig) -> bool:
    mode = c.text("weight_mode", default="single")
    if mode not in _MODES:
        raise c.error("weight_mode", mode, " or ".join(_MODES))
    return mode == "fused"


def _norm(c: ModelConfig) -> Module:
    norm = RMSNorm(_hidden(c), eps=c.number("norm_eps", default=1e-6), class_name="xLSTMRMSNorm")
    if c.flag("use_bias", default=False):
        norm.children["bias"] = Parameter((_hidden(c),))
    return norm


def memory(c: ModelConfig) -> Module:
    h, heads, bias = _hidden(c), c.dim("num_heads", default=8), c.flag("use_bias", default=False)
    key = _scaled(c, "qk_dim_factor", 0.5, "qk_dim")
    value = _scaled(c, "v_dim_factor", 1.0, "v_dim")
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
        {
            **inputs,
            "multihead_norm": norm,
            "out_proj": Linear(value, h, bias=bias, kind="output"),
        },
        component=Component.SSM,
        keeps=(
            State("recurrent", (value, key // heads)),
            State("recurrent", (key,)),
            State("recurrent", (heads,)),
        ),
    )


def feed_forward(c: ModelConfig) -> Module:
    h, bias = _hidden(c), c.flag("use_bias", default=False)
    multiple = int(c.dim("ffn_round_up_to_multiple_of", default=64))
    inner = _scaled(c, "ffn_proj_factor", 2.667, "up_proj_dim", multiple)
    if _fused(c):
        inputs = {"proj_up_gate_z": Linear(h, 2 * inner, bias=bias, kind="gate_up")}
    else:
        inputs = {
            "proj_up_gate": Linear(h, inner, bias=bias, kind="gate"),
            "proj_up": Linear(h, inner, bias=bias, kind="up"),
        }
    down = Linear(inner, h, bias=bias, kind="down")
    return Module("xLSTMFeedForward", {**inputs, "proj_down": down}, component=Component.MLP)


def model(c: ModelConfig) -> Module:
    block = Module(
        "xLSTMBlock",
        norm_mlstm=_norm(c),
        mlstm_layer=memory(c),
        norm_ffn=_norm(c),
        ffn=feed_forward(c),
    )
    width = c.dim("embedding_dim", default=_hidden(c))
    return Module(
        "xLSTMModel",
        embeddings=Embedding(c.dim("vocab_size", default=50304), width),
        blocks=Layers.of(c.count("num_blocks", "num_hidden_layers", default=32), block),
        out_norm=RMSNorm(
            _hidden(c), eps=c.number("norm_eps", default=1e-6), class_name="xLSTMRMSNorm"
        ),
    )


def causal(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=50304)
    untied = ModelConfig({})  # the class ties nothing whatever tie_word_embeddings says
    head = lm_head(untied, _hidden(c), vocab, tied_to="", tied_default=False)
    return Module("xLSTMForCausalLM", backbone=model(c), lm_head=head)


register(
    "xlstm",
    {"xLSTMForCausalLM": causal, "xLSTMModel": model},
    base_prefix="backbone",
    category="text decoder",
)
