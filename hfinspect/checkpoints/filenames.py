"""What a file is, known by its path alone.

The conventions are those of transformers (utils/__init__.py: ``model.safetensors``,
``pytorch_model.bin`` and their indexes; ``_add_variant`` for ``model.fp16.safetensors``), diffusers
(``diffusion_pytorch_model``), peft (``adapter_model``), Meta and Mistral (``consolidated``), and
llama.cpp (``-00001-of-00003.gguf``).
"""

import re
from enum import Enum
from typing import NamedTuple


class FileKind(str, Enum):
    """What part a file plays in a model's directory."""

    MODEL = "model"
    WEIGHTS = "weights"  # weights under a name of their own
    ORIGINAL = "original"  # in the layout of the model's makers, before conversion
    ADAPTER = "adapter"
    TRAINING = "training"  # optimizer, scheduler, random state: no model
    FOREIGN = "foreign"  # a format that is recognised and not read


class WeightName(NamedTuple):
    """A weight file's path, taken apart.

    ``directory`` ends with a slash unless empty. ``format`` is a name of ``formats.registry``, or,
    for FOREIGN, what people call the format. ``number`` of ``shards`` is set for a numbered
    shard. ``is_index`` marks a ``*.index.json``, which lists shards.
    """

    path: str
    directory: str
    format: str
    kind: FileKind
    stem: str
    variant: str = ""
    number: int | None = None
    shards: int | None = None
    is_index: bool = False


#: Stems under which libraries look for a model, in the order in which they are preferred.
MODEL_STEMS = ("model", "pytorch_model", "diffusion_pytorch_model", "tf_model", "flax_model")

_FORMATS = {
    ".safetensors": "safetensors",
    ".bin": "torch",
    ".pt": "torch",
    ".pth": "torch",
    ".th": "torch",
    ".ckpt": "torch",
    ".jit": "torch",
    ".pkl": "torch",
    ".gguf": "gguf",
}

#: Recognised and refused by name: suffix -> what it is.
_FOREIGN_SUFFIXES = {
    ".onnx": "ONNX",
    ".onnx_data": "ONNX",
    ".h5": "Keras HDF5",
    ".keras": "Keras",
    ".pb": "TensorFlow",
    ".tflite": "TensorFlow Lite",
    ".msgpack": "Flax",
    ".ot": "rust-bert",
    ".mlmodel": "Core ML",
    ".pdparams": "PaddlePaddle",
    ".nemo": "NeMo",
    ".ggml": "GGML",
    ".llamafile": "llamafile",
    ".engine": "TensorRT",
    ".npz": "NumPy",
    ".tensors": "Tensorizer",
    ".pte": "ExecuTorch",
    ".task": "MediaPipe",
    ".litertlm": "LiteRT",
}

#: Files with a weight suffix that are something else, by their whole name.
_FOREIGN_NAMES = (
    (re.compile(r"openvino.*\.bin", re.ASCII), "OpenVINO"),
    (re.compile(r"ggml-.*\.bin", re.ASCII), "GGML"),
    (re.compile(r".*\.(?:data-\d+-of-\d+|ckpt\.index|ckpt\.meta)", re.ASCII), "TensorFlow"),
    (re.compile(r"weight\.bin|.*\.mlpackage/.*", re.ASCII), "Core ML"),
)

#: What training leaves next to the weights (transformers.Trainer, accelerate, DeepSpeed).
_TRAINING = re.compile(
    r"(?:training_args|optimizer|scheduler|scaler|rng_state|random_states|sampler|trainer_state"
    r"|(?:.*_)?optim_states|mp_rank_\d+_model_states|zero_pp_rank)(?:[_\-.\d].*)?",
    re.ASCII,
)
_ADAPTER = re.compile(r"adapter_model|(?:.*[_\-.])?lora(?:[_\-.].*)?|adapters?", re.ASCII)
_ORIGINAL = re.compile(r"consolidated(?:[_\-.].*)?", re.ASCII)
_SHARD = re.compile(
    r"(?P<stem>.+?)[-_.](?P<number>\d{1,6})-of-(?P<count>\d{1,6})(?P<rest>(?:\.\w+)?)"
)
_VARIANT = re.compile(rf"(?P<stem>{'|'.join(MODEL_STEMS)})\.(?P<variant>[A-Za-z0-9_]+)")
_INDEX = re.compile(
    r"(?P<stem>.+?)\.(?P<suffix>safetensors|bin|pt|pth)\.index(?:\.(?P<variant>\w+))?\.json"
)


def weight_name(path: str) -> WeightName | None:
    """What kind of weight file a path names, or None if it is none."""
    directory, _, name = path.rpartition("/")
    directory = f"{directory}/" if directory else ""
    index = _INDEX.fullmatch(name)
    if index:
        format_name = _FORMATS["." + index["suffix"]]
        stem, variant = _split_variant(index["stem"])
        variant = index["variant"] or variant
        kind = _kind_of(stem, directory)
        return WeightName(path, directory, format_name, kind, stem, variant, is_index=True)
    foreign = _foreign_format(path, name)
    if foreign:
        return WeightName(path, directory, foreign, FileKind.FOREIGN, name)
    base, dot, suffix = name.rpartition(".")
    known = _FORMATS.get(f".{suffix.lower()}") if dot and base else None
    if known is None:
        return None
    shard = _SHARD.fullmatch(base)
    number = count = None
    variant = ""
    if shard:
        base = shard["stem"]
        number = int(shard["number"])
        count = int(shard["count"])
        variant = shard["rest"].lstrip(".")
    stem, in_stem = _split_variant(base)
    kind = _kind_of(stem, directory)
    return WeightName(path, directory, known, kind, stem, variant or in_stem, number, count)


def _split_variant(base: str) -> tuple[str, str]:
    match = _VARIANT.fullmatch(base)
    return (match["stem"], match["variant"]) if match else (base, "")


def _foreign_format(path: str, name: str) -> str | None:
    lower = name.lower()
    for pattern, format_name in _FOREIGN_NAMES:
        if pattern.fullmatch(lower) or pattern.fullmatch(path.lower()):
            return format_name
    _, dot, suffix = lower.rpartition(".")
    return _FOREIGN_SUFFIXES.get(f".{suffix}") if dot else None


def _kind_of(stem: str, directory: str) -> FileKind:
    lower = stem.lower()
    if _TRAINING.fullmatch(lower):
        return FileKind.TRAINING
    if lower in MODEL_STEMS:
        return FileKind.MODEL
    if _ADAPTER.fullmatch(lower) or lower.startswith("mmproj"):
        return FileKind.ADAPTER
    if _ORIGINAL.fullmatch(lower) or directory.startswith("original/"):
        return FileKind.ORIGINAL
    return FileKind.WEIGHTS
