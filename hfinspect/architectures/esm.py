"""ESM-1b and ESM-2 (Rives et al. 2019, Lin et al. 2022): BERT in pre-norm layers, and a head that
reads contacts off all attention maps. Names are those of the released files, whose norms have a
weight and a bias: transformers 5 saves gamma and beta, as no file on the Hub has them
(transformers/models/esm)."""

from dataclasses import replace

from ..errors import UnknownArchitectureError
from ..layers import encoders, folding_trunk
from ..layers.bert_encoders import Encoder, roberta_forms, roberta_words, stack, usual_model
from ..layers.encoders import BASE, dropout, hidden, norm, vocab
from ..layers.heads import to_words
from ..trees import Component, ModelConfig
from ..trees import modules as nn


def _positions(c: ModelConfig) -> str | None:
    """absolute unless said; a null that is written down means no positions at all."""
    is_given = "position_embedding_type" in c.values
    return c.text("position_embedding_type", default=None if is_given else "absolute")


def _embeddings(_e: Encoder, c: ModelConfig) -> nn.Module:
    h = hidden(c)
    positions = c.dim("max_position_embeddings")
    learned = _positions(c) == "absolute"
    return nn.Module(
        "EsmEmbeddings",
        word_embeddings=nn.Embedding(vocab(c), h),
        layer_norm=norm(c) if c.flag("emb_layer_norm_before", default=False) else None,
        dropout=dropout(c),
        # Released files with rotary positions still hold the table that nothing reads.
        position_embeddings=nn.Embedding(positions, h, kind="position", saved=learned),
        position_ids=nn.Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def _rotary(c: ModelConfig, *, saved: bool) -> dict[str, nn.Module]:
    """Frequencies for half of a head's size, rounded up; ``head_dim`` is read for them alone.
    Files written before they moved to the model hold them in each layer."""
    head = c.divided(hidden(c), c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    numbers = nn.Buffer((c.dim("head_dim", default=head) + 1) // 2, saved=saved)
    table = nn.Module("EsmRotaryEmbedding", inv_freq=numbers, saved=saved)
    return {"rotary_embeddings": table} if _positions(c) == "rotary" else {}


def layer(c: ModelConfig, name: str, attention: nn.Module) -> nn.Module:
    """BERT's with norms before: one for the MLP, none behind it, and no activation of its own."""
    block = encoders.layer(c, name, attention_block=attention, cross=True)
    block.inside("intermediate").without("intermediate_act_fn")
    block.inside("output").without("LayerNorm")
    return block.adding(LayerNorm=norm(c))


def _layer(_e: Encoder, c: ModelConfig) -> nn.Module:
    attention = encoders.attention_after_norm(c, "Esm", "LayerNorm")
    attention.inside("self").adding(**_rotary(c, saved=False))
    return layer(c, "Esm", attention)


def _model(e: Encoder, c: ModelConfig) -> nn.Module:
    contacts = nn.Linear(c.count("num_hidden_layers") * c.dim("num_attention_heads"), 1)
    act = nn.Activation("Sigmoid")
    name = "EsmContactPredictionHead"
    head = nn.Module(name, regression=contacts, activation=act, component=Component.HEAD)
    parts = usual_model(e, c).adding(contact_head=head).children
    first = {"embeddings": parts["embeddings"], **_rotary(c, saved=True)}
    return nn.Module("EsmModel", {**first, **parts})


#: Of ESMFold: amino acids with padding, unknown and mask; atoms of a residue; bins of distances
#: and of the confidence in each atom.
_RESIDUES = 23
_ATOMS = 37
_DISTANCES = 64
_CONFIDENCES = 50


def _folding(c: ModelConfig) -> nn.Module:
    if not c.flag("is_folding_model", default=False):
        raise UnknownArchitectureError(
            "class EsmForProteinFolding", "folds with a config whose is_folding_model is true alone"
        )
    folding = c.section("esmfold_config")
    at = Component.HEAD
    esm = ESM.bare(c)
    trunk = folding.section("trunk")
    inner = folding.dim("lddt_head_hid_dim", default=128)
    sequence, pair = folding_trunk.trunk_widths(trunk)
    structure = folding_trunk.structure_width(trunk.section("structure_module"))
    if folding.flag("fp16_esm", default=True):  # whatever the rest of the model is in
        for module in nn.each_module(esm):
            for name, child in module.children.items():
                if isinstance(child, nn.Parameter):
                    module.children[name] = replace(child, dtype=child.dtype or "F16")
    amino = nn.Embedding(_RESIDUES, sequence, padding_idx=0)
    return nn.Module(
        "EsmForProteinFolding",
        esm_s_combine=nn.Weight(c.count("num_hidden_layers") + 1),
        af2_to_esm=nn.Buffer(_RESIDUES - 1, dtype="I64"),
        esm=esm,
        esm_s_mlp=nn.Sequential(
            nn.LayerNorm(hidden(c), class_name="EsmFoldLayerNorm"),
            nn.Linear(hidden(c), sequence),
            nn.Activation("ReLU"),
            nn.Linear(sequence, sequence),
            component=Component.PROJECTOR,
        ),
        embedding=amino if folding.flag("embed_aa", default=True) else None,
        trunk=folding_trunk.trunk(trunk),
        distogram_head=nn.Linear(pair, _DISTANCES, component=at),
        ptm_head=nn.Linear(pair, _DISTANCES, component=at),
        lm_head=nn.Linear(sequence, _RESIDUES, component=at, kind="lm_head"),
        lddt_head=nn.Sequential(
            nn.LayerNorm(structure),
            nn.Linear(structure, inner),
            nn.Linear(inner, inner),
            nn.Linear(inner, _ATOMS * _CONFIDENCES),
            component=at,
        ),
    )


# A vocabulary must be said: the config class has none of its own.
ESM = Encoder(
    "Esm",
    "esm",
    {**BASE, "vocab_size": None, "max_position_embeddings": 1026},
    embeddings=_embeddings,
    layer=_layer,
    make_model=_model,
    encoder=lambda e, c: stack(e, c).adding(emb_layer_norm_after=norm(c)),
    words=lambda e, c: roberta_words(e, c).adding(
        decoder=to_words(hidden(c), vocab(c), e.table if c.tied() else None)
    ),
    forms=roberta_forms,
    lacks=("ForCausalLM", "ForMultipleChoice", "ForQuestionAnswering"),
).register("esm", more={"ForProteinFolding": _folding})
