"""SantaCoder and StarCoder (Li et al. 2023). Source of shapes:
transformers/models/gpt_bigcode/modeling_gpt_bigcode.py.

GPT-2 with ordinary linears and one key and value head for all queries (multi_query).
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import spelled as s
from ..layers.decoders import LABEL_HEADS
from ..layers.spelled import Part, Spelled
from ..trees.modules import Linear, Module, Parameter


def _single(c: ModelConfig) -> bool:
    return c.flag("multi_query", default=True)


def _joined(d: Spelled, c: ModelConfig) -> Dim:
    head = d.head(c)
    return d.width(c) + 2 * (head if _single(c) else d.heads(c) * head)


def _crossing(part: Part) -> Part:
    """What looks at an encoder's output."""

    def built(d: Spelled, c: ModelConfig) -> Module | Parameter | None:
        if not c.flag("add_cross_attention", default=False):
            return None
        if _single(c):
            raise c.error("multi_query", True, "false next to add_cross_attention")
        return part(d, c)

    return built


_DROPOUT = s.dropout("resid_pdrop", 0.1)
_CROSS: dict[str, Part] = {
    "c_attn": lambda d, c: Linear(d.width(c), 2 * d.width(c), kind="qkv"),
    "q_attn": s.as_wide("query"),
    "c_proj": s.output,
    "resid_dropout": _DROPOUT,
}
_BIGCODE = Spelled(
    "GPTBigCode", joined=_joined,
    model={
        "wte": s.words, "wpe": s.positions, "drop": s.dropout("embd_pdrop", 0.1), "h": s.layers,
        "ln_f": s.norm,
    },
    block={
        "ln_1": s.norm, "attn": s.attention, "ln_2": s.norm,
        "crossattention": _crossing(lambda d, c: s.attention(d.like(d.name, attention=_CROSS), c)),
        "ln_cross_attn": _crossing(s.norm), "mlp": s.mlp,
    },
    attention={"c_attn": s.qkv, "c_proj": s.output, "resid_dropout": _DROPOUT},
    mlp={
        "c_fc": s.up, "c_proj": s.down, "act": s.act("activation_function", "gelu_pytorch_tanh"),
        "dropout": _DROPOUT,
    },
)  # fmt: skip

_CLASSES = _BIGCODE.classes(labeller="classifier", heads=LABEL_HEADS)
# The name before transformers took the model in, which converted checkpoints still give.
_CLASSES["GPTBigCodeLMHeadModel"] = _CLASSES["GPTBigCodeForCausalLM"]
_BIGCODE.register("gpt_bigcode", _CLASSES)
