"""Facts of a model from the keys of its config.json, or of its GGUF file.

A config is read as the model's class reads it: of several spellings of a key the one that the class
took, and of several sections one that it looked at. For a class that is not in the catalog the keys
are those of the file alone. Source of the spellings: ``attribute_map`` of the config classes in
transformers, and the keys of diffusers' models.
"""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from typing import Any

from ..core.config import ModelConfig
from ..core.model_facts import ModelFacts
from ..trees.modules import Module, ModuleList, each_module
from ..trees.prediction import Prediction

#: Larger numbers are no sizes; some tokenizers write 10^30 for "no limit".
_MOST = 2**31

_LAYERS = tuple(
    """num_hidden_layers n_layer n_layers num_layers layers depth n_blocks
    num_transformer_layers""".split()
)
_WIDTH = tuple("hidden_size d_model n_embd dim emb_dim embed_dim model_dim width".split())
_HEADS = tuple(
    "num_attention_heads n_head n_heads num_heads attention_heads encoder_attention_heads".split()
)

#: Fields of the main stack -> spellings of their key, the usual one first.
_MAIN: Mapping[str, tuple[str, ...]] = {
    "width": _WIDTH,
    "heads": _HEADS,
    "decoder_heads": ("decoder_attention_heads", "decoder_num_attention_heads"),
    "kv_heads": tuple(
        """num_key_value_heads num_kv_heads n_head_kv num_attention_groups multi_query_group_num
        attn_config.kv_n_heads""".split()
    ),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "d_kv"),
    "vocabulary": ("vocab_size", "n_token", "n_words", "padded_vocab_size"),
    "context": tuple(
        """max_position_embeddings n_positions n_ctx max_target_positions max_seq_len seq_length
        max_sequence_length context_length model_max_length""".split()
    ),
    "experts": tuple(
        """num_local_experts n_routed_experts num_experts moe_num_experts
        ffn_config.moe_num_experts""".split()
    ),
    "experts_per_token": tuple(
        """num_experts_per_tok num_experts_per_token moe_topk moe_k moe_top_k
        ffn_config.moe_top_k""".split()
    ),
    "single_layers": ("num_single_layers",),
    "cross_attention_width": ("cross_attention_dim", "joint_attention_dim"),
}

#: The same for lists of numbers.
_LISTS: Mapping[str, tuple[str, ...]] = {
    "depths": ("depths",),
    "widths": ("hidden_sizes", "embed_dims"),
    "block_channels": ("block_out_channels",),
}

_ENCODER = ("encoder_layers", "num_encoder_layers", "encoder_num_hidden_layers")
_DECODER = ("decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers")

#: Keys that list the kind of every layer; their length is the count where no key has it.
_LISTED = ("layers_block_type", "hybrid_override_pattern", "layer_types")

#: Sections of a composite, as a prefix of dotted keys; the text model comes first.
_TEXT = (
    "text_config.",
    "text_config_dict.",
    "thinker_config.text_config.",
    "llm_config.",
    "language_config.",
    "decoder.",
    "",
)
_VISION = tuple(
    """vision_config. vision_config_dict. thinker_config.vision_config. vision_tower.
    vit_config.""".split()
)
_AUDIO = tuple(
    """audio_config. thinker_config.audio_config. speech_config. audio_encoder.
    encoder_config.""".split()
)

_FactNumber = int | tuple[int, ...]


def facts_of(config: Mapping[str, Any] | None, prediction: Prediction | None = None) -> ModelFacts:
    """The facts that a config.json gives; all unknown for None."""
    if config is None:
        return ModelFacts()
    if prediction is None:
        return _facts_of(config, None)
    return prediction.memoized("facts", config, lambda: _facts_of(config, prediction))


def _facts_of(config: Mapping[str, Any], prediction: Prediction | None) -> ModelFacts:
    reader = _FactReader(config, prediction)
    main = reader.main_section()
    reader.main_stack(main)
    if prediction is not None:
        reader.checked(main, stack_lengths(prediction.root))
    for name, sections in (("vision", _VISION), ("audio", _AUDIO)):
        for prefix in sections:
            if prefix != main and reader.take(f"{name}_layers", prefix, (*_LAYERS, "num_layers")):
                # Next to embed_dim, hidden_size is the width of what Qwen2-VL's tower gives out.
                reader.take(f"{name}_width", prefix, ("embed_dim", *_WIDTH))
                reader.take(f"{name}_heads", prefix, _HEADS)
                break
    reader.inputs(main)
    return reader.facts()


class _FactReader:
    """Facts as they are collected, each with its key."""

    def __init__(self, config: Mapping[str, Any], prediction: Prediction | None) -> None:
        self._config = config
        self._read = {} if prediction is None else prediction.read
        family = None if prediction is None else prediction.family
        self._is_encoder = family is not None and family.category == "encoder"
        self._is_diffusion = "_class_name" in config and "model_type" not in config
        self._sections: dict[str, ModelConfig | None] = {"": ModelConfig(config)}
        self._values: dict[str, _FactNumber] = {}
        self._keys: dict[str, str] = {}

    def facts(self) -> ModelFacts:
        order = [name for name in ModelFacts.__dataclass_fields__ if name in self._values]
        keys = {name: self._keys[name] for name in order}
        return ModelFacts(**self._values, keys=keys)  # type: ignore[arg-type]

    def take(
        self,
        name: str,
        prefix: str,
        spellings: Sequence[str],
        accepts: Callable[[object], _FactNumber | None] | None = None,
    ) -> bool:
        """Take the first spelling that says something; whether one did."""
        accepts = accepts or size_of
        if name in self._values:
            return True
        if prefix and not self._looked_at(prefix):
            return False
        read = [self._read[key] for key in map(prefix.__add__, spellings) if key in self._read]
        values = (self._lookup(prefix + spelling, of_class=False) for spelling in spellings)
        for key, value in chain(read, values):
            number = accepts(value)
            if number is not None:
                self._values[name] = number
                self._keys[name] = key
                return True
        return False

    def _lookup(self, key: str, of_class: bool) -> tuple[str, object]:
        """A key as the class read it, or as it stands in the file."""
        if of_class:
            return self._read.get(key, (key, None))
        place, _, name = key.rpartition(".")
        section = self._section(place)
        return (key, None) if section is None else section.key_and_value(name)

    def _section(self, place: str) -> ModelConfig | None:
        """A section by its dotted place, None where there is none."""
        if place not in self._sections:
            outer, _, name = place.rpartition(".")
            around = self._section(outer)
            is_section = around is not None and isinstance(around.raw(name), Mapping)
            self._sections[place] = around.section(name) if around and is_section else None
        return self._sections[place]

    def _looked_at(self, prefix: str) -> bool:
        """Whether the class read any key of a section; without a class, whether it is there."""
        return not self._read or prefix in self._read_sections

    @cached_property
    def _read_sections(self) -> Set[str]:
        """Sections of which the class read a key, each with the dot at its end."""
        sections: set[str] = set()
        for key in self._read:
            while (at := key.rfind(".") + 1) and key[:at] not in sections:
                sections.add(key[:at])
                key = key[: at - 1]
        return sections

    def _has_layers(self, prefix: str, of_class: bool) -> bool:
        names = (*_LAYERS, *_ENCODER, *_DECODER)
        if self._read and not of_class:
            return False  # the class reads no such key
        if prefix and not self._looked_at(prefix):
            return False
        if _numbers(self._lookup(f"{prefix}depths", of_class)[1]) is not None:
            return True
        return any(size_of(self._lookup(prefix + n, of_class)[1]) is not None for n in names)

    def main_section(self) -> str:
        """Where the main stack is described: the first section with layers, text before others;
        the top where there are none."""
        if self._is_diffusion:
            return ""
        for of_class in (True, False):
            for prefix in (*_TEXT, *_VISION, *_AUDIO):
                if self._has_layers(prefix, of_class):
                    return prefix
        return ""

    def main_stack(self, prefix: str) -> None:
        """Layers, and what goes with them."""
        self._layers(prefix)
        for name, spellings in _MAIN.items():
            self.take(name, prefix, spellings)
        for name, spellings in _LISTS.items():
            self.take(name, prefix, spellings, _numbers)
        if self._values.get("decoder_heads") == self._values.get("heads"):
            self._values.pop("decoder_heads", None)
            self._keys.pop("decoder_heads", None)

    def checked(self, main: str, lengths: Collection[int]) -> None:
        """Only counts of layers stay that a list of the class's modules has: a key of that name may
        mean stages or the layers of an LSTM. ALBERT's layers share one set of weights."""
        if not lengths or self._config.get("model_type") == "albert":
            return
        for name in ("layers", "encoder_layers", "decoder_layers"):
            stages = self._keys.get(name, "").endswith("num_encoder_blocks")
            if name in self._values and (stages or self._values[name] not in lengths):
                if main in (*_VISION, *_AUDIO):  # not what the class is made of
                    self._values = {}
                    self._keys = {}
                    return
                del self._values[name], self._keys[name]

    def _layers(self, prefix: str) -> None:
        """One count; two for an encoder-decoder."""
        of_class = self._has_layers(prefix, True)
        if prefix == "decoder." and self._has_layers("encoder.", of_class):
            self.take("encoder_layers", "encoder.", _LAYERS)
            self.take("decoder_layers", prefix, (*_DECODER, *_LAYERS))
            return

        def present(names: Sequence[str]) -> list[str]:
            values = [self._lookup(prefix + name, of_class) for name in names]
            return [n for n, (_, v) in zip(names, values, strict=True) if size_of(v) is not None]

        encoder = present(_ENCODER)
        decoder = present(_DECODER)
        others = present(_LAYERS)
        if decoder and (encoder or others):
            self.take("encoder_layers", prefix, encoder or others)
            self.take("decoder_layers", prefix, decoder)
        elif encoder or others or not self._is_encoder:
            self.take("layers", prefix, encoder or others or decoder)
        if not decoder:
            self.take("layers", prefix, _LISTED, _length)

    def inputs(self, main: str) -> None:
        """Images, spectrograms and latents."""
        for prefix in dict.fromkeys((*_VISION, "encoder.", main, "")):
            self.take("image_size", prefix, ("image_size", "img_size"), _sides)
            self.take("patch_size", prefix, ("patch_size",), _sides)
        for prefix in dict.fromkeys((*_AUDIO, main, "")):
            self.take("mel_bins", prefix, ("num_mel_bins", "n_mels"))
        if self._is_diffusion:
            self.take("sample_size", "", ("sample_size",), _sides)
            self.take("in_channels", "", ("in_channels",))
            self.take("latent_channels", "", ("latent_channels", "z_dim"))


def stack_lengths(root: Module) -> frozenset[int]:
    """How long the lists of modules in a tree are."""
    lengths: set[int] = set()
    for module in each_module(root):
        if isinstance(module, ModuleList):
            listed = module.children.values()
            lengths.add(len(listed))
            lengths.add(sum(not isinstance(child, Module) or child.saved for child in listed))
    return frozenset(lengths)


def size_of(value: object) -> int | None:
    """A whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return int(value) if 0 < value < _MOST else None


def _numbers(value: object) -> tuple[int, ...] | None:
    """A list of them."""
    if not isinstance(value, (list, tuple)) or not 0 < len(value) <= 64:
        return None
    sizes = [size_of(item) for item in value]
    return tuple(s for s in sizes if s is not None) if None not in sizes else None


def _length(value: object) -> int | None:
    """How long a list or a pattern of characters is."""
    return size_of(len(value)) if isinstance(value, (list, str)) else None


def _sides(value: object) -> int | tuple[int, ...] | None:
    """A side, or the two sides; one number for a square."""
    if isinstance(value, Mapping) and {"height", "width"} <= set(value):
        value = [value["height"], value["width"]]
    sides = _numbers(value)
    if sides is None:
        return size_of(value)
    return sides[0] if len(set(sides)) == 1 else sides
