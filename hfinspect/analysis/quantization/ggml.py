"""GGUF: elements in the header are weights already; blocks hold their own scales."""

from collections.abc import Sequence

from ...core.checkpoint import Shard
from ...core.components import Role
from ...core.results import Quantization
from ...formats.gguf.ggml_types import GGML_TYPES_BY_NAME
from ...formats.gguf.gguf import describe
from .decoding import Decoded, Decoding, Holds

#: Per-tensor factors that llama.cpp keeps next to NVFP4 and ternary weights.
_SCALES = frozenset({"scale", "input_scale"})


def decode(shards: Sequence[Shard]) -> Decoding:
    """Bytes and elements of the types that pack, and the name of the mixture."""
    facts = describe(shards[0].metadata)
    tensors: dict[str, Decoded] = {}
    roles: dict[str, int] = {}
    types: dict[str, int] = {}
    for shard in shards:
        for tensor in shard.tensors:
            module, _, suffix = tensor.name.rpartition(".")
            kind = GGML_TYPES_BY_NAME.get(tensor.dtype)
            if suffix in _SCALES:
                name = f"{module}.weight"
                tensors[tensor.name] = Decoded(name, Role.QUANTIZATION, 0, Holds.SCALES)
                roles["scales"] = roles.get("scales", 0) + tensor.nbytes
            elif kind is not None and kind.block > 1:
                roles["weights"] = roles.get("weights", 0) + tensor.nbytes
                types[tensor.dtype] = types.get(tensor.dtype, 0) + tensor.elements
    if not types:
        return Decoding(tensors)
    return Decoding(
        tensors,
        Quantization(
            method="gguf",
            packed_parameters=sum(types.values()),
            packed_bytes=roles.get("weights", 0),
            roles=roles,
            scheme=facts.file_type or ", ".join(sorted(types)),
            widths=dict(sorted(types.items())),
        ),
    )
