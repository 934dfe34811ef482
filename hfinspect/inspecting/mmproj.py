"""mmproj files: the encoders of images and sounds that llama.cpp loads next to a GGUF model.

Keys: ``gguf-py/gguf/constants.py`` (ClipVision, ClipAudio) and ``tools/mtmd/clip-impl.h`` of
llama.cpp, November 2026.
"""

from collections.abc import Mapping

from ..core.checkpoint import Checkpoint, Finding
from ..core.text import clean


def is_mmproj(checkpoint: Checkpoint) -> bool:
    """Whether a GGUF file says that it is one, by its type or by the architecture of older ones."""
    if checkpoint.format != "gguf" or not checkpoint.shards:
        return False
    return holds_projector(checkpoint.shards[0].metadata)


def holds_projector(metadata: Mapping[str, object]) -> bool:
    kind = metadata.get("general.type")
    architecture = metadata.get("general.architecture")
    return kind == "mmproj" or (kind is None and architecture == "clip")


def is_beside(name: str, folder: str) -> bool:
    """Whether a file of this folder has the name of one."""
    directory, _, base = name.rpartition("/")
    return directory == folder and base.lower().startswith("mmproj") and base.endswith(".gguf")


def tensor_names(checkpoint: Checkpoint | None) -> frozenset[str]:
    shards = checkpoint.shards if checkpoint is not None else ()
    return frozenset(tensor.name for shard in shards for tensor in shard.tensors)


def about_mmproj(checkpoint: Checkpoint) -> Finding:
    """What its keys say: which projectors it has, and the images that they take."""
    metadata = checkpoint.shards[0].metadata
    words = []
    for sense in ("vision", "audio"):
        if metadata.get(f"clip.has_{sense}_encoder") is True:
            kind = metadata.get(f"clip.{sense}.projector_type") or metadata.get(
                "clip.projector_type"
            )
            kind_text = f" ({clean(kind, 40)})" if isinstance(kind, str) else ""
            words.append(f"{sense} encoder{kind_text}")
    side = metadata.get("clip.vision.image_size")
    patch = metadata.get("clip.vision.patch_size")
    if type(side) is int and type(patch) is int:
        words.append(f"images of {side:,} pixels in patches of {patch:,}")
    text = ", ".join(words) or "its keys do not name an encoder"
    sentence = f"a part that llama.cpp loads next to a GGUF model: {text}"
    return Finding("mmproj", sentence, severity="note")
