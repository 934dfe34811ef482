"""What a repo of several parts declares, next to what lies there: the evidence about parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from itertools import islice
from typing import Any, Final

from ...checkpoints.filenames import FileKind, WeightName, weight_name
from ...checkpoints.repo_layout import PIPELINE_FILE, config_name, settings_path
from ...core.records import dataclass
from ...layers.sentence_modules import (
    FAMILY,
    ROUTERS,
    SIZED_BY_TOKENIZER,
    TRANSFORMERS,
    WEIGHTLESS,
    own_class,
)
from ...sources.source import FileEntry
from ...trees.catalog import index
from ..declared_class import NAMES_A_MODEL, NO_MODEL

#: Libraries whose classes load weights of PyTorch alone.
_OF_TORCH: Final = ("diffusers", "transformers", "stable_diffusion")
#: Classes of these libraries that load other formats, by their beginning.
_OF_OTHERS: Final = re.compile(r"(?:Flax|Onnx|ORT|OV|TF)[A-Z].*")
#: Parts that a pipeline runs without, as people delete their folders and pass None.
_LEFT_OUT: Final = frozenset({"safety_checker"})

#: Files of which a class needs one. Sources: ``config_name`` of SchedulerMixin in diffusers; in
#: transformers ``IMAGE_PROCESSOR_NAME``, ``PROCESSOR_NAME`` and ``vocab_files_names``.
_SCHEDULER: Final = re.compile(r"scheduler_config\.json")
_PROCESSOR: Final = re.compile(
    r"(?:preprocessor|processor|image_processor|video_preprocessor|tokenizer)_config\.json"
    r"|tokenizer\.json"
)
_TOKENIZER: Final = re.compile(
    r"tokenizer_config\.json|tokenizer\.json|vocab\.\w+|merges\.txt|tekken\.json|.*\.(?:model|spm"
    r"|tiktoken|vocab|bpe)|(?:source|target)\.spm|vocab-.*|spiece\.model|bpe\.codes"
)
_ANY: Final = re.compile(r".+", re.DOTALL)

#: Modules of sentence-transformers that cannot be made without their config: their ``__init__``
#: has arguments without a default. Source: ``sentence_transformers/*/modules``.
_NEEDS_CONFIG: Final = frozenset(
    {
        "BoW",
        "CNN",
        "Dense",
        "LSTM",
        "LayerNorm",
        "Pooling",
        "SparseAutoEncoder",
        "WeightedLayerPooling",
        "WordWeights",
    }
)


#: Parts that are looked at: pipelines have some ten, and a file can declare any number.
MAX_DECLARED: Final = 128


@dataclass(frozen=True)
class PartsEvidence:
    """A pipeline of diffusers or a model of sentence-transformers, as it lies there.

    ``declared`` maps each part's folder (the root's is empty) to the class that ``naming`` (the
    file) gives it, in order; ``configs`` are those of the folders that could be read, ``files`` all
    files below the root. ``settings`` is sentence_bert_config.json or one of its kin, by folder.
    Unless ``complete``, there may be files that ``files`` does not name.
    """

    naming: str
    class_name: str | None
    declared: Mapping[str, str]
    configs: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, FileEntry]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    complete: bool = True

    @property
    def is_pipeline(self) -> bool:
        return self.naming == PIPELINE_FILE

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The declared folders, as many as are looked at."""
        return tuple(islice(self.declared, MAX_DECLARED))

    def config_path(self, part: str) -> str:
        return f"{part}/{config_name(self.declared.get(part))}".lstrip("/")

    def settings_path(self, part: str) -> str | None:
        """Where sentence-transformers has the length of a transformer."""
        return settings_path(self.files, part)

    def place(self, part: str) -> Mapping[str, FileEntry]:
        """The files of a part by their names: those in its folder, or those of the root, where
        diffusers looks for a part that has no folder."""
        if not self.is_pipeline or part in self._folders:
            return self._by_folder.get(part, {})
        return self._by_folder.get("", {})

    def has_folder(self, part: str) -> bool:
        return not part or part in self._folders

    @cached_property
    def _by_folder(self) -> Mapping[str, dict[str, FileEntry]]:
        folders: dict[str, dict[str, FileEntry]] = {}
        for path, entry in self.files.items():
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, {})[name] = entry
        return folders

    @cached_property
    def _folders(self) -> frozenset[str]:
        """All folders, those too that hold nothing but folders."""
        folders: set[str] = set()
        for folder in self._by_folder:
            parent = folder
            while parent and parent not in folders:
                folders.add(parent)
                parent = parent.rpartition("/")[0]
        return frozenset(folders)


def holds_weights(evidence: PartsEvidence, part: str) -> bool:
    """Whether a part of its class has weights of its own, as far as that is known."""
    declared = evidence.declared[part]
    name = own_class(declared)
    if name is not None:
        return name in TRANSFORMERS or name in FAMILY.classes or name in SIZED_BY_TOKENIZER
    if declared.rpartition(".")[2] in index().classes:
        return True
    if NO_MODEL.fullmatch(declared):
        return False
    return any(key in evidence.configs.get(part, {}) for key in NAMES_A_MODEL)


def may_be_left_out(part: str, declared: str) -> bool:
    """Whether nothing of a part has to be there: it has neither weights nor settings."""
    name = own_class(declared)
    if name is not None:
        known = name in WEIGHTLESS or name in ROUTERS or name in TRANSFORMERS
        return (known or name in FAMILY.classes) and name not in _NEEDS_CONFIG
    return part in _LEFT_OUT


def weights_there(evidence: PartsEvidence, part: str) -> list[WeightName]:
    """The weight files of a part; one without a byte is none."""
    place = evidence.place(part)
    names = [weight_name(name) for name, entry in place.items() if entry.size != 0]
    return [name for name in names if name is not None and name.kind is not FileKind.TRAINING]


def unloadable(evidence: PartsEvidence, part: str, weights: list[WeightName]) -> str | None:
    """The format of a part's weights where its class loads another one."""
    library, _, name = evidence.declared[part].partition(".")
    if library not in _OF_TORCH or _OF_OTHERS.match(name) or not weights:
        return None
    foreign = all(one.kind is FileKind.FOREIGN for one in weights)
    return weights[0].format if foreign else None


def needed_file(evidence: PartsEvidence, part: str) -> re.Pattern[str] | None:
    """What one of a part's files has to be called; None where none has to be there."""
    declared = evidence.declared[part]
    name = own_class(declared)
    if name is not None:
        return re.compile(re.escape(config_name(declared))) if name in _NEEDS_CONFIG else None
    if not evidence.is_pipeline:
        return None
    bare = declared.rpartition(".")[2]
    if "Scheduler" in bare:
        return _SCHEDULER
    if "Tokenizer" in bare and bare not in index().classes:
        return _TOKENIZER
    if "Processor" in bare or "FeatureExtractor" in bare:
        return _PROCESSOR
    return _ANY
