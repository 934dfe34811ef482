"""Names in YAML that loaders import and call, found by lines; nothing is built.

PyYAML's unsafe loaders call what ``!!python/...`` tags name; hyperpyyaml (SpeechBrain) what
``!new:``, ``!apply:``, ``!name:`` and ``!module:`` name; hydra, NeMo and Lightning what
``_target_`` and ``class_path`` name. A tag may be written in full (``!<tag:yaml.org,2002:...>``),
by a handle of the document's own (``%TAG``), and in escapes (``%6f``).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from .pickle_names import RUNS_CODE, danger_of

#: Files of one target that are read; each costs a request.
MAX_YAML_FILES: Final = 64
#: Bytes of each: settings are short.
MAX_YAML_BYTES: Final = 1024 * 1024
#: Findings of one file.
MAX_NAMES: Final = 50
ENDINGS: Final = (".yaml", ".yml")

#: Texts and comments, in which nothing is a tag, or a tag.
_PIECE: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|(?:^|(?<=\s))#[^\n]*|(?<![^\s,\[{(-])!(?:<[^>\n]*>|[^\s,\[\]{}]*)",
    re.DOTALL | re.MULTILINE,
)
_PYTHON: Final = re.compile(r"(?:tag:yaml\.org,2002:|!)?python/(?P<kind>[a-z/]+)(?::(?P<name>.*))?")
_HYPER: Final = re.compile(r"(?P<kind>apply|new|name|module|applyref):(?P<name>.+)")
#: Tags of PyYAML that make plain values.
_VALUES: Final = frozenset(
    "none bool str unicode bytes int long float complex list tuple dict".split()
)
_TARGET: Final = re.compile(
    r"(?:^|(?<=[\s{,\-]))(?P<quote>['\"]?)(?P<key>_target_|class_path)(?P=quote)\s*:\s*"
    r"(?:&\S+\s+)?['\"]?(?P<name>[\w.:<>-]+)",
    re.MULTILINE | re.ASCII,
)
#: Packages whose classes settings of models name.
_LIBRARIES: Final = frozenset(
    """speechbrain torch torchaudio torchvision nemo pytorch_lightning lightning omegaconf hydra
    transformers diffusers numpy sklearn hyperpyyaml timm ldm sgm espnet2 nemo_toolkit""".split()
)


class YamlName(NamedTuple):
    """``text`` says what a file names, ``runs`` whether it is known to run code."""

    text: str
    runs: bool


def decoded(data: bytes) -> str:
    """The text of a file; YAML may be in UTF-16 or UTF-32, by its first bytes."""
    for mark, name in (
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\x00\x00\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
        (b"\xef\xbb\xbf", "utf-8-sig"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace")
    return data.decode("utf-8", "backslashreplace")


def names_in(text: str) -> Iterator[YamlName]:
    """What a file of YAML makes its loader import or call, each once."""
    seen: set[YamlName] = set()
    for name in _all(text):
        if name not in seen:
            seen.add(name)
            yield name
        if len(seen) >= MAX_NAMES:
            return


def _all(text: str) -> Iterator[YamlName]:
    if re.search(r"^%TAG", text, re.MULTILINE):
        yield YamlName("gives tags another meaning (%TAG)", True)
    for piece in _PIECE.finditer(text):
        if piece[0].startswith("!"):
            yield from _tag(piece[0])
    for match in _TARGET.finditer(text):
        yield from _called(f"{match['key']}: {match['name']}", match["name"].replace(":", "."))


def _tag(written: str) -> Iterator[YamlName]:
    tag = unquote(written.lstrip("!").removeprefix("<").removesuffix(">"))
    if match := _PYTHON.fullmatch(tag):
        if match["kind"] not in _VALUES:
            yield YamlName(f"the tag {written[:100]} makes objects of Python", True)
    elif match := _HYPER.fullmatch(tag):
        yield from _called(f"the tag {written[:100]}", match["name"])


def _called(shown: str, dotted: str) -> Iterator[YamlName]:
    module, _, name = dotted.rpartition(".")
    if danger_of(module or "builtins", name) == RUNS_CODE or _reaches(dotted):
        yield YamlName(f"{shown} runs code", True)
    elif dotted.partition(".")[0] not in _LIBRARIES:
        yield YamlName(f"{shown} is not a name of a known library", False)


#: Functions of the libraries that fetch, load or write, whatever they are called by.
_ACTING: Final = re.compile(
    r"(?:^|\.)(?:load|loads|save|hub|download\w*|fromfile|memmap|tofile|genfromtxt|loadtxt|savetxt"
    r"|lib|testing|distutils|f2py|cpp_extension|ops|package|jit|compile|utils\.data\.datapipes"
    r"|run_on_main|import_from_path|fetch|pretrained|__\w+)(?:\.|$)"
)


def _reaches(dotted: str) -> bool:
    return _ACTING.search(dotted) is not None and not dotted.startswith(
        ("speechbrain.pretrained", "speechbrain.utils.parameter_transfer")
    )
