"""MiMo-V2-Flash (Xiaomi 2025; transformers/models/mimo_v2_flash); names of files:
conversion_mapping.py. Files on the Hub hold three more layers, ``model.mtp``, which transformers
drops: SGLang, srt/models/mimo_v2_nextn.py, and sglang-jax's mimo_v2_flash_nextn.py."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, joined_layer, mixed, mixing, says
from ..layers.layer_kinds import mlps, side_by_side, words
from ..layers.windows import windows
from ..trees import Component, Layers, Linear, ModelConfig, Module, Weight, WindowsOf


def _attention(d: Decoder, c: ModelConfig, kind: object) -> Module:
    h = d.width(c)
    bias = c.flag("attention_bias", default=False)
    slides = says(kind, "sliding_attention")
    heads = d.size(c, "num_attention_heads")
    groups = c.dim("num_key_value_heads", default=4)
    kv = groups * 2 if slides else groups
    dim = c.dim("head_dim", default=192)
    value = c.dim("v_head_dim", default=128)
    return Module(
        "MiMoV2FlashAttention",
        q_proj=Linear(h, heads * dim, bias=bias, kind="query"),
        k_proj=Linear(h, kv * dim, bias=bias, kind="key"),
        v_proj=Linear(h, kv * value, bias=bias, kind="value"),
        o_proj=Linear(heads * value, h, bias=False, kind="output"),
        attention_sink_bias=Weight(heads, kind="sink") if slides else None,
        component=Component.ATTENTION,
    )


def _predictor(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    """Three layers unless the config says otherwise; the Hub's does not mention them."""
    count = int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=3))
    if not count:
        return {}
    slides = _attention(d, c, "sliding_attention")
    row = mixed(d, c, slides, "dense", post_attention_layernorm="pre_mlp_layernorm")
    rows = Layers([joined_layer(d, c, row, "MiMoV2MTPLayer")] * count)
    return {"mtp": Module("MiMoV2MTP", layers=rows, part="mtp", kind="mtp", saved=False)}


def _windows(c: ModelConfig) -> WindowsOf:
    """``sliding_window_size`` counts the tokens before the query's own, and goes before
    ``sliding_window``, which counts that one too (configuration_mimo_v2_flash.py)."""
    before = c.has("sliding_window_size")
    key = "sliding_window_size" if before else "sliding_window"
    of = windows(c, 129, lambda i, _: not i or i % 6 == 5, key=key)
    if not before:
        return of
    return lambda layers: tuple(size and size + 1 for size in of(layers))


Decoder(
    "MiMoV2Flash",
    attention_bias=None,
    rotary=False,
    tasks=(),
    further=_predictor,
    kinds=side_by_side(
        words(lambda _c, i: "sliding_attention" if i and (i + 1) % 6 else "full_attention"), mlps()
    ),
    moe=m.sparse(
        "MoE",
        m.DEEPSEEK,
        used=8,
        inner=2048,
        count=m.counts("n_routed_experts", "num_local_experts", default=256),
    ),
    layer=mixing(_attention),
    windows=_windows,
).register("mimo_v2_flash")
