"""A pickle interpreter that executes nothing.

It follows the stack discipline of Python's ``pickle`` (protocols 0 to 5, ``Lib/pickletools.py``
describes every opcode) but has no way to import a module or to call anything that a file names.

Time and memory are bounded by the limits in ``pickle_state``; malformed streams end in FormatError
(``pickle-truncated`` if the stream just stops, else ``pickle-malformed``), excess in LimitError.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import FormatError, HfinspectError, LimitError
from .literals import LITERALS
from .nodes import BadPickleArgumentsError, PickleGlobal
from .opcodes import OPCODES
from .state import MAX_OPCODES, PickleState

_STOP = 0x2E
#: Indexed by the opcode's byte.
_HANDLERS = [(LITERALS | OPCODES).get(code) for code in range(256)]


class PickleMachine(PickleState):
    """Interprets one pickle."""

    def run(self) -> object:
        """The value of the pickle. Raises FormatError or LimitError, nothing else."""
        data, size, left = self.data, len(self.data), MAX_OPCODES
        try:
            while self.position < size:
                self.opcode_at = self.position
                opcode = data[self.position]
                self.position += 1
                if opcode == _STOP:
                    return self.pop()
                left -= 1
                if left < 0:
                    raise self.limit("the number of opcodes", MAX_OPCODES)
                handler = _HANDLERS[opcode]
                if handler is None:
                    raise self.malformed(f"unknown opcode 0x{opcode:02x}")
                handler(self)
        except BadPickleArgumentsError as error:
            raise self.malformed(str(error)) from None
        raise self.truncated()


class PickleScan(NamedTuple):
    """Every global up to the end of the pickle, or up to ``error`` where it could not go on."""

    globals: tuple[PickleGlobal, ...]
    error: HfinspectError | None
    stop: int


def scan_pickle(data: bytes, *, subject: str = "pickle", start: int = 0) -> PickleScan:
    """Names that one pickle asks for. A stream that breaks off has asked for them all the same."""
    machine = PickleMachine(data, subject=subject, start=start)
    error: HfinspectError | None = None
    try:
        machine.run()
    except (FormatError, LimitError) as caught:
        error = caught
    return PickleScan(tuple(machine.globals), error, machine.position)


def globals_of(data: bytes) -> list[tuple[str, str, int]]:
    """(module, name, position in bytes) of every global in one pickle, in order.

    For a damaged pickle, those up to the damage; ``scan_pickle`` also tells the error.
    """
    return [(found.module, found.name, found.position) for found in scan_pickle(data).globals]
