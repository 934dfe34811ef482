"""GPT-NeoX-20B (Black et al. 2022) and Pythia (transformers/models/gpt_neox). Older files hold in
each layer the causal mask (a byte an element), the value that masks and the rotary frequencies.
Open-Assistant's reward models put one score on top (an index, and the ``source`` below)."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.heads import causal_lm
from ..layers.named_decoder import NamedDecoder
from ..trees import Buffer, Component, Linear, ModelConfig, Module, named, register_part


def _frequencies(d: NamedDecoder, c: ModelConfig) -> Module:
    """Half of the part of a head that is rotated: int(head · rotary_pct) / 2, rounded up."""
    share = c.section("rope_parameters").number("partial_rotary_factor", default=0.25)
    share = c.number("rotary_pct", default=share)
    if not 0 <= share <= 1:
        raise c.error("rotary_pct", share, "a share of a head, 0 to 1")
    rotated = -(-int(int(d.head(c)) * share) // 2)
    size = named(rotated, "rotary_frequencies", "int(head size · rotary_pct) / 2")
    return Module("GPTNeoXRotaryEmbedding", inv_freq=Buffer(size), saved=False)


_NEOX = NamedDecoder(
    "GPTNeoX",
    width=size("hidden_size", default=6144),
    heads=size("num_attention_heads", default=64),
    depth=size("num_hidden_layers", default=44),
    vocab=size("vocab_size", default=50432),
    length=size("max_position_embeddings", default=2048),
    inner=s.inner_size("intermediate_size", default=24576),
    norms=s.layer_norms("layer_norm_eps"),
    attention_bias=s.flagged("attention_bias", default=True),
    called={"Block": "GPTNeoXLayer"},
    model={
        "embed_in": s.words,
        "emb_dropout": s.dropout("hidden_dropout"),
        "layers": s.layers,
        "final_layer_norm": s.norm,
        "rotary_emb": s.shown("GPTNeoXRotaryEmbedding"),
    },
    block={
        "input_layernorm": s.norm,
        "post_attention_layernorm": s.norm,
        "post_attention_dropout": s.dropout("hidden_dropout"),
        "post_mlp_dropout": s.dropout("hidden_dropout"),
        "attention": s.attention,
        "mlp": s.mlp,
    },
    attention={
        "query_key_value": s.qkv,
        "dense": s.output,
        "bias": s.mask("BOOL"),
        "masked_bias": lambda _d, _c: Buffer(saved=False),
        "rotary_emb": _frequencies,
    },
    mlp={"dense_h_to_4h": s.up, "dense_4h_to_h": s.down, "act": s.act("hidden_act", "gelu")},
    prefix="gpt_neox",
    tied=False,
)
_CLASSES = _NEOX.classes(labeller="classifier")
_CLASSES["GPTNeoXForCausalLM"] = causal_lm(
    "GPTNeoXForCausalLM", _NEOX.base, prefix="gpt_neox", embedding="embed_in", head="embed_out"
)
_NEOX.register("gpt_neox", _CLASSES, aliases={"lm_head.": "embed_out."})
_PARTS = {
    "gpt_neox": _NEOX.base,
    "out_proj": lambda c: Linear(_NEOX.width(c), 1, component=Component.HEAD, kind="classifier"),
}
_NAME = "GPTNeoXRewardModel"
_SOURCE = "reward_model.py of github.com/LAION-AI/Open-Assistant"
register_part("gpt_neox_reward_model", _NAME, _PARTS, "text decoder", _SOURCE, "gpt_neox")
