"""HRM-Text (Sapient 2026): a hierarchical reasoning model for text. Source of shapes:
transformers/models/hrm_text; names of files: transformers/conversion_mapping.py.

Two stacks of layers, a slow one and a fast one, run in turns: a layer's tensors are there once,
however many cycles.  Norms have no weight; files hold gate, q, k and v in one, gate and up too
(but their biases, if any, apart).
"""

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, Weight

_hidden = size("hidden_size", default=1536)


def _biases(**sizes: int) -> dict[str, Module]:
    """Biases that a save leaves under the names of the projections in memory."""
    return {name: Module("Linear", bias=Weight(size)) for name, size in sizes.items()}


def attention(c: ModelConfig) -> dict[str, Module]:
    h, bias = _hidden(c), c.flag("attention_bias", default=False)
    width = c.dim("num_attention_heads", default=12) * c.dim("head_dim", default=128)
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


def mlp(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=4096)
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


def stack(c: ModelConfig, *, passes: Dim) -> Module:
    """``passes``: how often a token goes through, each time with keys and values of its own."""
    norm = Activation("HrmTextRMSNorm")
    layer = Module(
        "HrmTextDecoderLayer",
        {
            **attention(c),
            "mlp": mlp(c),
            "input_layernorm": norm,
            "post_attention_layernorm": norm,
        },
    )
    count = c.count("num_layers_per_stack", "num_hidden_layers", default=16)
    if passes * count > MAX_COUNT:
        raise c.error(
            "H_cycles", int(passes), f"at most {MAX_COUNT:,} layers on the way of a token"
        )
    return Module(
        "HrmTextStack",
        layers=Layers([layer] * int(count), count=count, passes=int(passes)),
        final_norm=norm,
    )


def model(c: ModelConfig) -> Module:
    slow = c.dim("H_cycles", default=2)
    return Module(
        "HrmTextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=151808), _hidden(c)),
        L_module=stack(c, passes=slow * c.dim("L_cycles", default=3)),
        H_module=stack(c, passes=slow),
        z_L_init=Weight(_hidden(c)),
    )


register(
    "hrm_text",
    decoder_classes("HrmText", model, heads=()),
    base_prefix="model",
    category="text decoder",
)
