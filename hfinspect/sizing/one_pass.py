"""A limit of what one pass holds next to the weights, where no tree of a decoder gives it:
encoders, parts of pipelines, and models that are not in the catalog.

    positions × (4 × widest + outputs of the head) × bytes of a float + runtime

``positions`` are tokens, patches, latents or pixels, whichever the model works on; ``widest`` is
the longest side of any matrix or kernel that is no table of tokens. A layer's inputs, outputs, the
residual stream and one copy are no more than four times the widest. Attention is by a kernel that
keeps no square of scores. A model that is not in the catalog may keep keys and values: those of all
heads in all layers, in float32, are no less than what grouped or latent heads keep.
"""

import math
from collections.abc import Iterator
from typing import Final

from ..core.components import Component
from ..core.lazy_sequence import counted
from ..core.model_facts import ModelFacts
from ..core.results import Inspection
from .workspace import RUNTIME_BYTES

#: Of a text encoder whose config names no longest input.
USUAL_TOKENS: Final = 8192
#: Side of a picture, in pixels, where the config names none; and of its latents, an eighth.
USUAL_SIDE: Final = 1024
_LATENT_FACTOR: Final = 8
_COPIES: Final = 4
_FLOAT: Final = 4
_TABLES: Final = frozenset({Component.EMBEDDING, Component.HEAD})
#: Positions of half a minute of sound: two frames of 10 ms for each, as Whisper's; a mel
#: spectrogram before its convolutions has twice as many.
_SOUND: Final = 3000


def pass_limit(inspection: Inspection, context: int | None, batch: int) -> int | None:
    """Bytes at most for a pass over ``batch`` inputs; None where the widths of tensors are not
    known. The parts of a pipeline run one after the other: the limit is that of the largest."""
    facts = {member.name: member.facts for member in inspection.members} or {"": inspection.facts}
    sides = _sides(inspection)
    if not sides or (inspection.members and not facts.keys() >= sides.keys()):
        return None
    largest = max(
        _positions(facts[part], context) * (_COPIES * widest + logits)
        for part, (widest, logits) in sides.items()
    )
    return batch * largest * _FLOAT + RUNTIME_BYTES


def cache_limit(inspection: Inspection, context: int | None, batch: int) -> int | None:
    """Bytes at most of keys and values of all heads; None where the config does not say how many
    layers there are and how wide."""
    facts = inspection.facts
    layers = facts.layers or (facts.encoder_layers or 0) + (facts.decoder_layers or 0)
    width = max(facts.width or 0, (facts.heads or 0) * (facts.head_dim or 0))
    if not layers or not width:
        return None
    return 2 * layers * width * (context or facts.context or USUAL_TOKENS) * batch * _FLOAT


def _sides(inspection: Inspection) -> dict[str, tuple[int, int]]:
    """The longest side of a matrix or kernel, of tables and heads the shorter one, and the outputs
    of the largest head; of a pipeline by part. Equal layers are looked at once."""
    by_part: dict[str, tuple[int, int]] = {}
    for tensor, _ in counted(inspection.tensors):
        sides = tensor.shape[:2]
        if len(sides) < 2:
            continue
        part = tensor.part if inspection.members else ""
        widest, logits = by_part.get(part, (0, 0))
        widest = max(widest, min(sides) if tensor.component in _TABLES else max(sides))
        if tensor.component == Component.HEAD:
            logits = max(logits, *sides)
        by_part[part] = widest, logits
    return by_part


def _positions(facts: ModelFacts, context: int | None) -> int:
    return max(_counted(facts, context), default=context or facts.context or USUAL_TOKENS)


def _counted(facts: ModelFacts, context: int | None) -> Iterator[int]:
    """Positions of each kind of input that the config names."""
    patch = _area(facts.patch_size, 1)
    if facts.block_channels and facts.latent_channels:  # an autoencoder works on pixels
        yield max(_area(facts.sample_size, USUAL_SIDE), USUAL_SIDE**2)
    elif facts.in_channels or facts.sample_size:
        yield max(_area(facts.sample_size, 0), (USUAL_SIDE // _LATENT_FACTOR) ** 2)
    elif facts.image_size:
        yield _area(facts.image_size, 0) // patch + 1
    elif facts.widths or facts.depths:
        yield USUAL_SIDE**2 // max(patch, 16)
    if facts.mel_bins or facts.audio_layers:
        yield _SOUND
    if facts.vocabulary:
        yield context or facts.context or USUAL_TOKENS


def _area(side: int | tuple[int, ...] | None, usual: int) -> int:
    if side is None:
        return usual**2
    return side**2 if isinstance(side, int) else math.prod(side)
