"""ESM-1b and ESM-2 (Rives et al. 2019, Lin et al. 2022). Source: transformers/models/esm.

Protein language models: BERT's projections in pre-norm layers, learned or rotary positions, and a
head that reads contacts off all attention maps. ESMFold reads all layers of one, in half precision
unless said, and folds.

Names are those of the released files.  transformers 5.23 saves the layers' norms as gamma and beta
(it reverts a renaming of old files that never took place), as no file on the Hub has them.
"""

from dataclasses import replace

from ..core.components import Component
from ..core.config import ModelConfig
from ..errors import UnknownArchitectureError
from ..layers import encoders, folding_trunk
from ..layers.bert_encoders import Encoder, roberta_forms
from ..layers.composing import defaulted
from ..layers.encoders import BASE, dropout, hidden, norm, vocab
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Buffer,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    Parameter,
    Sequential,
    Weight,
    each_module,
)


def _positions(c: ModelConfig) -> str | None:
    """absolute unless said; a null that is written down means no positions at all."""
    said = "position_embedding_type" in c.values
    return c.text("position_embedding_type", default=None if said else "absolute")


def embeddings(c: ModelConfig) -> Module:
    h, positions = hidden(c), c.dim("max_position_embeddings")
    learned = _positions(c) == "absolute"
    return Module(
        "EsmEmbeddings",
        word_embeddings=Embedding(vocab(c), h),
        layer_norm=norm(c) if c.flag("emb_layer_norm_before", default=False) else None,
        dropout=dropout(c),
        # Released files with rotary positions still hold the table that nothing reads.
        position_embeddings=Embedding(positions, h, kind="position", saved=learned),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def _frequencies(c: ModelConfig) -> int:
    """Half of a head's size, rounded up; ``head_dim`` is read for them alone."""
    heads = c.dim("num_attention_heads")
    head = c.divided(hidden(c), heads, "hidden_size", "num_attention_heads")
    return (c.dim("head_dim", default=head) + 1) // 2


def _attention(c: ModelConfig) -> Module:
    block = encoders.attention_after_norm(c, "Esm", "LayerNorm")
    if _positions(c) == "rotary":
        # Files written before the frequencies moved to the model hold them in each layer.
        block.inside("self").children["rotary_embeddings"] = Module(
            "EsmRotaryEmbedding", inv_freq=Buffer(_frequencies(c), saved=False), saved=False
        )
    return block


def layer(c: ModelConfig) -> Module:
    """BERT's with norms before: one for the MLP, none behind it, and no activation of its own."""
    block = encoders.layer(c, "Esm", attention_block=_attention(c), cross=True)
    del block.inside("intermediate").children["intermediate_act_fn"]
    del block.inside("output").children["LayerNorm"]
    block.children["LayerNorm"] = norm(c)
    return block


def model(e: Encoder, c: ModelConfig) -> Module:
    layers = c.count("num_hidden_layers")
    rotary = Module("EsmRotaryEmbedding", inv_freq=Buffer(_frequencies(c)))
    stack = encoders.encoder(c, "Esm", layer(c))
    stack.children["emb_layer_norm_after"] = norm(c)
    return Module(
        "EsmModel",
        embeddings=embeddings(c),
        rotary_embeddings=rotary if _positions(c) == "rotary" else None,
        encoder=stack,
        pooler=None if e.pooling == "never" else encoders.pooler(c, "Esm"),
        contact_head=Module(
            "EsmContactPredictionHead",
            regression=Linear(layers * c.dim("num_attention_heads"), 1),
            activation=Activation("Sigmoid"),
            component=Component.HEAD,
        ),
    )


def lm_head(_e: Encoder, c: ModelConfig) -> Module:
    table = "esm.embeddings.word_embeddings.weight" if c.tied() else None
    return Module(
        "EsmLMHead",
        bias=Weight(vocab(c), kind="lm_head"),
        dense=Linear(hidden(c), hidden(c), kind="transform"),
        layer_norm=norm(c),
        decoder=Linear(hidden(c), vocab(c), bias=False, tied_to=table, kind="lm_head"),
        component=Component.HEAD,
    )


#: Of ESMFold: amino acids with padding, unknown and mask; atoms of a residue; bins of distances
#: and of the confidence in each atom.
_RESIDUES, _ATOMS, _DISTANCES, _CONFIDENCES = 23, 37, 64, 50


def _folding(c: ModelConfig) -> Module:
    if not c.flag("is_folding_model", default=False):
        raise UnknownArchitectureError(
            "class EsmForProteinFolding", "folds with a config whose is_folding_model is true alone"
        )
    own = c.section("esmfold_config")
    trunk = own.section("trunk")
    sequence, pair = folding_trunk.trunk_widths(trunk)
    structure = folding_trunk.structure_width(trunk.section("structure_module"))
    inner = own.dim("lddt_head_hid_dim", default=128)
    esm = ESM.bare(c)
    return Module(
        "EsmForProteinFolding",
        esm_s_combine=Weight(c.count("num_hidden_layers") + 1),
        af2_to_esm=Buffer(_RESIDUES - 1, dtype="I64"),
        esm=_in_half(esm) if own.flag("fp16_esm", default=True) else esm,
        esm_s_mlp=Sequential(
            LayerNorm(hidden(c), class_name="EsmFoldLayerNorm"),
            Linear(hidden(c), sequence),
            Activation("ReLU"),
            Linear(sequence, sequence),
            component=Component.PROJECTOR,
        ),
        embedding=Embedding(_RESIDUES, sequence, padding_idx=0)
        if own.flag("embed_aa", default=True)
        else None,
        trunk=folding_trunk.trunk(trunk),
        distogram_head=Linear(pair, _DISTANCES, component=Component.HEAD),
        ptm_head=Linear(pair, _DISTANCES, component=Component.HEAD),
        lm_head=Linear(sequence, _RESIDUES, component=Component.HEAD, kind="lm_head"),
        lddt_head=Sequential(
            LayerNorm(structure),
            Linear(structure, inner),
            Linear(inner, inner),
            Linear(inner, _ATOMS * _CONFIDENCES),
            component=Component.HEAD,
        ),
    )


def _in_half(root: Module) -> Module:
    """With its floats in half precision whatever the rest of the model is in."""
    for module in each_module(root):
        for name, child in module.children.items():
            if isinstance(child, Parameter) and child.dtype is None:
                module.children[name] = replace(child, dtype="F16")
    return root


# A vocabulary must be said: the config class has none of its own.
_DEFAULTS = {key: value for key, value in BASE.items() if key != "vocab_size"}
_DEFAULTS["max_position_embeddings"] = 1026
ESM = Encoder(
    "Esm", "esm", _DEFAULTS, whole=model, words=lm_head, forms=roberta_forms,
    lacks=("ForCausalLM", "ForMultipleChoice", "ForQuestionAnswering"),
)  # fmt: skip
register(
    "esm",
    {**ESM.classes(), "EsmForProteinFolding": defaulted(_DEFAULTS, _folding)},
    base_prefix="esm",
    category="encoder",
)
