"""What is asked about: every recorded config, and every fixture that is a model or part of one."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from ..architectures import recordings
from ..oracle_folder import ORACLE

FIXTURES = ORACLE.parent
#: Folders of ``fixtures/oracle`` of which the first config of each class is asked about: they have
#: many of each, and ``recorded`` has what they were made from.
_FIRST_OF_CLASS = ("traced", "caches", "activations.json")
#: These are inputs of recorders, or what ``recordings`` reads.
_NOT_WALKED = ("cases", "recorded")
_LARGEST_NAME = 80


@dataclass(frozen=True)
class Subject:
    """A model: ``name`` says where it is from, ``write`` puts it into an empty folder. Of some only
    a few verbs are asked."""

    name: str
    write: Callable[[Path], object]
    verbs: frozenset[str] | None = None

    @property
    def called(self) -> str:
        """What the folder is called in the output."""
        last = re.sub(r"[^\w.-]+", "-", self.name.rpartition("/")[2]).lstrip("-.")
        return last[:_LARGEST_NAME] or "model"


def everything() -> Iterator[Subject]:
    """The recorded configs, then the other fixtures; no two subjects have one name."""
    yield from _of_configs(configs())
    yield from fixtures()


def naming(words: Set[str]) -> list[Subject]:
    """The recorded configs that name one of these types or classes, in a section too."""
    return list(_of_configs((name, c) for name, c in configs() if words & set(_named(c))))


def _named(value: Any) -> Iterator[str]:
    """The types and classes that a config names."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("model_type", "_class_name") and isinstance(item, str):
                yield item
            elif key == "architectures" and isinstance(item, list):
                yield from (name for name in item if isinstance(name, str))
            else:
                yield from _named(item)


def _of_configs(rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[Subject]:
    """Each config once, whatever file holds it."""
    seen: set[str] = set()
    names: set[str] = set()
    for name, config in rows:
        text = json.dumps(config, sort_keys=True)
        if text not in seen:
            seen.add(text)
            yield _unique(names, name, partial(_write_config, config))


def _unique(names: set[str], name: str, write: Callable[[Path], object]) -> Subject:
    free = name
    number = 1
    while free in names:
        number += 1
        free = f"{name}-{number}"
    names.add(free)
    return Subject(free, write)


def configs() -> Iterator[tuple[str, dict[str, Any]]]:
    """The recorded configs: as given, the first of each type as saved too; then those that other
    files of ``fixtures/oracle`` hold."""
    types: set[str | None] = set()
    classes: set[tuple[Any, Any]] = set()
    for family, label, record in recordings.everything():
        forms = recordings.spellings(record)
        yield f"recorded/{family}/{label}", forms.get("given") or forms["empty"]
        classes.add((record["model_type"], record["architecture"]))
        if "saved" in forms and record["model_type"] not in types:
            types.add(record["model_type"])
            yield f"recorded/{family}/{label}-saved", forms["saved"]
    for path in sorted(ORACLE.rglob("*.json")):
        place = path.relative_to(ORACLE).with_suffix("").as_posix()
        folder = path.relative_to(ORACLE).parts[0]
        if folder in _NOT_WALKED:
            continue
        for name, config in _held(json.loads(path.read_text(encoding="utf-8")), place):
            kind = _class_of(config)
            if folder not in _FIRST_OF_CLASS or kind not in classes:
                yield name, config
                classes.add(kind)


def _class_of(config: Mapping[str, Any]) -> tuple[Any, Any]:
    named = config.get("architectures") or [config.get("_class_name")]
    return config.get("model_type"), named[0] if isinstance(named, list) else named


def _held(value: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The configs in a JSON value: what names a class or a type, or what a recording gives of one
    that it names."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _held(item, f"{place}/{number}")
    elif isinstance(value, dict):
        given = value.get("given", value.get("config"))
        if "architecture" in value and "model_type" in value:
            if isinstance(given, dict):
                yield place, {**given, **_head(value)}
        elif isinstance(value.get("model_type") or value.get("_class_name"), str):
            yield place, value
        else:
            for key, item in value.items():
                yield from _held(item, f"{place}/{key}")


def _head(record: Mapping[str, Any]) -> dict[str, Any]:
    if record["model_type"] is None:
        return {"_class_name": record["architecture"]}
    return {"model_type": record["model_type"], "architectures": [record["architecture"]]}


def _write_config(config: Mapping[str, Any], folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def fixtures() -> Iterator[Subject]:
    """Models and checkpoints as they lie in ``fixtures``, broken and sound ones of every rule, and
    the files of libraries and of attackers."""
    from ..auditing.recipes import FOLDER as RECIPES

    for root in ("models", "checkpoints"):
        for path in sorted((FIXTURES / root).iterdir()):
            if path.is_dir() and path != RECIPES:
                yield Subject(f"{root}/{path.name}", partial(_copy, path))
    yield from _audited()
    yield from _packed_files()
    yield from _trusted()


def _copy(path: Path, folder: Path) -> None:
    shutil.copytree(path, folder, dirs_exist_ok=True, symlinks=True)


def _audited() -> Iterator[Subject]:
    from ..auditing.recipes import FOLDER

    for path in sorted(FOLDER.glob("*.json")):
        yield Subject(f"checkpoints/audit/{path.stem}", partial(_damage, path))


def _damage(recipe: Path, folder: Path) -> None:
    from ..auditing.recipes import build, load

    build(folder, load(recipe))


def _packed_files() -> Iterator[Subject]:
    """Small repos whose files are kept as text in one JSON file."""
    for room in ("sentence_transformers", "tokenizers"):
        for path in sorted((ORACLE / room).glob("*.json")):
            files = json.loads(path.read_text(encoding="utf-8")).get("files")
            if isinstance(files, dict):
                yield Subject(f"{room}/{path.stem}", partial(_write_texts, files))


def _write_texts(files: Mapping[str, Any], folder: Path) -> None:
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        _write(folder, name, text.encode())


def _write(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _trusted() -> Iterator[Subject]:
    """Files that run code, and files as libraries save them; of these the audit is asked, and what
    is in them."""
    from ..trust.benign import benign_files
    from ..trust.disguised import every_sample

    verbs = frozenset({"audit", "inspect"})
    for number, sample in enumerate(every_sample()):
        name = f"trust/{sample.category}/{number}"
        yield Subject(name, partial(_write, name=sample.file, content=sample.data), verbs)
    for name, content in benign_files().items():
        file = name.rpartition("/")[2]
        yield Subject(f"trust/benign/{name}", partial(_write, name=file, content=content), verbs)
    for path in sorted((FIXTURES / "trust").glob("keras_*.json")):
        for name, entry in json.loads(path.read_text(encoding="utf-8"))["files"].items():
            content = lzma.decompress(base64.b64decode(entry))
            yield Subject(f"trust/{name}", partial(_write, name=name, content=content), verbs)


def those(only: str | None, part: tuple[int, int] = (1, 1)) -> list[Subject]:
    """The subjects whose names a pattern matches, and of these every n-th."""
    number, parts = part
    matching = [s for s in everything() if only is None or fnmatchcase(s.name, only)]
    return matching[number - 1 :: parts]


def placed(subject: Subject, room: Path) -> Path:
    """The folder that holds the subject's own, written unless it is there: it is called after what
    is in it, so that no other content has its path."""
    with tempfile.TemporaryDirectory(dir=room, prefix=".new-") as made:
        folder = Path(made) / "held" / subject.called
        folder.mkdir(parents=True)
        subject.write(folder)
        place = room / _digest(folder.parent)
        if not place.exists():
            try:
                folder.parent.rename(place)
            except OSError:
                if not place.exists():  # otherwise another process was faster
                    raise
    return place


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path.relative_to(folder)}\n".encode())
        if path.is_symlink():
            digest.update(str(path.readlink()).encode())
        elif path.is_file():
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
    return digest.hexdigest()[:20]
