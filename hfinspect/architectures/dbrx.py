"""DBRX (Databricks 2024; transformers/models/dbrx). The experts' three matrices lie below one
another in tensors of n·I rows. (transformers cannot build it without a rope_theta: no default is
recorded.)"""

from ..layers import named_decoder as s
from ..layers.blocks import activation, size
from ..layers.named_decoder import NamedDecoder, NamedPart
from ..trees import Component, LayerNorm, Linear, ModelConfig, Module, Weight


def _ffn(d: NamedDecoder, c: ModelConfig) -> Module:
    f = c.section("ffn_config")
    wide = d.width(c.fields)  # the config class hands it on before it takes aliases into account
    count = f.count("moe_num_experts", default=4, minimum=1)
    rows = count * f.dim("ffn_hidden_size", default=3584)
    per_token = f.dim("moe_top_k", default=1)
    key = "ffn_act_fn"
    act = f.raw("ffn_act_fn")
    if not isinstance(act, str):  # older configs give the name alone
        act = f.section(key).text("name", default="silu")
    gate = Linear(wide, count, bias=False)
    matrix = Weight(rows, wide)
    return Module(
        "DbrxFFN",
        router=Module("DbrxRouter", layer=gate, component=Component.ROUTER),
        experts=Module(
            "DbrxExperts",
            mlp=Module(
                "DbrxExpertGLU", w1=matrix, v1=matrix, w2=matrix, activation_fn=activation(act)
            ),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        component=Component.MLP,
    )


_NORMED: dict[str, NamedPart] = {"norm_1": s.norm, "attn": s.attention, "norm_2": s.norm}
_DBRX = NamedDecoder(
    "Dbrx",
    width=size("d_model", "hidden_size", default=2048),
    heads=size("n_heads", "num_attention_heads", default=16),
    depth=size("n_layers", "num_hidden_layers", default=24),
    vocab=size("vocab_size", default=32000),
    norms=lambda _c, width: LayerNorm(width, bias=False),
    joined=lambda d, c: (
        d.width(c)
        + 2 * c.section("attn_config").dim("kv_n_heads", default=1) * (d.width(c) // d.heads(c))
    ),
    bias=s.never,
    model={"wte": s.words, "blocks": s.layers, "norm_f": s.norm},
    block={"norm_attn_norm": lambda d, c: d.of(c, "NormAttentionNorm", _NORMED), "ffn": _ffn},
    attention={"Wqkv": s.qkv, "out_proj": s.output},
    tied=False,
)
_DBRX.register("dbrx", _DBRX.classes(heads=()))
