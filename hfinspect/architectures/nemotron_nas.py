"""Llama-Nemotron by architecture search (Bercovich et al. 2024) and DeciLM. No class in
transformers. Source of shapes: modeling_decilm.py in nvidia/Llama-3_3-Nemotron-Super-49B-v1 and
Deci/DeciLM-7B; NeMo-Automodel and llama.cpp read the same names and round alike.

Llama's block, different in every layer: ``block_configs`` says for each how many query heads share
a key head and how wide the MLP is, or that either is left out with its norm, or is one matrix.
DeciLM says num_key_value_heads_per_layer instead.
"""

from ..core.components import Component
from ..core.config import MAX_DIM, ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import Heads, gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm

#: MLPs are rounded up to whole multiples of this (the model's own code).
_MULTIPLE = 256
#: A hundred times any real ratio of MLP to hidden size.
_MAX_RATIO = 1000.0


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="DeciLMRMSNorm")


def _attention(c: ModelConfig, heads: Heads) -> Module:
    bias = c.flag("attention_bias", default=False)
    return grouped_attention("DeciLMAttention", _hidden(c), heads, bias=bias)


def _mlp(c: ModelConfig, inner: Dim) -> Module:
    return gated_mlp(
        "DeciLMMLP", _hidden(c), inner, bias=c.flag("mlp_bias", default=False),
        act=c.text("hidden_act", default="silu"),
    )  # fmt: skip


def _layer(c: ModelConfig, attention: Module | None, mlp: Module | None) -> Module:
    return Module(
        "DeciLMDecoderLayer",
        input_layernorm=_norm(c) if attention else None,
        self_attn=attention,
        post_attention_layernorm=_norm(c) if mlp else None,
        mlp=mlp,
    )


def _searched_attention(c: ModelConfig, block: ModelConfig) -> Module | None:
    h = _hidden(c)
    if block.flag("no_op", default=False):
        return None
    if block.flag("replace_with_linear", default=False):
        matrix = Linear(h, h, bias=c.flag("attention_bias", default=False))
        return Module("DeciLMLinearAttention", linear_attn=matrix, component=Component.ATTENTION)
    query = c.dim("num_attention_heads", default=32)
    group = block.dim("n_heads_in_group")
    kv = block.divided(query, group, "num_attention_heads", "n_heads_in_group")
    return _attention(c, Heads(query, kv, c.dim("head_dim", default=h // query)))


def _searched_mlp(c: ModelConfig, block: ModelConfig) -> Module | None:
    h = _hidden(c)
    if block.flag("no_op", default=False):
        return None
    if block.flag("replace_with_linear", default=False):
        matrix = Linear(h, h, bias=c.flag("mlp_bias", default=False))
        return Module("DeciLMLinearMLP", linear_mlp=matrix, component=Component.MLP)
    if block.has("intermediate_size"):
        return _mlp(c, block.dim("intermediate_size"))
    ratio = block.number("ffn_mult", default=0.0)
    if not 0 < ratio <= _MAX_RATIO:
        raise block.error("ffn_mult", block.raw("ffn_mult"), f"above 0, at most {_MAX_RATIO:g}")
    inner = -(-int(2 * ratio * int(h) / 3) // _MULTIPLE) * _MULTIPLE
    definition = f"2/3 · {ratio:g} · hidden_size, rounded up to a multiple of {_MULTIPLE}"
    return _mlp(c, named(min(inner, MAX_DIM), f"intermediate_size({ratio:g})", definition))


def _searched(c: ModelConfig, count: int) -> list[Module]:
    blocks = c.raw("block_configs")
    if not isinstance(blocks, list) or len(blocks) != count:
        raise c.error("block_configs", type(blocks).__name__, f"a list of {count} objects")
    known: dict[str, Module] = {}
    layers = []
    for i, entry in enumerate(blocks):
        if not isinstance(entry, dict):
            raise c.error(f"block_configs[{i}]", entry, "an object")
        key = repr(entry)
        if key not in known:
            block = ModelConfig(entry, f"{c.path}block_configs[{i}].")
            known[key] = _layer(
                c,
                _searched_attention(c, block.section("attention")),
                _searched_mlp(c, block.section("ffn")),
            )
        layers.append(known[key])
    return layers


def _listed(c: ModelConfig, count: int) -> list[Module]:
    """DeciLM: as many key heads as the list says for each layer."""
    h, inner = _hidden(c), c.dim("intermediate_size", default=11008)
    if not c.has("num_key_value_heads_per_layer"):
        return [_layer(c, _attention(c, grouped_heads(c, h, heads=32)), _mlp(c, inner))] * count
    groups = c.dims("num_key_value_heads_per_layer")
    if len(groups) != count:
        expected = f"one entry for each of {count} layers"
        raise c.error("num_key_value_heads_per_layer", f"{len(groups)} entries", expected)
    query = c.dim("num_attention_heads", default=32)
    known = {
        int(kv): _layer(c, _attention(c, Heads(query, kv, h // query)), _mlp(c, inner))
        for kv in groups
    }
    return [known[int(kv)] for kv in groups]


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=32))
    return Module(
        "DeciLMModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers(_searched(c, count) if c.has("block_configs") else _listed(c, count)),
        norm=_norm(c),
        rotary_emb=Activation("LlamaRotaryEmbedding"),
    )


register(
    ("nemotron-nas", "deci"),
    decoder_classes("DeciLM", model, hidden=_hidden, qa_prefix="transformer"),
    base="DeciLMModel",
    base_prefix="model",
    category="text decoder",
    source="modeling_decilm.py of nvidia/Llama-3_3-Nemotron-Super-49B-v1 and Deci/DeciLM-7B",
)
