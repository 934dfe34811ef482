"""wav2vec 2.0's descendants, each written as another with differences:
``WAV2VEC2.like("Hubert", "hubert")``.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..core.records import dataclass
from ..trees import Builder, ModelConfig, Module, register
from . import speech, speech_heads
from .composing import Form, Forms, composed, with_defaults

MakeSpeech = Callable[["Speech", ModelConfig], Module]

_HEADS: Mapping[str, Form] = {
    "ForCTC": speech_heads.LETTERS,
    "ForSequenceClassification": speech_heads.SEQUENCE,
    "ForAudioFrameClassification": speech_heads.FRAMES,
    "ForXVector": speech_heads.SPEAKER,
}
#: The heads of a family that knows no speakers.
SHORT = tuple(_HEADS)[:2]


def stack(s: "Speech", c: ModelConfig) -> Module:
    """Positions, a norm and the layers."""
    return speech.encoder(c, s.name)


def projection(s: "Speech", c: ModelConfig) -> Module:
    """From the width of the convolutions to the model's, behind a norm."""
    return speech.feature_projection(c, s.name)


def model(s: "Speech", c: ModelConfig) -> Module:
    """Convolutions over the waveform, then layers."""
    return Module(
        f"{s.name}Model",
        masked_spec_embed=speech.masked_spec_embed(c),
        feature_extractor=speech.feature_encoder(c, s.name),
        feature_projection=s.projected(s, c),
        encoder=s.encoder(s, c),
        adapter=speech.length_adapter(c, s.name) if s.adapted else None,
        part="audio",
    )


@dataclass(frozen=True)
class Speech:
    """What the descendants differ in; ``name`` begins the names of the classes, ``prefix`` is where
    they keep the model.

    ``defaults`` are those of the config class. ``projected`` and ``encoder`` make what follows the
    convolutions, ``adapted`` says whether strided ones may shorten the end; ``make_model`` makes a
    model of another form. ``tasks`` are those of the classes.
    """

    name: str
    prefix: str
    defaults: Mapping[str, Any]
    projected: MakeSpeech = projection
    encoder: MakeSpeech = stack
    make_model: MakeSpeech = model
    adapted: bool = True
    tasks: tuple[str, ...] = tuple(_HEADS)

    def like(self, name: str, prefix: str, **differences: Any) -> "Speech":
        """The same family but for its names and the fields given."""
        return replace(self, name=name, prefix=prefix, **differences)

    def model(self, c: ModelConfig) -> Module:
        """``{name}Model``."""
        return self.make_model(self, c)

    def register(self, model_type: str, *, more: Forms | None = None) -> "Speech":
        """Add the model and its heads to the catalog, and ``more`` classes; returns the family."""
        usual = {ending: {self.prefix: self.model, **_HEADS[ending]} for ending in self.tasks}
        forms: dict[str, Builder | Form] = {
            f"{self.name}{ending}": form for ending, form in {**usual, **(more or {})}.items()
        }
        forms[f"{self.name}Model"] = self.model
        classes = with_defaults(self.defaults, composed(forms, part="audio"))
        base = f"{self.name}Model"
        prefix = self.prefix
        register(model_type, classes, base=base, base_prefix=prefix, category="audio")
        return self
