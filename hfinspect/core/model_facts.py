"""ModelFacts: what a model's own config or GGUF key-values say of its build, one number a field.

Nothing here is derived: each number stands under a key, which ``keys`` names, and is null where
there is no such key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from .json_form import JsonForm
from .records import dataclass


def _fact(unit: str, meaning: str) -> Any:
    return field(default=None, metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True)
class ModelFacts(JsonForm):
    """``layers`` to ``experts_per_token`` are the main stack's: of a composite the text model's.

    ``keys`` names the key of config.json (dotted in a section) or of the GGUF file for each field
    that is known. Where config.json leaves a key out, the value is the default of the model's
    class, which the predicted tensors have too. Encoder-decoders have two counts of layers, and
    then no ``layers``.
    """

    layers: int | None = _fact("layers", "blocks of the main stack")
    encoder_layers: int | None = _fact("layers", "blocks of the encoder of an encoder-decoder")
    decoder_layers: int | None = _fact("layers", "blocks of its decoder")
    single_layers: int | None = _fact("layers", "single-stream blocks of a diffusion transformer")
    depths: tuple[int, ...] | None = _fact("layers", "blocks of each stage")
    width: int | None = _fact("features", "hidden size")
    widths: tuple[int, ...] | None = _fact("features", "hidden size of each stage")
    heads: int | None = _fact("heads", "attention heads")
    decoder_heads: int | None = _fact("heads", "attention heads of the decoder, under its own key")
    kv_heads: int | None = _fact("heads", "key and value heads, under their own key")
    head_dim: int | None = _fact("features", "width of a head, under its own key")
    vocabulary: int | None = _fact("tokens", "size of the vocabulary")
    context: int | None = _fact("tokens", "longest sequence that the config allows")
    experts: int | None = _fact("experts", "routed experts of a layer")
    experts_per_token: int | None = _fact("experts", "routed experts used per token")
    image_size: int | tuple[int, ...] | None = _fact(
        "pixels", "side of the input image, or both sides"
    )
    patch_size: int | tuple[int, ...] | None = _fact("pixels", "side of a patch, or both sides")
    vision_layers: int | None = _fact("layers", "blocks of a composite's vision encoder")
    vision_width: int | None = _fact("features", "its hidden size")
    vision_heads: int | None = _fact("heads", "its attention heads")
    mel_bins: int | None = _fact("bins", "mel bins of the input spectrogram")
    audio_layers: int | None = _fact("layers", "blocks of a composite's audio encoder")
    audio_width: int | None = _fact("features", "its hidden size")
    audio_heads: int | None = _fact("heads", "its attention heads")
    sample_size: int | tuple[int, ...] | None = _fact("latents", "side of what is denoised")
    in_channels: int | None = _fact("channels", "channels of it")
    latent_channels: int | None = _fact("channels", "channels of an autoencoder's latent")
    block_channels: tuple[int, ...] | None = _fact("channels", "channels at each resolution")
    cross_attention_width: int | None = _fact("features", "width of the text that conditions it")
    keys: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self.keys)

    @property
    def known(self) -> dict[str, int | tuple[int, ...]]:
        """What is known: name -> number."""
        return {name: getattr(self, name) for name in self.keys}


#: Field -> (unit, meaning), in order.
FACTS: Mapping[str, tuple[str, str]] = {
    f.name: (f.metadata["unit"], f.metadata["meaning"]) for f in fields(ModelFacts) if f.metadata
}
