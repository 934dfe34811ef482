"""TorchScript code in an archive: operators that reach files or other machines.

``torch.jit.load`` runs ``__setstate__`` of each class in ``code/``, and the rest runs with the
model. TorchScript has no Python in it, but of its 4,374 operators (torch 2.13,
``torch._C._jit_get_all_schemas``) a few write or map files, or call other machines. A name stands
for an operator only as an attribute, whatever ``torch`` or ``ops`` was assigned to, or as the text
of ``getattr``, with which the serializer writes names that begin with a digit.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from ...errors import FormatError

#: The rule of the errors here.
REACHES_OUT: Final = "torchscript-code"
#: Bytes of one file of code; detectors have some megabytes.
MAX_CODE: Final = 16 * 1024 * 1024
#: Files of code of one archive.
MAX_CODE_MEMBERS: Final = 2_000
#: Places that are reported of one file.
_SHOWN: Final = 5
#: What each operator does.
_OPERATORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "save": "writes a file",
        "from_file": "maps a file, and may create it",
        "load_tensor": "reads a file",
        "rpc_sync": "calls another machine",
        "rpc_async": "calls another machine",
        "rpc_remote": "calls another machine",
    }
)
#: Between a dot and a name its lexer (torch/csrc/jit/frontend/lexer.cpp) skips these.
_REACH: Final = re.compile(
    rf"\.(?:\s|\\|#[^\n]*\n)*(?P<name>{'|'.join(_OPERATORS)})(?!\w)|(?<!\w)(?P<get>getattr)(?!\w)",
    re.ASCII,
)
#: The serializer's own, such as ``getattr(self, "0")``.
_PLAIN_GET: Final = re.compile(r"""getattr\([\w.]+, "(\w+)"\)""", re.ASCII)
_REBOUND: Final = re.compile(r"(?<![\w.])self\s*(?:=(?!=)|,)", re.ASCII)


def is_code(member: str) -> bool:
    """Whether the loader reads a member of this name as code."""
    return member.endswith(".py") and (member.startswith("code/") or "/code/" in member)


def reaching_operators(path: str, data: bytes) -> Iterator[FormatError]:
    """Where one file of code reaches out of the model, the first few places."""
    text = data.decode("latin-1")
    for match in islice(_reaching(text), _SHOWN):
        line = text.count("\n", 0, match.start()) + 1
        name = match["name"]
        what = f"calls {name}, which {_OPERATORS[name]}" if name else "calls getattr"
        yield FormatError(
            path,
            what,
            rule=REACHES_OUT,
            where=f"line {line}",
            expected="code that works on tensors alone",
            hint="do not load it: torch.jit.load runs __setstate__, and the model the rest",
        )


def _reaching(text: str) -> Iterator[re.Match[str]]:
    self_is_own = not _REBOUND.search(text)
    for match in _REACH.finditer(text):
        plain = _PLAIN_GET.match(text, match.start())
        if plain and plain[1] not in _OPERATORS:
            continue
        before = text[: match.start()].rstrip()
        is_own = self_is_own and re.search(r"(?<![\w.])self$", before[-8:], re.ASCII)
        if not (is_own and _declares(text, match["name"])):
            yield match


def _declares(text: str, name: str | None) -> bool:
    """Whether a class of the file has an attribute or a method of this name."""
    return name is not None and bool(re.search(rf"\n +(?:def {name}\(|{name} : )", text))
