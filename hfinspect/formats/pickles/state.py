"""The state of the pickle machine: the stream, the stack, the memo, and the names it met.

A name is only ever recorded. A call is looked up by exact name in a table of builders given by
our own code; anything not in the table becomes an ``Inert`` node.
"""

import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable, MutableMapping

from ...errors import FormatError, LimitError
from .nodes import Builders, GlobalRef, Inert, OpaqueKey, PickleGlobal

#: About 30 opcodes describe a tensor, so this is some 130,000 tensors in one file; it takes a few
#: seconds and limits the number of objects, at about 100 bytes each.
MAX_OPCODES = 4_000_000
#: TorchScript nests three marks a module; nothing real goes beyond a hundred.
MAX_MARKS = 2_000
#: Items between marks: a state dict is pushed whole by PyTorch's C++ pickler.
MAX_STACK = 1_000_000
#: One text or bytes object that is not there yet; nobody reads on for more than that.
MAX_PIECE_BYTES = 64 * 1024 * 1024
#: Longer pieces are passed over unread where only names are wanted; no name is that long.
MAX_KEPT_BYTES = 16 * 1024 * 1024
#: 64-bit counts take 9 bytes, PyTorch's magic number 10, numpy's random states 16.
MAX_LONG_BYTES = 256
#: A number in text (protocol 0).
MAX_NUMBER_TEXT = 512
#: "module\nname\n" of a global; real ones are below 200.
MAX_NAME = 4_096
#: Of LONG_BINPUT's four bytes; whole numbers in text could be chosen to collide as hashes.
MAX_MEMO_INDEX = 2**32 - 1
#: Whole numbers up to here are their own hash; from there on millions of keys can share one.
MAX_INT_KEY = 2**60
#: Different names a file may load, all of which are reported.
MAX_GLOBALS = 100_000

#: More of the file: from an offset on, longer than the given number of bytes, if there is more.
More = Callable[[int, int], bytes]

_UNPACK_U2 = struct.Struct("<H").unpack_from
_UNPACK_U4 = struct.Struct("<I").unpack_from
_UNPACK_I4 = struct.Struct("<i").unpack_from
_UNPACK_U8 = struct.Struct("<Q").unpack_from
_UNPACK_F8 = struct.Struct(">d").unpack_from


def _hashes_well(key: object) -> bool:
    """Whether a key may be hashed: its hash is cheap, and not for the file's author to choose."""
    if type(key) is int:
        return -MAX_INT_KEY < key < MAX_INT_KEY
    return type(key) in (str, bytes, bool, type(None))


class PickleState:
    """One pickle in ``data`` from ``start`` on; ``position`` is the next byte to interpret."""

    def __init__(
        self,
        data: bytes,
        *,
        subject: str,
        start: int = 0,
        builders: Builders | None = None,
        persistent: Callable[[object], object] | None = None,
        more: More | None = None,
    ) -> None:
        self.data = data
        self.subject = subject
        self.base = 0  # where ``data`` begins in the file
        self.position = start
        self.opcode_at = start
        self.more = more
        self.protocol = 0
        self.frame_end = 0  # in the file
        self.stack: list[object] = []
        self.marked: list[list[object]] = []
        self.memo: MutableMapping[int, object] = {}
        self.globals: list[PickleGlobal] = []
        self.refs: dict[tuple[str, str], GlobalRef] = {}
        self._builders: Builders = builders or {}
        self._persistent = persistent

    # -- errors -------------------------------------------------------------------------------

    def malformed(self, problem: str) -> FormatError:
        return FormatError(
            self.subject,
            problem,
            rule="pickle-malformed",
            where=f"pickle byte {self.base + self.opcode_at}",
        )

    def unfollowed(self, problem: str) -> FormatError:
        """For what an unpickler may accept and go on from, and this machine cannot."""
        return FormatError(
            self.subject,
            problem,
            rule="pickle-unfollowed",
            where=f"pickle byte {self.base + self.opcode_at}",
        )

    def truncated(self) -> FormatError:
        return FormatError(
            self.subject,
            "the pickle is cut short",
            rule="pickle-truncated",
            where=f"pickle byte {self.base + self.opcode_at}",
        )

    def limit(self, what: str, limit: int) -> LimitError:
        return LimitError(
            self.subject,
            f"{what} in its pickle is too large",
            expected=f"at most {limit:,}",
            where=f"pickle byte {self.base + self.opcode_at}",
        )

    # -- the stream ---------------------------------------------------------------------------

    def take(self, count: int) -> bytes:
        start = self.position
        stop = start + count
        if stop > len(self.data):
            if self.more is not None and count > MAX_KEPT_BYTES:
                self.skip(count)
                return b""
            if count > MAX_PIECE_BYTES and self.more is None:
                raise self.limit("a piece of text or bytes", MAX_PIECE_BYTES)
            raise self.truncated()
        self.position = stop
        return self.data[start:stop]

    def skip(self, count: int) -> None:
        """Pass over bytes, without reading them where they are not there yet."""
        target = self.position + count
        if target <= len(self.data):
            self.position = target
            return
        absolute = self.base + target
        # The last of the skipped bytes is read along: where it is missing, the file is too short.
        window = self.more(absolute - 1, 0) if self.more is not None else b""
        if not window:
            self.more = None  # so that nobody tries this opcode again
            raise self.truncated()
        self.base = absolute - 1
        self.data = window
        self.position = 1

    def line(self, limit: int | None = None, looks_like: Callable[[bytes], object] = bool) -> bytes:
        """Up to the next newline, which is passed over.

        Where it does not come within ``limit``, ``looks_like`` says whether an unpickler could
        make something of the line: then that is LimitError, else the stream is malformed.
        """
        stop = self.data.find(
            b"\n", self.position, None if limit is None else self.position + limit
        )
        if stop < 0:
            if limit is not None and self.position + limit <= len(self.data):
                if not looks_like(self.data[self.position : self.position + limit]):
                    raise self.malformed("a line is not text")
                raise self.limit("a line of text", limit)
            raise self.truncated()
        text = self.data[self.position : stop]
        self.position = stop + 1
        return text

    def u1(self) -> int:
        if self.position >= len(self.data):
            raise self.truncated()
        self.position += 1
        return self.data[self.position - 1]

    def u2(self) -> int:
        return int(_UNPACK_U2(self.take(2))[0])

    def u4(self) -> int:
        return int(_UNPACK_U4(self.take(4))[0])

    def i4(self) -> int:
        return int(_UNPACK_I4(self.take(4))[0])

    def u8(self) -> int:
        return int(_UNPACK_U8(self.take(8))[0])

    def f8(self) -> float:
        return float(_UNPACK_F8(self.take(8))[0])

    def text(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise self.malformed("text is not UTF-8") from None

    # -- the stack ----------------------------------------------------------------------------

    def push_again(self, value: object) -> None:
        """Push what is there already, from the memo or the stack."""
        if type(value) is GlobalRef:
            value.pushed += 1
        self.push(value)

    def push(self, value: object) -> None:
        if len(self.stack) >= MAX_STACK:
            raise self.limit("the stack", MAX_STACK)
        self.stack.append(value)

    def pop(self) -> object:
        if not self.stack:
            raise self.malformed("the stack is empty")
        return self.stack.pop()

    def top(self) -> object:
        if not self.stack:
            raise self.malformed("the stack is empty")
        return self.stack[-1]

    def mark(self) -> None:
        if len(self.marked) >= MAX_MARKS:
            raise self.limit("the nesting", MAX_MARKS)
        self.marked.append(self.stack)
        self.stack = []

    def pop_mark(self) -> list[object]:
        if not self.marked:
            raise self.malformed("there is no mark")
        items = self.stack
        self.stack = self.marked.pop()
        return items

    def remember(self, index: int) -> None:
        if not 0 <= index <= MAX_MEMO_INDEX:
            raise self.limit("a memo index", MAX_MEMO_INDEX)
        self.memo[index] = self.top()

    def recall(self, index: int) -> None:
        if index not in self.memo:
            raise self.malformed(f"memo entry {index} was never stored")
        self.push_again(self.memo[index])

    # -- names and calls ----------------------------------------------------------------------

    def find_global(self, module: str, name: str) -> None:
        """Push a reference and record the name. This is all that ever happens to a name."""
        if self.protocol < 3:  # as unpicklers do with what Python 2 wrote
            if (module, name) in NAME_MAPPING:
                module, name = NAME_MAPPING[(module, name)]
            else:
                module = IMPORT_MAPPING.get(module, module)
        self.push(self.refer(module, name))

    def refer(self, module: str, name: str) -> GlobalRef:
        """Record a name that is about to be pushed."""
        if len(self.globals) >= MAX_GLOBALS:
            raise self.limit("the number of globals", MAX_GLOBALS)
        self.globals.append(PickleGlobal(module, name, self.base + self.opcode_at))
        ref = self.refs.setdefault((module, name), GlobalRef(module, name))
        ref.pushed += 1
        return ref

    def call(self, target: object, args: object) -> object:
        """What a call gives: built by our own table where the name is known, else inert."""
        arguments = tuple(args) if isinstance(args, (tuple, list)) else (args,)
        if isinstance(target, GlobalRef):
            builder = self._builders.get((target.module, target.name))
            if builder is not None:
                return builder(arguments)
        return Inert(target, arguments)

    def make(self, target: object, args: tuple[object, ...]) -> object:
        """A bare instance, ``cls.__new__(cls, *args)``."""
        if isinstance(target, GlobalRef) and not args:
            target.made += 1
        return self.call(target, args)

    def extension(self, code: int) -> None:
        """A name by its number in a registry that is filled while the program runs."""
        self.find_global("<extension registry>", f"code {code}")

    def built(self, target: Inert, state: object) -> None:
        """The hook for what some readers do after BUILD."""

    def persistent(self, identifier: object) -> None:
        self.push(
            Inert("persistent id", (identifier,))
            if self._persistent is None
            else self._persistent(identifier)
        )

    def set_items(self, target: object, items: list[object]) -> None:
        if len(items) % 2:
            raise self.malformed("a dict has a key without a value")
        if isinstance(target, dict):
            for index in range(0, len(items), 2):
                key = items[index]
                if not _hashes_well(key):
                    key = OpaqueKey(key)
                target[key] = items[index + 1]
        elif isinstance(target, Inert):
            target.parts.extend(items[1::2])
        elif isinstance(target, list) and all(isinstance(key, int) for key in items[::2]):
            if items:
                raise self.unfollowed("items of a list are set by their number")
        elif isinstance(target, GlobalRef):
            raise self.unfollowed("items are set on a global")
        elif items:
            raise self.malformed("items are set on something that is not a dict")

    def append_items(self, target: object, items: list[object]) -> None:
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, Inert):
            target.parts.extend(items)
        elif isinstance(target, GlobalRef):
            raise self.unfollowed("items are appended to a global")
        elif items and not isinstance(target, bytes):  # a bytearray grows; nobody needs it
            raise self.malformed("items are appended to something that is not a list")


OpcodeHandler = Callable[[PickleState], None]


def registrar(
    table: dict[int, OpcodeHandler],
) -> Callable[[bytes], Callable[[OpcodeHandler], OpcodeHandler]]:
    """A decorator that enters a handler under its opcode."""

    def opcode(code: bytes) -> Callable[[OpcodeHandler], OpcodeHandler]:
        def register(handler: OpcodeHandler) -> OpcodeHandler:
            table[code[0]] = handler
            return handler

        return register

    return opcode
