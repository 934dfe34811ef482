"""CANINE (Clark et al. 2021). Source of shapes: transformers/models/canine/modeling_canine.py.

No vocabulary: each character is hashed several times into small tables.  One layer at full length,
a strided convolution, BERT's layers, and a convolution and a layer back at full length.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.bert_encoders import Encoder
from ..layers.encoders import BASE, dropout, hidden, norm
from ..trees.modules import Activation, Buffer, Conv, Embedding, Layers, Module


def _embeddings(_e: Encoder, c: ModelConfig) -> Module:
    h, hashes = hidden(c), c.count("num_hash_functions", default=8)
    buckets = c.dim("num_hash_buckets", default=16384)
    size = c.divided(h, hashes, "hidden_size", "num_hash_functions")
    tables = {
        f"HashBucketCodepointEmbedder_{i}": Embedding(buckets, size) for i in range(int(hashes))
    }
    return Module(
        "CanineEmbeddings",
        dict(tables),
        char_position_embeddings=Embedding(buckets, h, kind="position"),
        token_type_embeddings=Embedding(c.dim("type_vocab_size"), h, kind="segment"),
        LayerNorm=norm(c),
        dropout=dropout(c),
        position_ids=Buffer(1, c.dim("max_position_embeddings"), dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def _convolution(c: ModelConfig, name: str, inputs: int, key: str) -> Module:
    conv = Conv(inputs, hidden(c), c.dim(key, default=4), dims=1)
    parts = {"conv": conv, "activation": Activation("GELUActivation"), "LayerNorm": norm(c)}
    return Module(name, parts, component=Component.CONV)


def _model(e: Encoder, c: ModelConfig) -> Module:
    h, block = hidden(c), e.layer(e, c)
    shallow = Module("CanineEncoder", layer=Layers([block]))
    return Module(
        "CanineModel",
        char_embeddings=e.embeddings(e, c),
        initial_char_encoder=shallow,
        chars_to_molecules=_convolution(c, "CharactersToMolecules", h, "downsampling_rate"),
        encoder=encoders.encoder(c, e.name, block),
        projection=_convolution(c, "ConvProjection", h * 2, "upsampling_kernel_size"),
        final_char_encoder=shallow,
        pooler=encoders.pooler(c, e.name),
    )


_DEFAULTS = {**BASE, "max_position_embeddings": 16384, "type_vocab_size": 16}
Encoder(
    "Canine", "canine", _DEFAULTS, embeddings=_embeddings, whole=_model, lacks=("ForMaskedLM",)
).register("canine")
