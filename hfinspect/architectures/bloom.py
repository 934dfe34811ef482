"""BLOOM (Le Scao et al. 2022; transformers/models/bloom). A norm after the embedding; ALiBi
positions have no tensors."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.named_decoder import NamedDecoder

_BLOOM = NamedDecoder(
    "Bloom",
    width=size("n_embed", "hidden_size", default=64),
    heads=size("n_head", "num_attention_heads", default=8),
    depth=size("n_layer", "num_hidden_layers", default=2),
    vocab=size("vocab_size", default=250880),
    inner=s.times(4),
    block=s.MEGATRON,
    model={
        "word_embeddings": s.words,
        "word_embeddings_layernorm": s.norm,
        "h": s.layers,
        "ln_f": s.norm,
    },
    attention={
        "query_key_value": s.qkv,
        "dense": s.output,
        "attention_dropout": s.dropout("attention_dropout"),
    },
    mlp={"dense_h_to_4h": s.up, "gelu_impl": s.shown("BloomGelu"), "dense_4h_to_h": s.down},
)
_BLOOM.register("bloom", _BLOOM.classes(labeller="classifier"))
