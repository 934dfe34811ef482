"""The modules of sentence-transformers that are no transformer: what stands after one, or in its
place. Source of shapes: the classes of ``sentence_transformers/*/modules``.

Which class a folder is, modules.json and router_config.json say by the class's dotted name; its
sizes are in the folder's own config.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.catalog import Family
from ..trees.modules import (
    Buffer,
    Conv,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    ModuleList,
    Parameter,
    Weight,
)

#: Libraries whose classes of these names are these modules.
LIBRARIES: Final = ("sentence_transformers", "pylate")

#: Classes that read an ordinary transformer, whose config.json says what it is.
TRANSFORMERS: Final = frozenset({"Transformer", "MLMTransformer", "CLIPModel", "ColBERT"})

#: Classes without a weight.
WEIGHTLESS: Final = frozenset(
    """BoW Dropout HierarchicalTokenPooling LambdaTokenPooling LogitScore MultiVectorMask Normalize
    Pooling SpladePooling""".split()
)

#: Classes that send their input one of several ways; their modules lie in folders below.
ROUTERS: Final = frozenset({"Asym", "Router"})

#: Classes whose size is that of their tokenizer: only the weights themselves say it.
SIZED_BY_TOKENIZER: Final = frozenset(
    {"SparseStaticEmbedding", "StaticEmbedding", "WordEmbeddings"}
)

#: Name of a module's config where it is not config.json.
CONFIG_FILES: Final[Mapping[str, str]] = {
    "CNN": "cnn_config.json",
    "LSTM": "lstm_config.json",
    "Router": "router_config.json",
    "WordEmbeddings": "wordembedding_config.json",
}


def dense(c: ModelConfig) -> Module:
    """A linear layer; with ``use_residual`` a second one where the widths differ."""
    inner = c.dim("in_features")
    outer = c.dim("out_features")
    residual = c.flag("use_residual", default=False) and inner != outer
    return Module(
        "Dense",
        linear=Linear(inner, outer, c.flag("bias", default=True)),
        residual=Linear(inner, outer, False) if residual else None,
        component=Component.PROJECTOR,
    )


def cnn(c: ModelConfig) -> Module:
    """Convolutions of several widths side by side."""
    width = c.dim("in_embedding_dimension", "in_word_embedding_dimension")
    out = c.dim("out_channels", default=256)
    kernels = c.dims("kernel_sizes", default=(1, 3, 5))
    return Module("CNN", convs=ModuleList([Conv(width, out, (k,), dims=1) for k in kernels]))


def lstm(c: ModelConfig) -> Module:
    """torch.nn.LSTM: four gates; from the second layer on its input is what the one below says."""
    width = c.dim("embedding_dimension", "word_embedding_dimension")
    hidden = c.dim("hidden_dim")
    ways = ("", "_reverse") if c.flag("bidirectional", default=True) else ("",)
    tensors: dict[str, Module | Parameter | None] = {}
    for layer in range(c.count("num_layers", default=1)):
        below = width if layer == 0 else hidden * len(ways)
        for way in ways:
            tensors[f"weight_ih_l{layer}{way}"] = Weight(4 * hidden, below)
            tensors[f"weight_hh_l{layer}{way}"] = Weight(4 * hidden, hidden)
            tensors[f"bias_ih_l{layer}{way}"] = Weight(4 * hidden)
            tensors[f"bias_hh_l{layer}{way}"] = Weight(4 * hidden)
    return Module("LSTM", encoder=Module("LSTM", tensors), component=Component.OTHER)


def layer_norm(c: ModelConfig) -> Module:
    """torch.nn.LayerNorm over the embedding: weight and bias of (dimension,)."""
    return Module("LayerNorm", norm=LayerNorm(c.dim("dimension")))


def layer_weights(c: ModelConfig) -> Module:
    """One weight for each layer whose output is taken, the embedding's counted as a layer."""
    layers = c.dim("num_hidden_layers", default=12) + 1
    first = c.dim("layer_start", default=4, minimum=0)
    if first >= layers:
        raise c.error("layer_start", int(first), f"below {int(layers)}")
    return Module(
        "WeightedLayerPooling", layer_weights=Weight(layers - first), component=Component.HEAD
    )


def word_weights(c: ModelConfig) -> Module:
    """One number for each word of the vocabulary, which stands in the config."""
    words = c.raw("vocab")
    if not isinstance(words, list) or not words:
        raise c.error("vocab", words, "a list of words")
    size = Dim(len(words), "vocab", definition="number of words in vocab")
    return Module("WordWeights", emb_layer=Embedding(size, 1))


def sparse_auto_encoder(c: ModelConfig) -> Module:
    """One linear layer, used both ways; when each unit was last used is a statistic.

    Files hold the layer under its second name, since that comes first in the alphabet.
    """
    width = c.dim("input_dim")
    units = c.dim("hidden_dim", default=512)
    return Module(
        "SparseAutoEncoder",
        pre_bias=Weight(width),
        latent_bias=Weight(units),
        decoder=Module("TiedTranspose", linear=Linear(width, units, False)),
        stats_last_nonzero=Buffer(units, dtype="I64"),
        component=Component.PROJECTOR,
    )


_BUILDERS: Final[Mapping[str, Callable[[ModelConfig], Module]]] = {
    "CNN": cnn,
    "Dense": dense,
    "LSTM": lstm,
    "LayerNorm": layer_norm,
    "SparseAutoEncoder": sparse_auto_encoder,
    "WeightedLayerPooling": layer_weights,
    "WordWeights": word_weights,
}

#: These modules as a family: none of them is found by a model_type or by a class's bare name.
FAMILY: Final = Family(
    (), _BUILDERS, category="sentence-transformers", source="sentence_transformers"
)


def own_class(declared: str | None) -> str | None:
    """The bare name of a class of these libraries, None for one of another library."""
    library, _, rest = (declared or "").partition(".")
    return rest.rpartition(".")[2] if library in LIBRARIES else None
