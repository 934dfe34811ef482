"""The folding trunk of ESMFold and its structure module: AlphaFold 2's blocks over a language
model's states (Jumper et al. 2021, Lin et al. 2022). Source: transformers/models/esm,
modeling_esmfold.py; the algorithms are those of AlphaFold's supplement.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn

#: Bins of distances between residues as they are fed back.
RECYCLED_BINS: Final = 15

_A = Component.ATTENTION
_MLP = Component.MLP
_linear = partial(nn.Linear, class_name="EsmFoldLinear")
_norm = partial(nn.LayerNorm, class_name="EsmFoldLayerNorm")


def trunk(c: ModelConfig) -> nn.Module:
    """``EsmFoldingTrunk`` of a ``trunk`` section."""
    sequence, pair = trunk_widths(c)
    structure = c.section("structure_module")
    positions = 2 * c.dim("position_bins", default=32) + 2
    return nn.Module(
        "EsmFoldingTrunk",
        pairwise_positional_embedding=nn.Module(
            "EsmFoldRelativePosition", embedding=nn.Embedding(positions, pair, kind="position")
        ),
        blocks=nn.Layers.of(c.count("num_blocks", default=48), _block(c, sequence, pair)),
        recycle_s_norm=nn.LayerNorm(sequence),
        recycle_z_norm=nn.LayerNorm(pair),
        recycle_disto=nn.Embedding(RECYCLED_BINS, pair, kind="position"),
        structure_module=_structure(structure),
        trunk2sm_s=nn.Linear(sequence, structure_width(structure), component=Component.PROJECTOR),
        trunk2sm_z=nn.Linear(
            pair, structure.dim("pairwise_dim", default=128), component=Component.PROJECTOR
        ),
    )


def structure_width(c: ModelConfig) -> int:
    """The width of the structure module's states of a residue."""
    return c.dim("sequence_dim", default=384)


def trunk_widths(c: ModelConfig) -> tuple[Dim, Dim]:
    """The widths of the trunk's states: of a residue, and of a pair of residues."""
    return c.dim("sequence_state_dim", default=1024), c.dim("pairwise_state_dim", default=128)


def _block(c: ModelConfig, sequence: Dim, pair: Dim) -> nn.Module:
    keys = ("sequence_head_width", "pairwise_head_width")
    width, pair_width = (c.dim(key, default=32) for key in keys)
    heads = c.divided(sequence, width, "sequence_state_dim", keys[0])
    pair_heads = c.divided(pair, pair_width, "pairwise_state_dim", keys[1])
    if pair % 2:
        raise c.error("pairwise_state_dim", int(pair), "an even number")
    inner = pair // 2
    return nn.Module(
        "EsmFoldTriangularSelfAttentionBlock",
        layernorm_1=nn.LayerNorm(sequence),
        sequence_to_pair=nn.Module(
            "EsmFoldSequenceToPair",
            layernorm=nn.LayerNorm(sequence),
            proj=nn.Linear(sequence, 2 * inner),
            o_proj=nn.Linear(2 * inner, pair),
        ),
        pair_to_sequence=nn.Module(
            "EsmFoldPairToSequence",
            layernorm=nn.LayerNorm(pair),
            linear=nn.Linear(pair, heads, bias=False, component=_A),
        ),
        seq_attention=nn.Module(
            "EsmFoldSelfAttention",
            proj=nn.Linear(sequence, 3 * sequence, bias=False, kind="qkv"),
            o_proj=nn.Linear(sequence, sequence, kind="output"),
            g_proj=nn.Linear(sequence, sequence),
            component=_A,
        ),
        tri_mul_out=_multiplied(pair),
        tri_mul_in=_multiplied(pair),
        tri_att_start=_triangle(pair, pair_width, pair_heads),
        tri_att_end=_triangle(pair, pair_width, pair_heads),
        mlp_seq=_mlp(c, sequence),
        mlp_pair=_mlp(c, pair),
        drop=nn.Dropout(c.number("dropout", default=0.0)),
    )


def _multiplied(pair: int) -> nn.Module:
    """Algorithms 11 and 12: the two other sides of each triangle are multiplied."""
    sides = ("a_p", "a_g", "b_p", "b_g", "g", "z")
    return nn.Module(
        "EsmFoldTriangleMultiplicativeUpdate",
        {f"linear_{side}": _linear(pair, pair) for side in sides},
        layer_norm_in=_norm(pair),
        layer_norm_out=_norm(pair),
        sigmoid=nn.Activation("Sigmoid"),
    )


def _triangle(pair: int, width: int, heads: int) -> nn.Module:
    """Algorithms 13 and 14: attention around one corner of each triangle, with a gate."""
    inner = width * heads
    queries = {
        f"linear_{letter}": _linear(pair, inner, bias=False, kind=kind)
        for letter, kind in (("q", "query"), ("k", "key"), ("v", "value"))
    }
    return nn.Module(
        "EsmFoldTriangleAttention",
        layer_norm=_norm(pair),
        linear=_linear(pair, heads, bias=False),
        mha=nn.Module(
            "EsmFoldAttention",
            queries,
            linear_o=_linear(inner, pair, kind="output"),
            linear_g=_linear(pair, inner),
            sigmoid=nn.Activation("Sigmoid"),
        ),
        component=_A,
    )


def _mlp(c: ModelConfig, width: int) -> nn.Module:
    layers = nn.Sequential(
        nn.LayerNorm(width),
        nn.Linear(width, 4 * width, kind="up"),
        nn.Activation("ReLU"),
        nn.Linear(4 * width, width, kind="down"),
        nn.Dropout(c.number("dropout", default=0.0)),
    )
    return nn.Module("EsmFoldResidueMLP", mlp=layers, component=_MLP)


def _structure(c: ModelConfig) -> nn.Module:
    """Algorithm 20."""
    width = structure_width(c)
    pair = c.dim("pairwise_dim", default=128)
    steps = {f"linear_{number}": _linear(width, width) for number in (1, 2, 3)}
    transition = nn.Module("EsmFoldStructureModuleTransitionLayer", steps)
    return nn.Module(
        "EsmFoldStructureModule",
        layer_norm_s=_norm(width),
        layer_norm_z=_norm(pair),
        linear_in=_linear(width, width),
        ipa=_points(c, width, pair),
        layer_norm_ipa=_norm(width),
        transition=nn.Module(
            "EsmFoldStructureModuleTransition",
            layers=nn.Layers.of(c.count("num_transition_layers", default=1), transition),
            layer_norm=_norm(width),
        ),
        bb_update=nn.Module("EsmFoldBackboneUpdate", linear=_linear(width, 6)),
        angle_resnet=_angles(c, width),
    )


def _points(c: ModelConfig, width: int, pair: int) -> nn.Module:
    """Algorithm 22, invariant point attention: queries, keys and values are points of space too,
    of three coordinates each; their norms come out with them."""
    heads = c.dim("num_heads_ipa", default=12)
    inner = c.dim("ipa_dim", default=16)
    query_points = c.dim("num_qk_points", default=4)
    value_points = c.dim("num_v_points", default=8)
    return nn.Module(
        "EsmFoldInvariantPointAttention",
        head_weights=nn.Weight(heads),
        linear_q=_linear(width, heads * inner, kind="query"),
        linear_kv=_linear(width, 2 * heads * inner, kind="key_value"),
        linear_q_points=_linear(width, heads * query_points * 3),
        linear_kv_points=_linear(width, heads * (query_points + value_points) * 3),
        linear_b=_linear(pair, heads),
        linear_out=_linear(heads * (pair + inner + value_points * 4), width, kind="output"),
        component=_A,
    )


def _angles(c: ModelConfig, width: int) -> nn.Module:
    """Algorithm 20, lines 11 to 14: two numbers for each torsion angle."""
    inner = c.dim("resnet_dim", default=128)
    twice = {f"linear_{number}": _linear(inner, inner) for number in (1, 2)}
    block = nn.Module("EsmFoldAngleResnetBlock", twice)
    return nn.Module(
        "EsmFoldAngleResnet",
        linear_in=_linear(width, inner),
        linear_initial=_linear(width, inner),
        layers=nn.Layers.of(c.count("num_resnet_blocks", default=2), block),
        linear_out=_linear(inner, 2 * c.dim("num_angles", default=7)),
        component=_MLP,
    )
