"""What the safetensors library makes of a header that ours has read: a second judge of it, for a
deep audit. Where the two differ, one of them may be made to see another model than the other."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Final

from ...core.checkpoint import Shard
from ...core.text import clean
from ...sources.source import Source
from .target import WeightFact

#: The library, and the framework that it opens a file for.
NEEDED: Final = ("safetensors", "numpy")
#: A tensor as a header has it: name, dtype, shape.
Tensor = tuple[str, str, tuple[int, ...]]


class NoSecondReadingError(Exception):
    """The second judge cannot be asked; the text says why."""


def disagreement(source: Source, weight: WeightFact) -> str:
    """What the safetensors library reads otherwise than we do, or "".

    A file in which our reader found an error is a finding already, whatever the other makes of it;
    so is what the library refuses and our reader warns of (a dtype that no version knows).
    Raises NoSecondReadingError, and HfinspectError where the header cannot be read again.
    """
    shard = weight.shard
    if shard is None or shard.format != "safetensors" or shard.size is None:
        return ""
    if _has_problem(weight, "error"):
        return ""
    for module in NEEDED:
        if find_spec(module) is None:
            raise NoSecondReadingError(f"needs {module}")
    header = source.read(weight.path, 0, shard.header_bytes)
    with _without_data(header, shard.size) as path:
        return _compared(path, shard, explained=_has_problem(weight, "warning"))


@contextmanager
def _without_data(header: bytes, size: int) -> Iterator[str]:
    """A temporary file with a header and a hole in place of the data: the library checks the
    length of a file, and a hole takes no room."""
    if os.name == "nt":
        raise NoSecondReadingError("a file of Windows has no holes")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".safetensors"))
            file.write(header)
            file.truncate(size)
            file.flush()
        except OSError as error:
            reason = error.strerror or str(error)
            raise NoSecondReadingError(f"a temporary file cannot be written: {reason}") from None
        yield file.name


def _has_problem(weight: WeightFact, severity: str) -> bool:
    return any(problem.severity == severity for problem in weight.problems)


def _compared(path: str, shard: Shard, *, explained: bool) -> str:
    from safetensors import SafetensorError, __version__, safe_open

    judge = f"safetensors {__version__}"
    try:
        with safe_open(path, framework="np") as file:
            theirs = {
                (name, part.get_dtype(), tuple(part.get_shape()))
                for name in file.keys()  # noqa: SIM118 - it is no mapping
                for part in [file.get_slice(name)]
            }
    except SafetensorError as error:
        return "" if explained else f"{judge} refuses the header: {clean(str(error))}"
    except (ImportError, OSError) as error:
        raise NoSecondReadingError(f"{judge} cannot open a file: {clean(str(error))}") from None
    ours = set(_tensors(shard))
    if ours == theirs:
        return ""
    name, dtype, shape = min(ours ^ theirs)
    reader = judge if (name, dtype, shape) in theirs else "hfinspect"
    shown = f"{clean(name)}: {clean(dtype)} {list(shape)}"
    return (
        f"{judge} reads {len(theirs):,} tensors, hfinspect {len(ours):,}; only {reader} has {shown}"
    )


def _tensors(shard: Shard) -> Iterator[Tensor]:
    for tensor in shard.tensors:
        yield tensor.name, tensor.dtype, tuple(tensor.shape)
