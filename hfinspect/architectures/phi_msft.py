"""Phi-1, Phi-1.5 and Phi-2 under their first classes (Microsoft 2023). No classes in transformers.
Source of shapes: modeling_mixformer_sequential.py in microsoft/phi-1_5 and modeling_phi.py in
microsoft/phi-2 as of 2023; the names are also those that transformers'
models/phi/convert_phi_weights_to_hf.py reads.

The tensors of today's Phi with q, k and v in one matrix.  The first spelling is one long
``layers``: the embedding, the blocks, the head.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation, size
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import (
    Buffer,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
)  # fmt: skip

_hidden = size("n_embd", "hidden_size", default=1024)


def _vocab(c: ModelConfig) -> Dim:
    """Rounded up by the config class: 50304 and 51200 already are."""
    vocab = c.dim("vocab_size", default=50304)
    step = c.dim("pad_vocab_size_multiple", default=64)
    if vocab % step == 0:
        return vocab
    size = -(-int(vocab) // int(step)) * int(step)
    return named(size, "padded_vocab", f"vocab_size rounded up to a multiple of {int(step)}")


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_epsilon", default=1e-5)


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = c.dim("n_head", "num_attention_heads", default=16)
    head = c.divided(h, heads, "n_embd", "n_head")
    kv = c.dim("n_head_kv", default=heads)
    inner = c.dim("n_inner", default=4 * h)
    rotated = c.dim("rotary_dim", default=32)
    return Module(
        "ParallelBlock",
        ln=LayerNorm(h, eps=_eps(c)),
        resid_dropout=Dropout(c.number("resid_pdrop", default=0.0)),
        mixer=Module(
            "MHA",
            rotary_emb=Module(
                "RotaryEmbedding", inv_freq=Buffer(rotated // 2, dtype="F32", saved=False)
            ),
            Wqkv=Linear(h, head * (heads + 2 * kv), kind="qkv"),
            out_proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "MLP",
            fc1=Linear(h, inner, kind="up"),
            fc2=Linear(inner, h, kind="down"),
            act=activation(c.text("activation_function", default="gelu_new")),
            component=Component.MLP,
        ),
    )


def _layers(c: ModelConfig) -> Dim:
    return c.count("n_layer", "num_hidden_layers", default=20)


def _embedding(c: ModelConfig) -> Module:
    drop = Dropout(c.number("embd_pdrop", default=0.0))
    return Module("Embedding", wte=Embedding(_vocab(c), _hidden(c)), drop=drop)


def _head(c: ModelConfig, table: str) -> Module:
    """A norm and the output projection, which has a bias; tied only where the config says so."""
    tied = c.tied(default=False)
    weight = Parameter((_vocab(c), _hidden(c)), tied_to=table if tied else None)
    linear = to_words(_hidden(c), _vocab(c), bias=True)
    linear.children["weight"] = weight
    return Module("CausalLMHead", ln=LayerNorm(_hidden(c), eps=_eps(c)), linear=linear)


def sequential(c: ModelConfig) -> Module:
    """``layers``: 0 is the embedding, then the blocks, and the head."""
    count = int(_layers(c))
    rows = [_embedding(c), *[block(c)] * count, _head(c, "layers.0.wte.weight")]
    return Module(
        "MixFormerSequentialForCausalLM", layers=Layers(rows, class_name="Sequential")
    )  # fmt: skip


def model(c: ModelConfig) -> Module:
    return Module("PhiModel", embd=_embedding(c), h=Layers.of(_layers(c), block(c)))


def causal_lm(c: ModelConfig) -> Module:
    head = _head(c, "transformer.embd.wte.weight")
    return Module("PhiForCausalLM", transformer=model(c), lm_head=head)


register(
    "mixformer-sequential",
    {"MixFormerSequentialForCausalLM": sequential},
    category="text decoder",
    source="modeling_mixformer_sequential.py of microsoft/phi-1_5 (2023); checked against Phi",
)
register(
    "phi-msft",
    {"PhiForCausalLM": causal_lm, "PhiModel": model},
    base_prefix="transformer",
    category="text decoder",
    source="modeling_phi.py of microsoft/phi-2 (2023); checked against transformers' Phi",
)
