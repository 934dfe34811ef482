"""A pickle interpreter that executes nothing.

It follows the stack discipline of Python's ``pickle`` (protocols 0 to 5, ``Lib/pickletools.py``
describes every opcode) but has no way to import a module or to call anything that a file names.

Time and memory are bounded by the limits in ``state``; malformed streams end in FormatError,
excess in LimitError. Rules: ``pickle-truncated`` if the stream just stops, ``pickle-malformed``
where every unpickler stops, ``pickle-unfollowed`` where some unpickler would go on.
"""

from ...errors import FormatError
from .literals import LITERALS
from .nodes import BadPickleArgumentsError
from .opcodes import OPCODES
from .state import MAX_OPCODES, PickleState

_STOP = 0x2E
#: Indexed by the opcode's byte.
_HANDLERS = [(LITERALS | OPCODES).get(code) for code in range(256)]


class PickleMachine(PickleState):
    """Interprets one pickle."""

    #: Opcodes that may still follow.
    left = MAX_OPCODES

    def run(self) -> object:
        """The value of the pickle. Raises FormatError or LimitError, nothing else."""
        self.left = min(self.left, MAX_OPCODES)
        try:
            finished = self._interpret()
            while not finished:
                finished = self._interpret()
        except BadPickleArgumentsError as error:
            raise self.malformed(str(error)) from None
        return self.pop()

    def _interpret(self) -> bool:
        """Go on until the pickle ends (True) or more of the file is at hand (False)."""
        try:
            self._follow()
        except FormatError as error:
            # Every opcode takes its bytes before it changes anything, so it can begin again.
            if error.rule != "pickle-truncated" or not self._read_on():
                raise
            return False
        return True

    def _follow(self) -> None:
        while self.position < len(self.data):
            self.opcode_at = self.position
            opcode = self.data[self.position]
            self.position += 1
            if opcode == _STOP:
                return
            self.left -= 1
            if self.left < 0:
                raise self.limit("the number of opcodes", MAX_OPCODES)
            handler = _HANDLERS[opcode]
            if handler is None:
                raise self.malformed(f"unknown opcode 0x{opcode:02x}")
            handler(self)
        self.opcode_at = self.position
        raise self.truncated()

    def _read_on(self) -> bool:
        """Take a longer piece of the file from the current opcode on."""
        if self.more is None:
            return False
        have = len(self.data) - self.opcode_at
        window = self.more(self.base + self.opcode_at, have)
        if len(window) <= have:
            return False
        self.base += self.opcode_at
        self.data = window
        self.position = 0
        self.opcode_at = 0
        return True
