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
from ..layers.bert_encoders import Encoder, roberta_forms, roberta_words, stack, usual_model
from ..layers.encoders import BASE, dropout, hidden, norm, vocab
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


def _embeddings(_e: Encoder, c: ModelConfig) -> Module:
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


def _rotary(c: ModelConfig, *, saved: bool) -> dict[str, Module]:
    """Frequencies for half of a head's size, rounded up; ``head_dim`` is read for them alone.
    Files written before they moved to the model hold them in each layer."""
    heads = c.dim("num_attention_heads")
    head = c.divided(hidden(c), heads, "hidden_size", "num_attention_heads")
    numbers = Buffer((c.dim("head_dim", default=head) + 1) // 2, saved=saved)
    table = Module("EsmRotaryEmbedding", inv_freq=numbers, saved=saved)
    return {"rotary_embeddings": table} if _positions(c) == "rotary" else {}


def layer(c: ModelConfig, name: str, attention: Module) -> Module:
    """BERT's with norms before: one for the MLP, none behind it, and no activation of its own."""
    block = encoders.layer(c, name, attention_block=attention, cross=True)
    block.inside("intermediate").without("intermediate_act_fn")
    block.inside("output").without("LayerNorm")
    return block.adding(LayerNorm=norm(c))


def _layer(_e: Encoder, c: ModelConfig) -> Module:
    attention = encoders.attention_after_norm(c, "Esm", "LayerNorm")
    attention.inside("self").adding(**_rotary(c, saved=False))
    return layer(c, "Esm", attention)


def _model(e: Encoder, c: ModelConfig) -> Module:
    parts = usual_model(e, c).children
    contacts = c.count("num_hidden_layers") * c.dim("num_attention_heads")
    parts["contact_head"] = Module(
        "EsmContactPredictionHead",
        regression=Linear(contacts, 1),
        activation=Activation("Sigmoid"),
        component=Component.HEAD,
    )
    first = {"embeddings": parts["embeddings"], **_rotary(c, saved=True)}
    return Module("EsmModel", {**first, **parts})


def _words(e: Encoder, c: ModelConfig) -> Module:
    table = e.table if c.tied() else None
    decoder = Linear(hidden(c), vocab(c), bias=False, tied_to=table, kind="lm_head")
    return roberta_words(e, c).adding(decoder=decoder)


#: Of ESMFold: amino acids with padding, unknown and mask; atoms of a residue; bins of distances
#: and of the confidence in each atom.
_RESIDUES, _ATOMS, _DISTANCES, _CONFIDENCES = 23, 37, 64, 50


def _folding(c: ModelConfig) -> Module:
    if not c.flag("is_folding_model", default=False):
        raise UnknownArchitectureError(
            "class EsmForProteinFolding", "folds with a config whose is_folding_model is true alone"
        )
    own, at = c.section("esmfold_config"), Component.HEAD
    trunk = own.section("trunk")
    sequence, pair = folding_trunk.trunk_widths(trunk)
    structure = folding_trunk.structure_width(trunk.section("structure_module"))
    inner, esm = own.dim("lddt_head_hid_dim", default=128), ESM.bare(c)
    amino = own.flag("embed_aa", default=True)
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
        embedding=Embedding(_RESIDUES, sequence, padding_idx=0) if amino else None,
        trunk=folding_trunk.trunk(trunk),
        distogram_head=Linear(pair, _DISTANCES, component=at),
        ptm_head=Linear(pair, _DISTANCES, component=at),
        lm_head=Linear(sequence, _RESIDUES, component=at, kind="lm_head"),
        lddt_head=Sequential(
            LayerNorm(structure),
            Linear(structure, inner),
            Linear(inner, inner),
            Linear(inner, _ATOMS * _CONFIDENCES),
            component=at,
        ),
    )


def _in_half(root: Module) -> Module:
    """With its floats in half precision whatever the rest of the model is in."""
    for module in each_module(root):
        for name, child in module.children.items():
            if isinstance(child, Parameter):
                module.children[name] = replace(child, dtype=child.dtype or "F16")
    return root


# A vocabulary must be said: the config class has none of its own.
ESM = Encoder(
    "Esm", "esm", {**BASE, "vocab_size": None, "max_position_embeddings": 1026},
    embeddings=_embeddings, layer=_layer, whole=_model,
    encoder=lambda e, c: stack(e, c).adding(emb_layer_norm_after=norm(c)), words=_words,
    forms=roberta_forms, lacks=("ForCausalLM", "ForMultipleChoice", "ForQuestionAnswering"),
).register("esm", more={"ForProteinFolding": _folding})  # fmt: skip
