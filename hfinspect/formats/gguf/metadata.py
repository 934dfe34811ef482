"""What a GGUF file says of its model, key names translated to plain facts."""

from collections.abc import Mapping

from ...core.once import once_each
from ...core.records import dataclass
from .file_kinds import kind_of_file
from .ggml_types import FILE_TYPES

#: A number for the whole model, or one for each layer.
PerLayer = int | tuple[int, ...] | None


@dataclass(frozen=True)
class GgufFacts:
    """Facts of the key-values; None where the file does not say.

    ``type`` is "model", or another of ``file_kinds``. ``file_type`` is
    the mixture's name ("Q4_K_M"). Numbers that differ by layer are tuples. ``head_dim`` is the
    key's length, derived as hidden_size / heads where the file leaves it out, as its readers do.
    ``split`` is (number from 0, files, tensors in all files) of a file that is one of several.
    """

    architecture: str | None = None
    type: str = "model"
    name: str | None = None
    size_label: str | None = None
    file_type: str | None = None
    quantization_version: int | None = None
    layers: int | None = None
    context_length: int | None = None
    hidden_size: PerLayer = None
    intermediate_size: PerLayer = None
    heads: PerLayer = None
    kv_heads: PerLayer = None
    head_dim: int | None = None
    value_dim: int | None = None
    q_lora_rank: int | None = None
    kv_lora_rank: int | None = None
    sliding_window: int | None = None
    sliding_window_pattern: PerLayer = None
    vocab_size: int | None = None
    experts: PerLayer = None
    experts_used: PerLayer = None
    experts_shared: PerLayer = None
    expert_intermediate_size: PerLayer = None
    dense_layers: int | None = None
    rope_dims: int | None = None
    rope_theta: float | None = None
    rope_scaling: str | None = None
    tokenizer: str | None = None
    tokens: int | None = None
    merges: int | None = None
    chat_template: bool = False
    split: tuple[int, int, int | None] | None = None


class GgufMetadata(dict[str, object]):
    """The key-values of one file, which do not change once they are read."""


@once_each
def describe(metadata: Mapping[str, object]) -> GgufFacts:
    """Facts from a shard's metadata. Pure; values of an unexpected type count as not said."""
    arch = _text(metadata.get("general.architecture"))
    of_arch = _Prefixed(metadata, arch or "")
    heads = of_arch.per_layer("attention.head_count")
    hidden = of_arch.per_layer("embedding_length")
    head_dim = of_arch.integer("attention.key_length")
    if head_dim is None and isinstance(heads, int) and isinstance(hidden, int) and heads:
        head_dim = hidden // heads
    tokens = _length(metadata.get("tokenizer.ggml.tokens"))
    file_type = _integer(metadata.get("general.file_type"))
    kv_heads = of_arch.per_layer("attention.head_count_kv")
    theta = of_arch.get("rope.freq_base")
    return GgufFacts(
        architecture=arch,
        type=kind_of_file(metadata),
        name=_text(metadata.get("general.name")),
        size_label=_text(metadata.get("general.size_label")),
        file_type=None if file_type is None else FILE_TYPES.get(file_type, f"FTYPE_{file_type}"),
        quantization_version=_integer(metadata.get("general.quantization_version")),
        layers=of_arch.integer("block_count"),
        context_length=of_arch.integer("context_length"),
        hidden_size=hidden,
        intermediate_size=of_arch.per_layer("feed_forward_length"),
        heads=heads,
        kv_heads=heads if kv_heads is None else kv_heads,
        head_dim=head_dim,
        value_dim=of_arch.integer("attention.value_length") or head_dim,
        q_lora_rank=of_arch.integer("attention.q_lora_rank"),
        kv_lora_rank=of_arch.integer("attention.kv_lora_rank"),
        sliding_window=of_arch.integer("attention.sliding_window"),
        sliding_window_pattern=of_arch.per_layer("attention.sliding_window_pattern"),
        vocab_size=of_arch.integer("vocab_size") or tokens,
        experts=of_arch.per_layer("expert_count"),
        experts_used=of_arch.per_layer("expert_used_count"),
        experts_shared=of_arch.per_layer("expert_shared_count"),
        expert_intermediate_size=of_arch.per_layer("expert_feed_forward_length"),
        dense_layers=of_arch.integer("leading_dense_block_count"),
        rope_dims=of_arch.integer("rope.dimension_count"),
        rope_theta=float(theta) if isinstance(theta, (int, float)) else None,
        rope_scaling=_text(of_arch.get("rope.scaling.type")),
        tokenizer=_text(metadata.get("tokenizer.ggml.model")),
        tokens=tokens,
        merges=_length(metadata.get("tokenizer.ggml.merges")),
        chat_template="tokenizer.chat_template" in metadata,
        split=_split(metadata),
    )


def _split(metadata: Mapping[str, object]) -> tuple[int, int, int | None] | None:
    number = _integer(metadata.get("split.no"))
    count = _integer(metadata.get("split.count"))
    if number is None or count is None or count < 2:
        return None
    return number, count, _integer(metadata.get("split.tensors.count"))


class _Prefixed:
    """Keys of one architecture: ``llama.block_count`` by ``block_count``."""

    def __init__(self, metadata: Mapping[str, object], prefix: str) -> None:
        self._metadata = metadata
        self._prefix = prefix

    def get(self, key: str) -> object:
        return self._metadata.get(f"{self._prefix}.{key}")

    def integer(self, key: str) -> int | None:
        return _integer(self.get(key))

    def per_layer(self, key: str) -> PerLayer:
        value = self.get(key)
        if isinstance(value, list):
            items = [item for item in value if isinstance(item, int)]
            return tuple(items) if len(items) == len(value) else None
        return _integer(value)


def _integer(value: object) -> int | None:
    return value if type(value) is int else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _length(value: object) -> int | None:
    """Items of an array, kept in full or in part."""
    if isinstance(value, list):
        return len(value)
    length = value.get("length") if isinstance(value, dict) else None
    return _integer(length)
