"""Exported programs (.pt2): the expressions in their JSON, which the loader gives to sympy.

``torch.export.load`` calls ``sympy.sympify`` on each ``expr_str`` of models/*.json
(torch/_export/serde/serialize.py), and sympify evaluates Python. What the serializer writes is
``srepr`` of sympy, and before torch 2.6 plain infix: numbers, symbols, calls of some functions. Any
other text is refused. A node's ``target`` is looked up as an attribute of torch, operator or math
and called: what is none of their operators is refused too.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ...errors import FormatError, LimitError
from ..strict_json import StrictJsonError, decode_pairs

#: Members that only an exported program has, by the end of their name.
_MARKS: Final = ("archive_format", "serialized_exported_program.json")
_MODELS: Final = re.compile(r"(?:^|/)models/[^/]+\.json$")
#: Bytes of one JSON; the graph of a large model has some megabytes.
MAX_JSON: Final = 64 * 1024 * 1024
#: JSON members of one archive.
MAX_JSON_MEMBERS: Final = 1_000
#: Texts that are reported of one archive.
MAX_ODD: Final = 20
#: An expression of a real program has some hundred characters.
MAX_EXPRESSION: Final = 100_000
#: Calls in calls of a real program are some ten deep.
_MAX_DEPTH: Final = 200

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d{1,40}(?:\.\d{0,40})?(?:[eE][+-]?\d{1,4})?)|(?P<name>[A-Za-z]\w{0,79})"
    r"|(?P<text>'[A-Za-z0-9_.+\-]{0,80}')|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%(),=<>~&|]))",
    re.ASCII,
)
#: Functions of sympy and of torch.utils._sympy.functions that expressions of sizes are made of.
_FUNCTIONS: Final = frozenset(
    """
    Symbol Dummy Integer Float Rational Add Mul Pow Mod Max Min Abs FloorDiv CeilDiv CleanDiv
    ModularIndexing Identity PythonMod CeilToInt FloorToInt RoundToInt TruncToInt TruncToFloat
    RoundDecimal ToFloat IntTrueDiv FloatTrueDiv FloatPow PowByNatural LShift RShift Where
    IsNonOverlappingAndDenseIndicator Eq Ne Lt Le Gt Ge Equality Unequality StrictLessThan LessThan
    StrictGreaterThan GreaterThan And Or Not Xor Piecewise ExprCondPair Tuple floor ceiling sqrt
    log exp Half One Zero NegativeOne
    """.split()
)
_FAMILIES: Final = ("OpaqueUnaryFn_", "BitwiseFn_")
#: Only these take text, which is a name or a number.
_OF_TEXT: Final = frozenset({"Symbol", "Dummy", "Float"})
#: Operators by their name, as the serializer writes them.
_TARGET: Final = re.compile(
    r"torch\.ops\.(?!_)[A-Za-z0-9_]+\.(?!__)\w+(?:\.\w+)?|_operator\.(?!__)\w+|math\.(?!_)\w+"
    r"|torch\.(?:sym_\w+|_sym_\w+)|#\w[\w.:]*",
    re.ASCII,
)
#: Of ``operator``: these reach attributes or call what they are given.
_REACHING: Final = frozenset(
    f"_operator.{name}" for name in ("attrgetter", "methodcaller", "call", "itemgetter")
)


def is_exported(names: Sequence[str]) -> bool:
    """Whether members of an archive are those of an exported program."""
    return any(name.endswith(_MARKS) or _MODELS.search(name) for name in names)


def odd_texts(path: str, data: bytes) -> Iterator[FormatError | LimitError]:
    """What in a JSON of an exported program its serializer does not write, up to ``MAX_ODD``."""
    if not data.strip():
        return
    try:
        content = decode_pairs(data)
    except StrictJsonError as error:
        yield _odd(path, f"JSON that is not followed: {error}")
        return
    for reason in islice(_walk(content), MAX_ODD):
        yield _odd(path, reason)


def _odd(path: str, problem: str) -> FormatError:
    return FormatError(
        path,
        problem,
        rule="exported-expression",
        expected="an expression that torch.export writes",
        hint="do not load it: torch.export.load evaluates such a text as Python",
    )


def _walk(content: object) -> Iterator[str]:
    """Reasons, through objects (pairs in tuples) and lists, without recursion."""
    pending = [content]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple):
            keys = {key for key, _ in value}
            for key, inner in value:
                if key == "expr_str" and (reason := odd_expression(inner)):
                    yield f"expr_str {_shown(inner)}: {reason}"
                elif key == "target" and {"inputs", "outputs"} <= keys and _is_odd_target(inner):
                    yield f"target {_shown(inner)} is not an operator"
                else:
                    pending.append(inner)
        elif isinstance(value, list):
            pending += value


def _is_odd_target(target: object) -> bool:
    return not (isinstance(target, str) and _TARGET.fullmatch(target) and target not in _REACHING)


def _shown(text: object) -> str:
    return ascii(text)[:120]


def odd_expression(text: object) -> str:
    """Why a text is none of the serializer's expressions; empty where it is one."""
    if not isinstance(text, str):
        return "it is not text"
    if len(text) > MAX_EXPRESSION:
        return f"it has more than {MAX_EXPRESSION:,} characters"
    calls: list[str] = []
    name = ""
    at = 0
    text = text.rstrip(" \t\r\n")
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return f"{_shown(text[at : at + 20])} belongs to no expression"
        at = token.end()
        before = name
        name = token["name"] or ""
        sign = token["sign"]
        if sign == "(":
            if before and before not in _FUNCTIONS and not before.startswith(_FAMILIES):
                return f"it calls {before}"
            calls.append(before)
            if len(calls) > _MAX_DEPTH:
                return f"it is nested more than {_MAX_DEPTH} deep"
        elif sign == ")":
            if not calls:
                return "a bracket is closed that was never opened"
            calls.pop()
        elif token["text"] is not None and (not calls or calls[-1] not in _OF_TEXT):
            return "it holds text"
        elif name and before:
            return f"{before} stands next to {name}"
    return "a bracket is not closed" if calls else ""
