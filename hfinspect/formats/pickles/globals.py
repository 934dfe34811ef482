"""Every name that a pickle loads, whichever of Python's unpicklers reads it.

Some calls say a name without spelling it: ``getattr(Class, "NAME")`` is how Python 3.11 pickles
the member of an enum. Where class and name are known, such a call is settled: it counts as the name
``Class.NAME``, which is judged like any other. In any other use ``getattr`` stays a name itself.
"""

from collections.abc import Iterator, MutableMapping
from typing import NamedTuple

from ...errors import FormatError, HfinspectError, LimitError
from .arrays import ARRAY_WRAPPERS, ArrayLayout, array_layout
from .dtype_states import odd_dtype_state
from .machine import PickleMachine
from .nodes import GlobalRef, Inert, PickleGlobal
from .state import More

#: Pickles inside of pickles of one file (torch's tensors in a plain pickle are such).
MAX_NESTED = 10_000


class PickleScan(NamedTuple):
    """Every global up to the end of the pickle, or up to ``error`` where it could not go on.

    ``nested`` are whole files that the pickle holds as bytes and that its reader unpickles;
    ``value`` is that of a pickle of one number; ``calls`` counts calls and instances made.
    """

    globals: tuple[PickleGlobal, ...]
    error: HfinspectError | None
    stop: int
    nested: tuple[bytes, ...] = ()
    value: int | None = None
    calls: int = 0

    @property
    def is_no_pickle(self) -> bool:
        """Whether every unpickler stops before it imports anything."""
        hopeless = isinstance(self.error, FormatError) and self.error.rule != "pickle-unfollowed"
        return hopeless and not self.globals


class _Overlay(MutableMapping[int, object]):
    """A memo over another one that stays as it is."""

    def __init__(self, below: MutableMapping[int, object]) -> None:
        self._below = below
        self._own: dict[int, object] = {}
        self._new = 0

    def __getitem__(self, key: int) -> object:
        return self._own[key] if key in self._own else self._below[key]

    def __setitem__(self, key: int, value: object) -> None:
        self._new += key not in self
        self._own[key] = value

    def __delitem__(self, key: int) -> None:
        raise NotImplementedError

    def __contains__(self, key: object) -> bool:
        return key in self._own or key in self._below

    def __len__(self) -> int:
        return len(self._below) + self._new

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError


class ScanMachine(PickleMachine):
    """Interprets a pickle for its names alone; long pieces of bytes are passed over unread."""

    def __init__(self, data: bytes, *, subject: str, start: int = 0, more: More | None = None):
        super().__init__(data, subject=subject, start=start, more=more)
        self.nested: list[bytes] = []
        self._nested_of: dict[int, object] = {}  # the objects too, as an id is a living object's
        self._is_fork = False
        self.calls = 0

    def names(self) -> tuple[PickleGlobal, ...]:
        return tuple(
            item._replace(use=self.refs[item.module, item.name].use)
            if (item.module, item.name) in self.refs
            else item
            for item in self.globals
        )

    # -- calls whose outcome is known -----------------------------------------------------------

    def call(self, target: object, args: object) -> object:
        self.calls += 1
        arguments = tuple(args) if isinstance(args, (tuple, list)) else (args,)
        if isinstance(target, GlobalRef):
            settle = _SETTLED.get((target.module, target.name))
            result = settle(self, arguments) if settle is not None else None
            if result is not None:
                target.settled += 1
                return result
        return Inert(target, arguments)

    def attribute(self, args: tuple[object, ...]) -> object | None:
        """``getattr(Class, "NAME")``"""
        if len(args) != 2 or not isinstance(args[0], GlobalRef) or type(args[1]) is not str:
            return None
        args[0].settled += 1
        return self.refer(args[0].module, f"{args[0].name}.{args[1]}")

    def attribute_of_module(self, args: tuple[object, ...]) -> object | None:
        """NumPy's ``_ufunc_reconstruct("numpy", "log1p")``"""
        if len(args) != 2 or type(args[0]) is not str or type(args[1]) is not str:
            return None
        return self.refer(args[0], args[1])

    def type_of(self, args: tuple[object, ...]) -> object | None:
        """``type(None)``"""
        return Inert("type of None") if args == (None,) else None

    def reconstructed(self, args: tuple[object, ...]) -> object | None:
        """Protocols 0 and 1: ``_reconstructor(cls, object, None)`` is ``object.__new__(cls)``."""
        if len(args) == 3 and isinstance(args[0], GlobalRef) and args[2] is None:
            base = args[1]
            if isinstance(base, GlobalRef) and (base.module, base.name) == ("builtins", "object"):
                args[0].made += 1
                base.settled += 1
                return Inert(args[0])
        return None

    def made_by_call(self, args: tuple[object, ...]) -> object | None:
        """``copyreg.__newobj__(cls)``"""
        if len(args) == 1 and isinstance(args[0], GlobalRef):
            args[0].made += 1
            return Inert(args[0])
        return None

    def file_in_bytes(self, args: tuple[object, ...]) -> object | None:
        """``torch.storage._load_from_bytes(data)``, which is ``torch.load``"""
        data = _bytes_of(args[0]) if len(args) == 1 else None
        if data is None:
            return None
        if id(args[0]) not in self._nested_of:
            if len(self.nested) >= MAX_NESTED:
                raise self.limit("the number of pickles inside of it", MAX_NESTED)
            self._nested_of[id(args[0])] = args[0]
            self.nested.append(data)
        return Inert("torch file")

    # -- raw arrays between opcodes -------------------------------------------------------------

    def built(self, target: Inert, state: object) -> None:
        if doubt := odd_dtype_state(target, state):
            raise self.unfollowed(f"a dtype is not as NumPy writes it: {doubt}")
        cls = target.target
        if self._is_fork or not isinstance(cls, GlobalRef):
            return
        if (cls.module, cls.name) not in ARRAY_WRAPPERS:
            return
        self._read_plainly()
        layout = array_layout(state) if len(target.parts) == 1 else None
        if layout is None:
            raise self.unfollowed("an array of unknown size lies between the opcodes")
        if self.base + self.position < self.frame_end:
            raise self.unfollowed("an array lies inside of a frame")
        try:
            self._pass_over(layout)
        except FormatError:
            self.more = None  # this opcode cannot begin again
            raise

    def _pass_over(self, layout: ArrayLayout) -> None:
        if layout.padded and not layout.is_object:
            self._need(1)
            self.skip(self.u1())
        if not layout.is_object:
            self.skip(layout.nbytes)
            return
        inner = ScanMachine(self.data, subject=self.subject, start=self.position, more=self.more)
        inner.base = self.base
        inner.left = self.left
        inner.refs = self.refs
        inner.globals = self.globals
        inner.nested = self.nested
        inner.run()
        self.data = inner.data
        self.base = inner.base
        self.position = inner.position
        self.left = inner.left

    def _need(self, count: int) -> None:
        """Have the next bytes at hand; ``skip`` reads along from the last skipped byte."""
        if self.position + count > len(self.data):
            self.skip(count)
            self.position -= count

    def _read_plainly(self) -> None:
        """What an unpickler finds that does not know of raw arrays and takes them for opcodes."""
        fork = ScanMachine(self.data, subject=self.subject, start=self.position, more=self.more)
        fork.base = self.base
        fork._is_fork = True
        fork.stack = list(self.stack)
        fork.marked = [list(items) for items in self.marked]
        fork.memo = _Overlay(self.memo)
        fork.refs = self.refs
        fork.globals = self.globals
        fork.protocol = self.protocol
        fork.left = self.left - len(self.stack) - 1  # all readings share one budget
        try:
            fork.run()
        except (FormatError, LimitError) as error:
            hopeless = isinstance(error, FormatError) and error.rule != "pickle-unfollowed"
            if not hopeless:
                raise self.unfollowed("an array between the opcodes reads as opcodes") from None
        finally:
            self.left = fork.left

    def find_global(self, module: str, name: str) -> None:
        if self._is_fork and "<computed>" in (module, name):
            raise self.malformed("a name is not text")
        super().find_global(module, name)

    def extension(self, code: int) -> None:
        if self._is_fork:  # the registry is empty
            raise self.malformed(f"extension {code} is not registered")
        super().extension(code)


_SETTLED = {
    ("builtins", "getattr"): ScanMachine.attribute,
    ("builtins", "type"): ScanMachine.type_of,
    ("copyreg", "_reconstructor"): ScanMachine.reconstructed,
    ("copyreg", "__newobj__"): ScanMachine.made_by_call,
    ("numpy._core", "_ufunc_reconstruct"): ScanMachine.attribute_of_module,
    ("numpy.core", "_ufunc_reconstruct"): ScanMachine.attribute_of_module,
    ("torch.storage", "_load_from_bytes"): ScanMachine.file_in_bytes,
}


def _bytes_of(value: object) -> bytes | None:
    """Bytes, also as protocols 0 to 2 spell them: ``_codecs.encode(text, "latin1")``."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, Inert) and isinstance(value.target, GlobalRef) and len(value.args) == 2:
        text, encoding = value.args
        name = (value.target.module, value.target.name)
        if name == ("_codecs", "encode") and isinstance(text, str) and encoding == "latin1":
            try:
                return text.encode("latin1")
            except UnicodeEncodeError:
                return None
    return None


def scan_pickle(
    data: bytes, *, subject: str = "pickle", start: int = 0, base: int = 0, more: More | None = None
) -> PickleScan:
    """Names that one pickle loads. A stream that breaks off has loaded them all the same.

    ``data`` begins at ``base`` in the file, ``start`` counts from there; ``more`` reads on.
    PickleScan's ``stop`` is an offset in the file.
    """
    machine = ScanMachine(data, subject=subject, start=start, more=more)
    machine.base = base
    error: HfinspectError | None = None
    value: object = None
    try:
        value = machine.run()
    except (FormatError, LimitError) as caught:
        error = caught
    number = value if type(value) is int else None
    return PickleScan(
        machine.names(),
        error,
        machine.base + machine.position,
        tuple(machine.nested),
        number,
        machine.calls,
    )


def reads_as_pickle(data: bytes) -> bool:
    """Whether bytes without a magic number are a pickle of protocol 0 or 1 that loads names.

    Text often begins with what could be opcodes ("ca" and "cb" on two lines are one name), so the
    pickle must come to its end, or to a call.
    """
    scan = scan_pickle(data)
    return bool(scan.globals) and (scan.error is None or scan.calls > 0)
