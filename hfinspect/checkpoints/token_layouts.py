"""What transformers' classes make of the pieces of a SentencePiece model.

Some give each piece its number as id, some put tokens of their own before and behind them (fairseq
numbered its special tokens by itself), and all append a special token that the model lacks. Every
row is what two releases of the library agree on, or says how they differ
(``python -m tests.oracle record vocabularies``); the ids of any other class are unknown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Final, Literal, NamedTuple

from ..core import data_files
from ..core.tokenizer_facts import AddedToken
from .token_table import MAX_ADDED, TokenTable, spelled_token

#: Roles in the order in which the library appends tokens that the vocabulary lacks.
ROLES: Final = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
#: And the keys of further special tokens, behind those.
_FURTHER: Final = ("additional_special_tokens", "extra_special_tokens")
#: Sentinels of T5, unless the config says another number.
_EXTRA_IDS: Final = 100
#: And so many at most.
_MAX_EXTRA_IDS: Final = 10_000

#: How the layout of T5 calls them.
_SENTINELS: Final = "<extra_id_N>"


class PieceLayout(NamedTuple):
    """One class of token_layouts.json, where classes and the types that have them are listed.

    ``roles``: a token for each of ROLES, ``-`` for none, ``?`` for one that a config has to name.
    ``head`` comes in place of the first ``without`` tokens, ``tail`` behind the last. ``file`` is
    how the list's name ends; other values of the config's ``keys`` change the ids. ``differs``:
    how releases differ, unless they ``agree``: where tokenizer_config.json lists further special
    tokens, no config names masks, each role is named. ``common``: the ids are still the same.
    """

    roles: str
    head: str = ""
    without: int = 0
    tail: str = ""
    file: str = ".model"
    keys: Mapping[str, object] = {}
    differs: str = ""
    agree: Literal["listed", "unnamed", "named", "never"] = "never"
    common: bool = False


@cache
def _layouts() -> tuple[Mapping[str, PieceLayout], Mapping[str, str]]:
    content = data_files.read(__package__, "token_layouts.json")
    classes = {name: PieceLayout(**fields) for name, fields in content["classes"].items()}
    return classes, content["types"]


def with_class_ids(
    table: TokenTable | None, configs: Sequence[Mapping[str, object]], model: Mapping[str, object]
) -> TokenTable | None:
    """The table with the ids of its class, by tokenizer_config.json and special_tokens_map.json
    (``configs``) and the model's config.json.

    A model of SentencePiece of which no file names a class has its own ids; of a class that is not
    listed, or of which releases differ, only what they agree on is known.
    """
    if table is None or table.coverage == "part" or table.file.endswith("tokenizer.json"):
        return table
    top = configs[0]
    config = {**configs[-1], **configs[0]}
    name = top.get("tokenizer_class") or model.get("tokenizer_class")
    kind = model.get("model_type")
    classes, types = _layouts()
    stem = str(name).removesuffix("Fast").removesuffix("Tokenizer") if name else None
    layout = classes.get(types.get(str(kind), "") if stem is None else stem)
    if layout is not None and not table.file.endswith(layout.file):
        layout = None
    if layout is None and table.coverage == "all":
        return table
    if not name and not kind and "auto_map" not in top:
        return replace(table, coverage="all")
    if layout is None:
        return _unplaced(table)
    differs = "" if _agree(layout, top, config) else layout.differs
    tokens = _tokens(table, layout, config) if layout.common or not differs else None
    ids = {token: number for number, token in enumerate(tokens or ())}
    if tokens is None or len(ids) != len(tokens) or not _in_order(layout, ids, config):
        return _unplaced(table, differs)
    roles = zip(ROLES, layout.roles.split(), strict=True)
    roles_of = {role: name for role, name in roles if name not in "-?"}
    coverage: Literal["part", "all"] = "part" if differs else "all"
    kind = "BPE" if layout.file == "vocab.txt" else table.kind
    return replace(table, kind=kind, ids=ids, coverage=coverage, roles=roles_of, differs=differs)


def _unplaced(table: TokenTable, differs: str = "") -> TokenTable:
    size = len(table.ids)
    return replace(table, ids={}, coverage="part", size=size, roles={}, differs=differs)


def _agree(layout: PieceLayout, first: Mapping[str, object], config: Mapping[str, object]) -> bool:
    """Whether releases do, of these files."""
    if layout.agree == "named":
        roles = zip(ROLES, layout.roles.split(), strict=True)
        return all(spelled_token(config.get(f"{role}_token")) for role, one in roles if one == "?")
    if layout.agree == "unnamed":
        return config.keys().isdisjoint(("mask_token", "mask_token_sent"))
    return not layout.differs or (layout.agree == "listed" and _has(first))


def _in_order(layout: PieceLayout, ids: Mapping[str, int], config: Mapping[str, object]) -> bool:
    """Whether a config that lists a class's own tokens lists them in the order of their ids."""
    listed = [ids[token] for token, _ in _further("", config) if token in ids]
    return not layout.keys or listed == sorted(listed)


def _tokens(
    table: TokenTable, layout: PieceLayout, config: Mapping[str, object]
) -> list[str] | None:
    """All by id; None where the files say something else than the class."""
    tokens = sorted(table.ids, key=table.ids.__getitem__)
    fixed = layout.head or layout.keys
    tail = [one for one in layout.tail.split() if fixed or one not in table.ids]
    if layout.tail == _SENTINELS:
        count = config.get("extra_ids", _EXTRA_IDS)
        if type(count) is not int or not 0 <= count <= _MAX_EXTRA_IDS:
            return None
        tail = [f"<extra_id_{number}>" for number in reversed(range(count))]
    if layout.file == "vocab.txt":  # a word and how often it occurs
        tokens = [line.strip().rpartition(" ")[0] for line in tokens]
    for role, token in zip(ROLES, layout.roles.split(), strict=True):
        if layout.head and (spelled_token(config.get(f"{role}_token")) or token) != token:
            return None  # releases differ where such a token gets another name
    if any(config.get(key, value) != value for key, value in layout.keys.items()):
        return None
    complete = table.highest == len(tokens) - 1 and "" not in tokens
    return [*layout.head.split(), *tokens[layout.without :], *tail] if complete else None


def role_tokens(
    table: TokenTable | None, configs: Iterable[tuple[str, Mapping[str, object]]]
) -> Mapping[str, tuple[str, str]]:
    """Role -> its token and the file that names it, the first of ``configs``; the file is empty
    where only the tokenizer's class does."""
    tokens = {role: (token, "") for role, token in (table.roles if table else {}).items()}
    for file, config in reversed(list(configs)):
        for role in ROLES:
            token = spelled_token(config.get(f"{role}_token"))
            if token is not None:
                tokens[role] = (token, file)
    return tokens


def appended(
    table: TokenTable | None,
    added: Iterable[AddedToken],
    configs: Iterable[tuple[str, Mapping[str, object]]],
) -> list[AddedToken]:
    """Special tokens that are named and in no list: the library gives them the ids that follow."""
    if table is None or table.coverage != "all":
        return []
    configs = list(configs)
    roles = role_tokens(table, configs)
    names = [roles[role] for role in ROLES if role in roles]
    further = next((_further(file, config) for file, config in configs if _has(config)), None)
    names += islice(further or (), MAX_ADDED)
    known = {*table.ids, *table.assigned_ids, *(one.content for one in added)}
    numbers = (one.id for one in added if table.id_of(one.content) is None)
    following = max(
        len(table.ids),
        *(number + 1 for number in table.assigned_ids.values()),
        *(number + 1 for number in numbers),
        0,
    )
    tokens = []
    for content, file in names:
        if content not in known:
            known.add(content)
            tokens.append(AddedToken(content, following, True, file, following))
            following += 1
    return tokens


def _has(config: Mapping[str, object]) -> bool:
    return any(isinstance(config.get(key), (list, dict)) for key in _FURTHER)


def _further(file: str, config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key in _FURTHER:
        value = config.get(key)
        items = list(value.values()) if isinstance(value, dict) else value
        for item in items if isinstance(items, list) else ():
            if (token := spelled_token(item)) is not None:
                yield token, file
