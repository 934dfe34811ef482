"""The opcodes of pickle for the stack, the memo, containers, names and calls.

Source: ``Lib/pickletools.py`` of CPython 3.13.
"""

import codecs

from .literals import number_line, old_text, whole_number
from .nodes import GlobalRef, Inert
from .state import MAX_NAME, OpcodeHandler, PickleState, registrar

#: By the opcode's byte.
OPCODES: dict[int, OpcodeHandler] = {}
_opcode = registrar(OPCODES)

#: Highest protocol there is (Python 3.8 to 3.14).
HIGHEST_PROTOCOL = 5


# -- protocol, framing, memo ------------------------------------------------------------------


@_opcode(b"\x80")
def _proto(m: PickleState) -> None:
    if (protocol := m.u1()) > HIGHEST_PROTOCOL:
        raise m.malformed(f"pickle protocol {protocol}")
    m.protocol = protocol


@_opcode(b"\x95")
def _frame(m: PickleState) -> None:
    length = m.u8()
    m.frame_end = m.base + m.position + length
    # Where more is read as needed, nobody reads a whole frame ahead; unpicklers in Python do not
    # miss the end of one either.
    if m.more is None and length > len(m.data) - m.position:
        raise m.truncated()


# -- the stack --------------------------------------------------------------------------------


@_opcode(b"0")
def _pop(m: PickleState) -> None:
    if m.stack:
        m.stack.pop()
    else:
        m.pop_mark()


@_opcode(b"1")
def _pop_mark(m: PickleState) -> None:
    m.pop_mark()


# -- containers -------------------------------------------------------------------------------


def _tuple_of(count: int) -> OpcodeHandler:
    def build(m: PickleState) -> None:
        if len(m.stack) < count:
            raise m.malformed("the stack is too short for a tuple")
        items = tuple(m.stack[-count:])
        del m.stack[-count:]
        m.push(items)

    return build


@_opcode(b"a")
def _append(m: PickleState) -> None:
    item = m.pop()
    m.append_items(m.top(), [item])


@_opcode(b"e")
@_opcode(b"\x90")
def _appends(m: PickleState) -> None:
    items = m.pop_mark()
    m.append_items(m.top(), items)


@_opcode(b"d")
def _dict(m: PickleState) -> None:
    items = m.pop_mark()
    target: dict[object, object] = {}
    m.set_items(target, items)
    m.push(target)


@_opcode(b"s")
def _setitem(m: PickleState) -> None:
    value = m.pop()
    key = m.pop()
    m.set_items(m.top(), [key, value])


@_opcode(b"u")
def _setitems(m: PickleState) -> None:
    items = m.pop_mark()
    m.set_items(m.top(), items)


# -- names, calls, state: recorded, never followed --------------------------------------------


def _name(m: PickleState) -> str:
    return m.text(m.line(MAX_NAME, _is_text))


def _is_text(beginning: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return False
    return True


@_opcode(b"c")
def _global(m: PickleState) -> None:
    module = _name(m)
    m.find_global(module, _name(m))


@_opcode(b"\x93")
def _stack_global(m: PickleState) -> None:
    name = m.pop()
    module = m.pop()
    # A name that comes out of a call cannot be known without making the call.
    m.find_global(
        module if isinstance(module, str) else "<computed>",
        name if isinstance(name, str) else "<computed>",
    )


def _extension(size: int) -> OpcodeHandler:
    def look_up(m: PickleState) -> None:
        code = int.from_bytes(m.take(size), "little")
        m.extension(code)

    return look_up


def _arguments(m: PickleState) -> tuple[object, tuple[object, ...]]:
    args = m.pop()
    target = m.pop()
    if isinstance(args, tuple):
        return target, args
    if isinstance(target, (GlobalRef, Inert)) and isinstance(args, (list, Inert)):
        # A call may have given a tuple, and the unpickler in Python takes whatever has items.
        raise m.unfollowed("the arguments of a call are computed")
    raise m.malformed("the arguments of a call are not a tuple")


@_opcode(b"\x92")
def _newobj_ex(m: PickleState) -> None:
    keywords = m.pop()
    args = m.pop()
    node = Inert(m.pop(), args if isinstance(args, tuple) else (args,))
    node.parts.append(keywords)
    m.push(node)


@_opcode(b"i")
def _inst(m: PickleState) -> None:
    module = _name(m)
    name = _name(m)
    args = m.pop_mark()
    m.find_global(module, name)
    m.push(m.call(m.pop(), args))


@_opcode(b"o")
def _obj(m: PickleState) -> None:
    items = m.pop_mark()
    if not items:
        raise m.malformed("an object without a class")
    m.push(m.call(items[0], items[1:]))


@_opcode(b"b")
def _build(m: PickleState) -> None:
    state = m.pop()
    target = m.top()
    # The state of a known node (``_metadata`` of a state dict, attributes of a parameter) says
    # nothing about tensors.
    if isinstance(target, Inert):
        target.parts.append(state)
        m.built(target, state)
    elif isinstance(target, GlobalRef):
        raise m.unfollowed("state is set on a global, not on an instance")


OPCODES |= {
    # memo
    ord("p"): lambda m: m.remember(whole_number(m, number_line(m))),  # PUT
    ord("q"): lambda m: m.remember(m.u1()),  # BINPUT
    ord("r"): lambda m: m.remember(m.u4()),  # LONG_BINPUT
    0x94: lambda m: m.remember(len(m.memo)),  # MEMOIZE
    ord("g"): lambda m: m.recall(whole_number(m, number_line(m))),  # GET
    ord("h"): lambda m: m.recall(m.u1()),  # BINGET
    ord("j"): lambda m: m.recall(m.u4()),  # LONG_BINGET
    # stack
    ord("("): PickleState.mark,  # MARK
    ord("2"): lambda m: m.push_again(m.top()),  # DUP
    # containers; sets are lists here: their items need no hash
    ord(")"): lambda m: m.push(()),  # EMPTY_TUPLE
    ord("t"): lambda m: m.push(tuple(m.pop_mark())),  # TUPLE
    0x85: _tuple_of(1),  # TUPLE1
    0x86: _tuple_of(2),  # TUPLE2
    0x87: _tuple_of(3),  # TUPLE3
    ord("]"): lambda m: m.push([]),  # EMPTY_LIST
    0x8F: lambda m: m.push([]),  # EMPTY_SET
    ord("l"): lambda m: m.push(m.pop_mark()),  # LIST
    0x91: lambda m: m.push(m.pop_mark()),  # FROZENSET
    ord("}"): lambda m: m.push({}),  # EMPTY_DICT
    # names and calls
    0x82: _extension(1),  # EXT1
    0x83: _extension(2),  # EXT2
    0x84: _extension(4),  # EXT4
    ord("R"): lambda m: m.push(m.call(*_arguments(m))),  # REDUCE
    0x81: lambda m: m.push(m.make(*_arguments(m))),  # NEWOBJ
    ord("P"): lambda m: m.persistent(old_text(m.line(MAX_NAME))),  # PERSID
    ord("Q"): lambda m: m.persistent(m.pop()),  # BINPERSID
}
