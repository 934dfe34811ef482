"""LongT5 (Guo et al. 2021). Source of shapes: transformers/models/longt5/modeling_longt5.py.

T5 whose encoder attends locally, or locally and to averages of blocks (``transient-global``): these
have a norm and a table of positions of their own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm
from . import t5

#: encoder_attention_type -> (class of the layer, attribute and class of the attention).
_KINDS = {
    "local": ("T5LayerLocalSelfAttention", "LocalSelfAttention", "T5LocalAttention"),
    "transient-global": (
        "T5LayerTransientGlobalSelfAttention",
        "TransientGlobalSelfAttention",
        "T5TransientGlobalAttention",
    ),
}


#: The class ties words and head whatever tie_word_embeddings says (configuration_longt5.py).
_SHARED = "shared.weight"


def _encoder_block(c: ModelConfig, *, positions: bool) -> Module:
    kind = c.text("encoder_attention_type", default="local") or "local"
    if kind not in _KINDS:
        raise c.error("encoder_attention_type", kind, " or ".join(_KINDS))
    layer_class, attribute, attention_class = _KINDS[kind]
    block = t5.block(c, decoder=False, positions=positions)
    first = block.inside("layer", "0")
    attention = first.inside("SelfAttention")
    attention.class_name = attention_class
    if kind == "transient-global":
        width = c.dim("d_model", "hidden_size", default=512)
        eps = c.number("layer_norm_epsilon", default=1e-6)
        normed = RMSNorm(width, eps=eps, class_name="T5LayerNorm")
        attention.children["global_input_layer_norm"] = normed
        if positions:
            attention.children["global_relative_attention_bias"] = Embedding(
                c.dim("relative_attention_num_buckets", default=32),
                c.dim("num_heads", "num_attention_heads", default=8),
                component=Component.ATTENTION,
                kind="relative_position",
            )
    rest = {name: child for name, child in first.children.items() if name != "SelfAttention"}
    first.class_name, first.children = layer_class, {attribute: attention, **rest}
    return block


def _stack(c: ModelConfig, *, decoder: bool, tied_to: str, layers: Dim | None = None) -> Module:
    stack = t5.stack(c, decoder=decoder, layers=layers)
    stack.children["embed_tokens"] = t5.table(c, tied_to=tied_to)
    blocks = stack.inside("block")
    count = len(blocks.children)
    if not decoder and count:
        rest = [_encoder_block(c, positions=False)] * (count - 1)
        stack.children["block"] = Layers([_encoder_block(c, positions=True), *rest])
    return stack


def model(c: ModelConfig) -> Module:
    tree = Module(
        "T5Model",
        shared=t5.table(c),
        encoder=_stack(c, decoder=False, tied_to=_SHARED),
        decoder=_stack(c, decoder=True, tied_to=_SHARED),
    )
    return renamed(tree, "T5", "LongT5")


def encoder_model(c: ModelConfig) -> Module:
    decodes = t5.encoder_decodes(c)
    encoder = _stack(c, decoder=decodes, tied_to=_SHARED, layers=t5.encoder_layers(c))
    return renamed(Module("T5EncoderModel", shared=t5.table(c), encoder=encoder), "T5", "LongT5")


def conditional_generation(c: ModelConfig) -> Module:
    width = c.dim("d_model", "hidden_size", default=512)
    vocab = c.dim("vocab_size", default=32128)
    head = to_words(width, vocab, _SHARED)
    return Module("LongT5ForConditionalGeneration", {**model(c).children, "lm_head": head})


register(
    "longt5",
    {
        "LongT5ForConditionalGeneration": conditional_generation,
        "LongT5Model": model,
        "LongT5EncoderModel": encoder_model,
    },
    category="encoder-decoder",
)
