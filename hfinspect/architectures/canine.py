"""CANINE (Clark et al. 2021). Source of shapes: transformers/models/canine/modeling_canine.py.

No vocabulary: each character is hashed several times into small tables.  One layer at full length,
a strided convolution, BERT's layers, and a convolution and a layer back at full length.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, dropout, hidden, norm, usual_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Buffer, Conv, Embedding, Layers, Module

_NAME = "Canine"
_DEFAULTS = {
    **{key: value for key, value in BASE.items() if key != "vocab_size"},
    "max_position_embeddings": 16384, "type_vocab_size": 16, "downsampling_rate": 4,
    "upsampling_kernel_size": 4, "num_hash_functions": 8, "num_hash_buckets": 16384,
}  # fmt: skip


def embeddings(c: ModelConfig) -> Module:
    h, hashes, buckets = hidden(c), c.count("num_hash_functions"), c.dim("num_hash_buckets")
    size = c.divided(h, hashes, "hidden_size", "num_hash_functions")
    tables = {
        f"HashBucketCodepointEmbedder_{i}": Embedding(buckets, size) for i in range(int(hashes))
    }
    return Module(
        "CanineEmbeddings",
        {
            **tables,
            "char_position_embeddings": Embedding(buckets, h, kind="position"),
            "token_type_embeddings": Embedding(c.dim("type_vocab_size"), h, kind="segment"),
            "LayerNorm": norm(c),
            "dropout": dropout(c),
            "position_ids": Buffer(1, c.dim("max_position_embeddings"), dtype="I64", saved=False),
        },
        component=Component.EMBEDDING,
    )


def _convolution(c: ModelConfig, name: str, inputs: int, key: str) -> Module:
    return Module(
        name,
        conv=Conv(inputs, hidden(c), c.dim(key), dims=1),
        activation=Activation("GELUActivation"),
        LayerNorm=norm(c),
        component=Component.CONV,
    )


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    block = encoders.layer(c, _NAME)
    shallow = Module("CanineEncoder", layer=Layers([block]))
    return Module(
        "CanineModel",
        char_embeddings=embeddings(c),
        initial_char_encoder=shallow,
        chars_to_molecules=_convolution(c, "CharactersToMolecules", hidden(c), "downsampling_rate"),
        encoder=encoders.encoder(c, _NAME, block),
        projection=_convolution(c, "ConvProjection", hidden(c) * 2, "upsampling_kernel_size"),
        final_char_encoder=shallow,
        pooler=encoders.pooler(c, _NAME) if pooling else None,
    )


register(
    "canine",
    with_defaults(_DEFAULTS, usual_classes(_NAME, "canine", model)),
    base_prefix="canine",
    category="encoder",
)
