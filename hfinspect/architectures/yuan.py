"""Yuan 2.0 (Wu et al. 2023): queries and keys see the two tokens before, through two convolutions;
or one matrix makes both. The same code stands in PaddleNLP and vLLM ports."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..trees import Component, Conv, Linear, ModelConfig, Module, Parameter, Weight


def _attention(d: Decoder, c: ModelConfig) -> Module:
    if c.has("moe_config"):
        raise c.uncatalogued("a yuan config with moe_config (Yuan2-M32)")
    h = d.width(c)
    size = c.dim("attention_projection_size", default=h)
    heads = d.size(c, "num_attention_heads")
    width = heads * c.divided(size, heads, "hidden_size", "num_attention_heads")
    query, key = (Linear(h, width, bias=False, kind=kind) for kind in ("query", "key"))
    first: dict[str, Module | Parameter] = {}
    if c.flag("use_shareqk", default=False):
        first = {"qk_weight": Weight(2, h, kind="scale"), "qk_bias": Weight(2, h)}
        last = {"qk_proj": query}
    else:
        convs = {"conv1": Conv(h, h // 2, (2, 1)), "conv2": Conv(h // 2, h, (2, 1))}
        local = Module("LocalizedFiltering", dict(convs), output_layernorm=d.norm(d, c, h))
        last = {"lf_gate": local, "q_proj": query, "k_proj": key}
    value = Linear(h, width, bias=False, kind="value")
    parts = {**first, "v_proj": value, "o_proj": Linear(width, h, bias=False, kind="output")}
    return Module("YuanAttention", {**parts, **last}, component=Component.ATTENTION)


Decoder(
    "Yuan", tie_word_embeddings=True, rotary=False, tasks=SEQUENCE_HEAD, attention=_attention
).register("yuan", source="yuan_hf_model.py of IEITYuan/Yuan2-2B-hf")
