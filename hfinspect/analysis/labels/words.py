"""The vocabulary of tensor names: which words say which component.

A segment of a name is looked up whole first (``wte``, ``q_proj``) and then by the words that it is
made of: ``cross_attn_layer_norm`` is a norm, ``itm_head`` a head. ``words.json`` lists them by
component: whole segments only where their words don't say it, and only terms that models share or a
format defines (GGUF).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...core import data_files
from ...core.components import Component

_E = Component.EMBEDDING
_A = Component.ATTENTION
_M = Component.MLP
_N = Component.NORM
_R = Component.ROUTER
_S = Component.SSM
_C = Component.CONV
_P = Component.PROJECTOR
_H = Component.HEAD
_O = Component.OTHER

_TABLES: Final = data_files.read(__package__, "words.json")


def _table(name: str) -> dict[str, Component]:
    rows: dict[str, list[str]] = _TABLES[name]
    words = {Component(at): " ".join(lines).split() for at, lines in rows.items()}
    return {word: component for component, listed in words.items() for word in listed}


#: Modules and tensors that are named by the whole segment.
_MODULES: Final = _table("modules")

#: Parts of an attention, an MLP or a mixer. They belong to the module that they stand in, if that
#: says what it is (``self_attn.gate_proj``, ``feed_forward.key``); by themselves they say so much.
PROJECTIONS: Final = _table("projections")

#: Segments that decide only where nothing stronger does.
_WEAK: Final = _table("weak")

#: What a word of a segment says, the last one first: the end of a compound decides, as in English
#: (``token_embedding_projection`` is a projection).
_NOUNS: Final = _table("nouns")

#: Nouns that say too little where they stand alone.
_BARE: Final = frozenset({"projection", "projections", "token", "classification", "text_mapper"})

#: Words that make any segment a norm, wherever in it they stand, as does one that ends in -norm.
_NORMS: Final = frozenset({"norms", "ln", "bn", "grn", "normalization"})

#: With a bias, attention's table of relative positions or what makes it.
_POSITIONS: Final = frozenset({"position", "pos", "relative", "rel"})

#: Ways around the layers (AltUp, hyper-connections, scales and gates of the residual), of no group
#: whatever they go around: as any word of a segment, as one of its last two.
_AROUND: Final = frozenset({"hc", "altup"})
_AROUND_AT_END: Final = frozenset({"residual", "res", "hyper"})

#: A projection, mapper or adapter of one of these is one between modalities.
_MODALITIES: Final = frozenset(
    "vision visual image img video audio speech text txt clip mm modality".split()
)
_ANY_PROJECTION: Final = frozenset({"proj", "projection", "mapper"})
_BRIDGES: Final = _ANY_PROJECTION | {"adapter"}

#: Compounds that end so are learned tokens: ``query_768``, ``object_queries``, ``coord_features``.
_LEARNED: Final = ("query", "queries", "features")

#: First words that hold for all that begins with them, as a projection's name does (RWKV's).
_BEGINNINGS: Final = {"time_mix_": _S, "channel_mix_": _M}


@lru_cache(maxsize=20_000)
def module_word(segment: str) -> Component | None:
    """What a lower-case segment says as the name of a module, whole or by its words."""
    known = _MODULES.get(segment)
    if known is not None:
        return known
    if segment in PROJECTIONS or segment in _BARE:
        return None
    words = [word.rstrip("0123456789") for word in segment.split("_")]
    if words[0] == "gn" or any(word in _NORMS or word.endswith("norm") for word in words):
        return _N
    if not _BRIDGES.isdisjoint(words) and not _MODALITIES.isdisjoint(words):
        return _P
    nouns = [_NOUNS[word] for word in reversed(words) if word in _NOUNS]
    if "bias" in words and not _POSITIONS.isdisjoint(words):
        return _A
    around = _AROUND.intersection(words) or _AROUND_AT_END.intersection(words[-2:])
    if around and not {_C, _R}.intersection(nouns):
        return _O
    if words[-2:] == ["layer", "scale"]:
        return _O
    if words[-1] == "model" and nouns[:1] in ([_A], [_M]):
        return None  # "latent_attention_model" has more than attention
    if words[-1] == "weights" and nouns[:1] == [_E]:
        return _O  # "concept_embeds_weights": thresholds
    if words[-1] == "proj" and nouns[:1] not in ([_H], [_C]):
        return None
    if _MODULES.get("_".join(words[-2:])) is _H:
        return _H
    # "cross_attn_token_to_image", "rel_attn_embed"
    return _A if nouns[:1] == [_E] and _A in nouns else next(iter(nouns), None)


@lru_cache(maxsize=20_000)
def projection_word(segment: str) -> Component | None:
    """What a lower-case segment says as the name of a module's part."""
    for beginning, component in _BEGINNINGS.items():
        if segment.startswith(beginning):
            return component
    known = PROJECTIONS.get(segment)
    if known is None and segment.endswith("_proj"):
        nouns = [_NOUNS[word] for word in segment.split("_") if word in _NOUNS]
        return nouns[-1] if nouns and nouns[-1] in (_A, _M) else None  # "ff_proj", "attn_proj"
    return known


@lru_cache(maxsize=20_000)
def weak_word(segment: str) -> Component | None:
    """What a segment says if nothing else in the name says more."""
    known = _WEAK.get(segment)
    words = [word.rstrip("0123456789") for word in segment.split("_")]
    if known is None and not _ANY_PROJECTION.isdisjoint(words):
        return _P
    if known is None and len(words) > 1 and segment.rstrip("_0123456789").endswith(_LEARNED):
        return _E
    return known
