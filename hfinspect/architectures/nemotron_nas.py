"""Llama-Nemotron by architecture search (Bercovich et al. 2024) and DeciLM; NeMo-Automodel and
llama.cpp read the same names. ``block_configs`` says for each layer how many query heads share a
key head and how wide the MLP is, or that either is one matrix or left out with its norm."""

from ..core.config import MAX_DIM
from ..layers.blocks import Heads, gated_mlp, grouped_attention
from ..layers.composing import changed, renamed
from ..layers.decoders import Decoder
from ..layers.vision import ratio_of
from ..trees import Component, Dim, Linear, ModelConfig, Module, named
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig, heads: Heads) -> Module:
    bias = c.flag("attention_bias", default=False)
    return grouped_attention("DeciLMAttention", d.width(c), heads, bias=bias)


def _left(d: Decoder, c: ModelConfig, block: ModelConfig, part: str) -> Module | None:
    """What the search left of ``attention`` or ``mlp``: nothing, one matrix, or all of it."""
    if block.flag("no_op", default=False):
        return None
    h = d.width(c)
    attends = part == "attention"
    if block.flag("replace_with_linear", default=False):
        name, at = ("Attention", "linear_attn") if attends else ("MLP", "linear_mlp")
        matrix = Linear(h, h, bias=c.flag(f"{part}_bias", default=False))
        return Module(f"DeciLMLinear{name}", {at: matrix}, component=Component(part))
    if attends:
        query = d.size(c, "num_attention_heads")
        group = block.dim("n_heads_in_group")
        kv = block.divided(query, group, "num_attention_heads", "n_heads_in_group")
        return _attention(d, c, Heads(query, kv, c.dim("head_dim", default=h // query)))
    inner = block.optional_dim("intermediate_size")
    if inner is None:
        ratio = ratio_of(block, "ffn_mult", default=0.0)
        wide = -(-int(2 * ratio * int(h) / 3) // 256) * 256  # as the model's own code rounds
        definition = f"2/3 · {ratio:g} · hidden_size, rounded up to a multiple of 256"
        inner = named(min(wide, MAX_DIM), f"intermediate_size({ratio:g})", definition)
    return gated_mlp("DeciLMMLP", h, inner, bias=c.flag("mlp_bias", default=False), act=d.act(c))


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[Dim | int | None]:
    """DeciLM: as many key heads as the list says for each layer, None for all alike. Else where
    the layer's like stands first among the blocks."""
    if c.has("block_configs"):
        blocks = c.raw("block_configs")
        if not isinstance(blocks, list) or len(blocks) != layers:
            raise c.error("block_configs", type(blocks).__name__, f"a list of {layers} objects")
        for i, entry in enumerate(blocks):
            if not isinstance(entry, dict):
                raise c.error(f"block_configs[{i}]", entry, "an object")
        texts = [*map(repr, blocks)]
        return [*map(texts.index, texts)]
    if not c.has("num_key_value_heads_per_layer"):
        return [None] * layers
    groups = c.dims("num_key_value_heads_per_layer", count=layers)
    return [groups[groups.index(kv)] for kv in groups]


def _layer(d: Decoder, c: ModelConfig, kind: Dim | int | None) -> Module:
    if c.has("block_configs"):
        block = ModelConfig(c.raw("block_configs")[kind], f"{c.path}block_configs[{kind}].")
        attention = _left(d, c, block.section("attention"), "attention")
        mlp = _left(d, c, block.section("ffn"), "mlp")
    else:
        query = d.size(c, "num_attention_heads")
        heads = Heads(query, kind, d.width(c) // query) if isinstance(kind, Dim) else d.heads(c)
        attention = _attention(d, c, heads)
        mlp = d.mlp(d, c)
    return Module(
        "DeciLMDecoderLayer",
        input_layernorm=d.norm(d, c, d.width(c)) if attention else None,
        self_attn=attention,
        post_attention_layernorm=d.norm(d, c, d.width(c)) if mlp else None,
        mlp=mlp,
    )


_DECI = LLAMA.like("DeciLM", kinds=_kinds, layer=_layer)
_DECI.register(
    ("nemotron-nas", "deci"),
    more=changed(_DECI.classes(), lambda _, root: renamed(root, "DeciLMRotary", "LlamaRotary")),
    source="modeling_decilm.py of nvidia/Llama-3_3-Nemotron-Super-49B-v1 and Deci/DeciLM-7B",
)
