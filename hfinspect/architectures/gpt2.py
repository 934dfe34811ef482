"""GPT-2 (Radford et al. 2019), whose linears are Conv1D, weights (in, out). Older files also hold
each layer's causal mask (1, 1, n, n) and the value that masks (transformers/models/gpt2)."""

from functools import partial

from ..layers import named_decoder as s
from ..layers.heads import sequence_summary
from ..trees import Buffer, ModelConfig, Module

_crosses = s.flagged("add_cross_attention")


def projected(times: int, kind: str) -> s.NamedPart:
    """A matrix to so many times the width."""
    return lambda d, c: s.transposed(d.width(c), times * d.width(c), kind=kind)


#: What attention holds behind its first matrices.
BEHIND: dict[str, s.NamedPart] = {
    "c_proj": s.output,
    "bias": s.mask(),
    "masked_bias": lambda _d, _c: Buffer(saved=False),
    "attn_dropout": s.dropout("attn_pdrop", 0.1),
    "resid_dropout": s.dropout("resid_pdrop", 0.1),
}
_SEEING = {"c_attn": projected(2, "key_value"), "q_attn": projected(1, "query"), **BEHIND}
GPT2 = s.NamedDecoder(
    "GPT2",
    linear=s.transposed,
    model={
        "wte": s.words,
        "wpe": s.positions,
        "drop": s.dropout("embd_pdrop", 0.1),
        "h": s.layers,
        "ln_f": s.norm,
    },
    block={
        "ln_1": s.norm,
        "attn": s.attention,
        "ln_2": s.norm,
        "crossattention": s.where(
            _crosses, lambda d, c: s.attention(d.like("GPT2", attention=_SEEING), c)
        ),
        "ln_cross_attn": s.where(_crosses, s.norm),
        "mlp": s.mlp,
    },
    attention={"c_attn": s.qkv, **BEHIND},
    mlp={
        "c_fc": s.up,
        "c_proj": s.down,
        "act": s.act("activation_function", "gelu_new"),
        "dropout": s.dropout("resid_pdrop", 0.1),
    },
)
_CLASSES = GPT2.classes(causal="LMHeadModel", labeller="classifier")


def double_heads(d: s.NamedDecoder, c: ModelConfig) -> Module:
    """A language model and a choice among endings: one logit, whatever num_labels says."""
    choice = sequence_summary(c, f"{d.name}SequenceSummary", d.width(c), 1)
    root = d.classes(causal="LMHeadModel")[f"{d.name}LMHeadModel"](c)
    return root.called(f"{d.name}DoubleHeadsModel").adding(multiple_choice_head=choice)


GPT2.register("gpt2", {**_CLASSES, "GPT2DoubleHeadsModel": partial(double_heads, GPT2)})
