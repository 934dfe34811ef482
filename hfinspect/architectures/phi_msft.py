"""Phi-1, Phi-1.5 and Phi-2 under their first classes (Microsoft 2023); transformers'
models/phi/convert_phi_weights_to_hf.py reads the same names."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.composing import composed
from ..layers.heads import to_words
from ..trees import Buffer, Dim, Embedding, Layers, ModelConfig, Module, named, register_part


def _vocab(c: ModelConfig) -> Dim:
    """Rounded up by the config class: 50304 and 51200 already are."""
    vocab = c.dim("vocab_size", default=50304)
    step = int(c.dim("pad_vocab_size_multiple", default=64))
    meaning = f"vocab_size rounded up to a multiple of {step}"
    size = -(-int(vocab) // step) * step
    return vocab if size == vocab else named(size, "padded_vocab", meaning)


def _rotary(_d: s.NamedDecoder, c: ModelConfig) -> Module:
    frequencies = Buffer(c.dim("rotary_dim", default=32) // 2, dtype="F32", saved=False)
    return Module("RotaryEmbedding", inv_freq=frequencies)


def _embedding(d: s.NamedDecoder, c: ModelConfig) -> Module:
    table = Embedding(_vocab(c), d.width(c))
    return Module("Embedding", wte=table, drop=s.dropout("embd_pdrop")(d, c))


def _head(c: ModelConfig, table: str) -> Module:
    """A norm and the output projection, which has a bias; tied only where the config says so."""
    tied_to = table if c.tied(default=False) else None
    linear = to_words(_PHI.width(c), _vocab(c), tied_to, bias=True)
    return Module("CausalLMHead", ln=s.norm(_PHI, c), linear=linear)


_PHI = s.NamedDecoder(
    "Phi",
    width=size("n_embd", "hidden_size", default=1024),
    heads=size("n_head", "num_attention_heads", default=16),
    depth=size("n_layer", "num_hidden_layers", default=20),
    joined=lambda d, c: (d.heads(c) + 2 * c.dim("n_head_kv", default=d.heads(c))) * d.head(c),
    called={"Block": "ParallelBlock", "Attention": "MHA", "MLP": "MLP"},
    model={"embd": _embedding, "h": s.layers},
    block={
        "ln": s.norm,
        "resid_dropout": s.dropout("resid_pdrop"),
        "mixer": s.attention,
        "mlp": s.mlp,
    },
    attention={"rotary_emb": _rotary, "Wqkv": s.qkv, "out_proj": s.output},
    mlp={"fc1": s.up, "fc2": s.down, "act": s.act("activation_function", "gelu_new")},
)


def _rows(c: ModelConfig) -> Layers:
    """0 is the embedding, then the blocks, and the head."""
    blocks = [_PHI.of(c, "Block", _PHI.block)] * int(c.count(*_PHI.depth.keys, default=20))
    rows = [_embedding(_PHI, c), *blocks, _head(c, "layers.0.wte.weight")]
    return Layers(rows, class_name="Sequential")


_CAUSAL = {"transformer": _PHI.base, "lm_head": lambda c: _head(c, "transformer.embd.wte.weight")}
_SOURCE = "modeling_mixformer_sequential.py of microsoft/phi-1_5 (2023); checked against Phi"
_SEQUENTIAL = "MixFormerSequentialForCausalLM"
register_part("mixformer-sequential", _SEQUENTIAL, {"layers": _rows}, "text decoder", _SOURCE)
_PHI.register(
    "phi-msft",
    composed({"PhiForCausalLM": _CAUSAL, "PhiModel": _PHI.base}),
    source="modeling_phi.py of microsoft/phi-2 (2023); checked against transformers' Phi",
)
