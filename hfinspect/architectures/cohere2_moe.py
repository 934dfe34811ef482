"""Cohere 2 with experts (transformers/models/cohere2_moe). Attention and MLP side by side on one
norm: a layer norm without bias, or an RMS norm where ``rms_norm_eps`` is given."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, gated_of
from ..layers.layer_kinds import words
from ..layers.windows import windows
from ..trees import Component, ModelConfig, Module, Weight, WindowsOf
from .cohere import parallel


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    kind = "RMSNorm" if c.has("rms_norm_eps") else "LayerNorm"
    return Module(f"Cohere2Moe{kind}", weight=Weight(size), component=Component.NORM)


def _windows(c: ModelConfig) -> WindowsOf:
    """The dense layers at the beginning have a rhythm of their own."""
    first = int(c.count("first_k_dense_replace", default=0))
    prefix = int(c.dim("prefix_dense_sliding_window_pattern", default=1))
    step = int(c.dim("sliding_window_pattern", default=4))
    return windows(
        c, 4096, lambda i, _: not ((i + 1) % prefix if i < first else (i - first + 1) % step)
    )


Decoder(
    "Cohere2Moe",
    tasks=(),
    norm=_norm,
    windows=_windows,
    layer=lambda d, c, kind: parallel(d, c, "dense" if kind == "dense" else "sparse"),
    kinds=words(
        lambda c, i: "dense" if i < c.count("first_k_dense_replace", default=0) else "sparse",
        key="mlp_layer_types",
    ),
    mlp=lambda d, c: gated_of(d, c, c.dim("prefix_dense_intermediate_size", default=d.inner(c))),
    moe=m.sparse(
        "SparseMoeBlock",
        {"gate": m.scores(), "experts": m.each, "shared_experts": m.always},
        count=m.counts("num_experts", default=8, minimum=1),
        used=m.counts("num_experts_per_tok", default=2),
        shared=m.several("num_shared_experts", default=0),
    ),
).register("cohere2_moe")
