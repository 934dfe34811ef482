"""HRM-Text (Sapient 2026). Source of shapes: transformers/models/hrm_text; names of files:
transformers/conversion_mapping.py.

Two stacks of layers, a slow one and a fast one, run in turns: a layer's tensors are there once.
Files hold gate, q, k and v in one, gate and up too (but their biases, if any, apart).
"""

from collections.abc import Callable

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..layers import spelled as s
from ..layers.blocks import activation, size
from ..layers.spelled import Spelled
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Layers, Linear, Module, Weight


def _biases(**sizes: int) -> dict[str, Module]:
    """Biases that a save leaves under the names of the projections in memory."""
    return {name: Module("Linear", bias=Weight(size)) for name, size in sizes.items()}


def attention(d: Spelled, c: ModelConfig) -> dict[str, Module]:
    h, bias = d.width(c), c.flag("attention_bias", default=False)
    width = d.heads(c) * c.dim("head_dim", default=128)
    fused = Module(
        "HrmTextAttention",
        gqkv_proj=Linear(h, width * 4, bias=False, kind="qkv"),
        o_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
        keeps=(KeysValues(width, width),),
    )
    if not bias:
        return {"attn": fused}
    apart = _biases(q_proj=width, k_proj=width, v_proj=width, gate_proj=width)
    return {
        "attn": fused,
        "self_attn": Module("HrmTextAttention", apart, component=Component.ATTENTION, keeps=()),
    }


def mlp(d: Spelled, c: ModelConfig) -> Module:
    h, inner = d.width(c), c.dim("intermediate_size", default=4096)
    bias = c.flag("mlp_bias", default=False)
    return Module(
        "HrmTextMLP",
        {
            "gate_up_proj": Linear(h, inner * 2, bias=False, kind="gate_up"),
            "down_proj": Linear(inner, h, bias=bias, kind="down"),
            "act_fn": activation(c.text("hidden_act", default="silu")),
            **(_biases(gate_proj=inner, up_proj=inner) if bias else {}),
        },
        component=Component.MLP,
    )


def stack(passes: Callable[[ModelConfig], Dim]) -> s.Part:
    """``passes``: how often a token goes through, each time with keys and values of its own."""

    def made(d: Spelled, c: ModelConfig) -> Module:
        norm = Activation("HrmTextRMSNorm")
        norms = {"input_layernorm": norm, "post_attention_layernorm": norm}
        layer = Module("HrmTextDecoderLayer", {**attention(d, c), "mlp": mlp(d, c), **norms})
        count = c.count("num_layers_per_stack", "num_hidden_layers", default=16)
        if passes(c) * count > MAX_COUNT:
            expected = f"at most {MAX_COUNT:,} layers on the way of a token"
            raise c.error("H_cycles", int(passes(c)), expected)
        layers = Layers([layer] * int(count), count=count, passes=int(passes(c)))
        return Module("HrmTextStack", layers=layers, final_norm=norm)

    return made


_SLOW, _FAST = size("H_cycles", default=2), size("L_cycles", default=3)
_HRM = Spelled(
    "HrmText", width=size("hidden_size", default=1536),
    heads=size("num_attention_heads", default=12), vocab=size("vocab_size", default=151808),
    model={
        "embed_tokens": s.words, "L_module": stack(lambda c: _SLOW(c) * _FAST(c)),
        "H_module": stack(_SLOW), "z_L_init": lambda d, c: Weight(d.width(c)),
    },
    prefix="model", tied=False,
)  # fmt: skip
_HRM.register("hrm_text", _HRM.classes(heads=()))
