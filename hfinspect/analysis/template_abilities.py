"""What a chat template heeds: roles, tools, pictures, switches, by its text alone.

Templates are given ``messages``, ``tools``, ``documents``, ``add_generation_prompt``, the special
tokens by role, and whatever the caller adds (transformers: ``apply_chat_template``).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..core.tokenizer_facts import ChatTemplate
from ..formats.jinja.template_blocks import MAX_TEMPLATE_CHARS, blocks_of, parts_in
from ..formats.jinja.template_syntax import Node, NotJinjaError, Parser, tokens
from ..formats.jinja.template_tags import TagReader

#: Names that a template has without a caller: Jinja's own, and what transformers puts there.
_BUILT_IN: Final = frozenset(
    """loop range dict lipsum cycler joiner namespace self caller varargs kwargs raise_exception
    strftime_now""".split()
)
#: Kinds of content, by the words that templates distinguish them with.
_MODALITIES: Final = {
    "image": "image",
    "image_url": "image",
    "video": "video",
    "video_url": "video",
    "audio": "audio",
    "audio_url": "audio",
    "input_audio": "audio",
}
_COMPARED: Final = frozenset(("==", "!=", "in", "not in"))
#: Variables of a caller that switch thinking.
_THINKING: Final = ("enable_thinking", "thinking", "thinking_mode", "reasoning_effort")
#: A special token as nearly all chat models spell theirs; DeepSeek's have wide signs.
_SPECIAL: Final = re.compile(r"<(?:\|[^|<>\s]{1,64}\||｜[^｜<>\s]{1,64}｜)>")
#: Roles, variables and tokens of one template that are kept.
MAX_WORDS: Final = 256
#: Characters of each.
_MAX_WORD: Final = 64


def abilities(name: str, file: str, text: str) -> ChatTemplate:
    """What a template heeds; ``problem`` where its text is no Jinja, or too long."""
    length = len(text)
    if length > MAX_TEMPLATE_CHARS:
        return ChatTemplate(name, file, length, problem=f"has {length:,} characters")
    names = _Seen()
    try:
        for is_block, part in parts_in(text):
            if not is_block:
                names.write(part)
            for tag, block in blocks_of([part] if is_block else []):
                names.block(tag, Parser(tokens(block.strip(" \t\r\n+-"))))
    except (NotJinjaError, RecursionError) as error:
        return ChatTemplate(name, file, length, problem=str(error) or "it is nested too deep")
    modalities = dict.fromkeys(_MODALITIES[word] for word in names.compared if word in _MODALITIES)
    return ChatTemplate(
        name,
        file,
        length,
        roles=_bounded({word: None for word in names.roles if word not in names.refused}),
        refused=_bounded(names.refused),
        any_role=names.any_role,
        tools="tools" in names.variables,
        tool_calls="tool_calls" in names.members,
        modalities=tuple(modalities),
        thinking=tuple(word for word in _THINKING if word in names.variables),
        variables=_bounded(names.variables),
        tokens=_bounded(names.written),
    )


def templates_in(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """(name, template) under ``chat_template`` of a config; the name of a single one is empty."""
    template = config.get("chat_template")
    if isinstance(template, str):
        yield "", template
    pairs: list[tuple[object, object]] = []
    if isinstance(template, Mapping):
        pairs = list(template.items())
    elif isinstance(template, list):
        pairs = [(i.get("name"), i.get("template")) for i in template if isinstance(i, Mapping)]
    for name, text in pairs:
        if isinstance(text, str):
            yield str(name), text


def _bounded(words: dict[str, None]) -> tuple[str, ...]:
    return tuple(word for word in words if len(word) <= _MAX_WORD)[:MAX_WORDS]


class _Seen(TagReader):
    """What was come upon. A name is the caller's where it is used before it is assigned."""

    def __init__(self) -> None:
        self.variables: dict[str, None] = {}
        self.roles: dict[str, None] = {}
        self.compared: dict[str, None] = {}
        self.written: dict[str, None] = {}
        self.members: set[str] = set()
        self.any_role = False
        self._own: set[str] = set()
        #: Roles for which it raises an error, and those of the condition in the block before.
        self.refused: dict[str, None] = {}
        self._conditions: dict[str, None] = {}
        #: Names that hold the role of a message.
        self._role_names: set[str] = set()

        self._prints = False

    def write(self, text: str) -> None:
        """Text of the prompt."""
        self.written.update(dict.fromkeys(_SPECIAL.findall(text)))

    def block(self, tag: bool, parser: Parser) -> None:
        """The roles of a condition are refused where the next block raises an error."""
        self._prints = not tag
        if not tag and parser.peek().text == "raise_exception":
            self.refused.update(self._conditions)
        self._conditions = {}
        super().block(tag, parser)

    def evaluated(self, node: Node) -> None:
        self._walk(node, printed=self._prints)

    def assigned(self, targets: Sequence[str], node: Node | None, *, loop: bool = False) -> None:
        if node is not None:
            self._walk(node)
            if not loop and len(targets) == 1 and self._is_role(node):
                self._role_names.add(targets[0])
        self._own.update(targets)

    def macro(self, name: str, parameters: tuple[str, ...]) -> None:
        self._own.update((name, *parameters))

    # ---- expressions

    def _is_role(self, node: Node) -> bool:
        """``message.role``, ``message['role']``, ``message.get('role')``, or a name of it."""
        kind = node[0]
        if kind == "attr":
            return bool(node[2] == "role")
        if kind == "item":
            return bool(node[2] == ("const", "role"))
        if kind == "call" and node[1][0] == "attr" and node[1][2] == "get":
            return bool(node[2][:1] == (("const", "role"),))
        if kind == "filter":
            return self._is_role(node[1])
        return kind == "name" and node[1] in self._role_names

    def _walk(self, node: Node, *, printed: bool = False) -> None:
        """``printed``: the value becomes text of the prompt."""
        kind = node[0]
        if printed and self._is_role(node):
            self.any_role = True
        handler = getattr(self, f"_on_{kind}", None)
        if handler is not None:
            handler(*node[1:])
        if kind == "op" and node[1] in _COMPARED:
            self._compare(node[2], equal=node[1] in ("==", "in"))
        # What a value is compared with, or cut at, is not written.
        heeded = kind in ("op", "test") or (kind == "call" and node[1][0] == "attr")
        for inner in _inner(node):
            if not (heeded and inner[0] in ("const", "list")):
                self._walk(inner, printed=printed and kind in ("concat", "if", "filter"))

    def _on_name(self, name: str) -> None:
        if name not in self._own and name not in _BUILT_IN:
            self.variables.setdefault(name)

    def _on_const(self, value: object) -> None:
        if isinstance(value, str):
            self.write(value)

    def _on_attr(self, _: Node, name: str) -> None:
        self.members.add(name)

    def _on_item(self, _: Node, key: Node) -> None:
        if key[0] == "const" and isinstance(key[1], str):
            self.members.add(key[1])

    def _on_call(self, of: Node, args: tuple[Node, ...], *_: Any) -> None:
        if of[0] == "attr" and of[2] == "get" and args and args[0][0] == "const":
            self.members.add(str(args[0][1]))

    def _on_filter(self, _: Node, name: str, args: tuple[Node, ...], *__: Any) -> None:
        if name in ("selectattr", "rejectattr") and args[:1] == (("const", "role"),):
            self.roles.update(dict.fromkeys(_texts(args[2:])))

    def _on_test(self, of: Node, _: str, args: tuple[Node, ...]) -> None:
        if self._is_role(of):
            self.roles.update(dict.fromkeys(_texts(args)))

    def _compare(self, items: tuple[Node, ...], *, equal: bool) -> None:
        words = dict.fromkeys(_texts(items))
        self.compared.update(words)
        self.members.update(words)
        if any(self._is_role(item) for item in items):
            self.roles.update(words)
            if equal:
                self._conditions.update(words)


def _inner(node: Node) -> tuple[Node, ...]:
    """The nodes in a node."""
    kind, *parts = node
    if kind in ("name", "const"):
        return ()
    if kind in ("concat", "if", "list", "slice"):
        return tuple(parts[0])
    if kind == "op":
        return tuple(parts[1])
    if kind == "dict":
        return (*parts[0], *parts[1])
    if kind == "item":
        return (parts[0], parts[1])
    args = parts[1] if kind == "call" else parts[2] if kind in ("filter", "test") else ()
    keywords = parts[2] if kind == "call" else parts[3] if kind == "filter" else ()
    return (parts[0], *args, *(value for _, value in keywords))


def _texts(nodes: Sequence[Node]) -> Iterator[str]:
    """Known texts, those in lists included."""
    for node in nodes:
        if node[0] == "const" and isinstance(node[1], str):
            yield node[1]
        elif node[0] == "list":
            yield from _texts(node[1])
