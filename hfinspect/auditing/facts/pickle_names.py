"""What a name in a pickle could do when it is loaded: nothing is believed harmless but the listed.

The lists are data in ``auditing/names/``: a use, a name and a reason on each line. Uses: ``any``;
``new`` for classes of which only a bare instance may be made, as their constructors do more;
``enum`` for a class and its members, spelled in capitals; ``settled`` for functions whose every
call in the pickle is known to give another name, which is judged itself. In the list of what is
known to run code ``*`` stands for every name of a module, and of the modules below it.
"""

import re
from functools import cache
from pathlib import Path

from ...formats.pickles.nodes import MADE, NAMED, SETTLED

LISTS = Path(__file__).parent.parent / "names"

_MEMBER = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_USES = {
    "any": (SETTLED, MADE, NAMED),
    "enum": (SETTLED, MADE, NAMED),
    "new": (SETTLED, MADE),
    "settled": (SETTLED,),
}

#: What a name is found to be. Runs code, or opens files and connections, ...
RUNS_CODE = "runs"
#: ... is on no list, ...
UNKNOWN = "unknown"
#: ... or is a reviewed name of a library.
LIBRARY = "library"


@cache
def read_list(name: str) -> dict[str, tuple[str, str]]:
    """name -> (use, reason) of ``weights_only``, ``libraries`` or ``runs_code``."""
    entries: dict[str, tuple[str, str]] = {}
    for line in (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            use, dotted, reason = line.split("\t")
            entries[dotted] = (use, reason)
    return entries


def danger_of(module: str, name: str, use: str = NAMED) -> str | None:
    """RUNS_CODE, UNKNOWN or LIBRARY; None for a name that torch allows in weights.

    ``use`` is what the pickle does with the name (``formats.pickles.nodes``). Names are compared
    whole, attributes of attributes included: ``random._os.system`` is on no list, and its last
    parts are those of a name that runs code.
    """
    dotted = f"{module}.{name}"
    if dotted in read_list("weights_only"):
        return None
    if _is_reviewed(dotted, use):
        return LIBRARY
    return RUNS_CODE if _runs_code(dotted) else UNKNOWN


def _is_reviewed(dotted: str, use: str) -> bool:
    listed = read_list("libraries")
    if dotted in listed:
        return use in _USES[listed[dotted][0]]
    owner, _, member = dotted.rpartition(".")
    if listed.get(owner, ("",))[0] == "enum" and _MEMBER.fullmatch(member) is not None:
        return True
    # Libraries move their classes between modules; the class is the same under its new path.
    known = _moved().get((dotted.partition(".")[0], member))
    if known is not None and _PLAIN_PATH.fullmatch(owner) and not _runs_code(dotted):
        return use in _USES[known]
    root, _, rest = owner.rpartition(".")
    kind = _moved().get((dotted.partition(".")[0], rest))
    is_member = kind == "enum" and _MEMBER.fullmatch(member) is not None
    return bool(is_member and _PLAIN_PATH.fullmatch(root) and not _runs_code(dotted))


#: Packages whose classes are known wherever in the package they lie: importing one of their modules
#: runs nothing but the library's own code.
_PACKAGES = frozenset(
    {"transformers", "accelerate", "peft", "trl", "sentence_transformers", "diffusers", "sklearn"}
)
#: Modules below a package, none of them private.
_PLAIN_PATH = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+", re.ASCII)


@cache
def _moved() -> dict[tuple[str, str], str]:
    """(package, class) -> use; classes are spelled with a capital, and functions are left out."""
    return {
        (dotted.partition(".")[0], name): use
        for dotted, (use, _) in read_list("libraries").items()
        for name in [dotted.rpartition(".")[2]]
        if dotted.partition(".")[0] in _PACKAGES and name[:1].isupper()
    }


def _runs_code(dotted: str) -> bool:
    """Whether a name, or the end of a path of attributes, is known to run code."""
    if "<" in dotted:
        return True  # computed while it is read, so it can be anything
    parts = [part.lstrip("_") or part for part in dotted.split(".")]
    listed = _plain_names()
    for stop in range(1, len(parts) + 1):
        piece = ".".join(parts[:stop])
        if piece in listed or (f"{piece}.*" in listed and stop < len(parts)):
            return True
    return parts[-1] in _ENDS or any(part in _REACHABLE for part in parts[1:-1])


@cache
def _plain_names() -> frozenset[str]:
    names = read_list("runs_code")
    return frozenset(
        ".".join(part.lstrip("_") or part for part in name.split(".")) for name in names
    )


#: Functions that run code wherever they are reached.
_ENDS = frozenset(
    """system popen eval exec execfile Popen check_output check_call getoutput getstatusoutput
    import_module runstring run_path run_module getattribute__ getattribute get_type_hints
    FunctionType CodeType spawn import__""".split()
)

#: Modules that others import: ``torch.os.system`` is ``os.system``.
_REACHABLE = frozenset(
    """os posix nt sys subprocess builtins bltns shutil socket importlib runpy pty pickle ctypes
    builtins__""".split()
)
