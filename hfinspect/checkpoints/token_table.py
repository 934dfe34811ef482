"""The tokens that a tokenizer's file lists, with their ids: tokenizer.json, vocab.json, vocab.txt,
tekken.json, a SentencePiece model, a list of ranks.

Which id an added token gets is the rule of the tokenizers library (``AddedVocabulary.add_tokens``):
that of the vocabulary where it has the token; else the number of tokens in the vocabulary, or one
more than the highest id given so far where that is higher. The ids in the file are not heeded.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Final, Literal

from ..core.checkpoint import Finding
from ..core.collector import collector_paused
from ..core.records import dataclass
from ..core.text import clean
from ..core.tokenizer_facts import AddedToken
from ..errors import ConfigError, LimitError
from ..formats.sentencepiece import parse_sentencepiece
from ..formats.tiktoken_ranks import is_ranks, parse_ranks
from ..sources.source import FileEntry, Source
from .json_files import parse_json

#: Models of SentencePiece, as transformers' classes name them; the first may be a list of ranks.
_PIECES: Final = tuple(
    """tokenizer.model spiece.model sentencepiece.bpe.model spm.model sentencepiece.model
    spm_char.model""".split()
)
#: Lists of ranks of tiktoken.
_RANKS: Final = tuple(
    """tiktoken.model tokenizer.tiktoken qwen.tiktoken hy.tiktoken vocab.tiktoken
    cl100k_base.tiktoken o200k_base.tiktoken multilingual.tiktoken""".split()
)
#: Files that list a tokenizer's ids, the most complete first.
TOKENIZERS: Final = ("tokenizer.json", "vocab.json", "vocab.txt", "tekken.json", *_PIECES, *_RANKS)

#: What a tekken.json without a list of special tokens begins with (mistral_common).
_OLD_TEKKEN: Final[list[Any]] = [
    {"rank": rank, "token_str": token, "is_control": True}
    for rank, token in enumerate(("<unk>", "<s>", "</s>"))
]

#: Files that add tokens to it, too.
ADDING: Final = ("added_tokens.json", "tokenizer_config.json")

#: The largest tokenizers (262,144 ids with merges) take 35 MB.
MAX_TOKENIZER_BYTES: Final = 128 * 1024 * 1024

#: Commas and opening brackets in one; the largest have 2.5 million. Each is an object in memory.
MAX_VALUES: Final = 8_000_000

#: Added tokens of one; the largest known models have some 6,000.
MAX_ADDED: Final = 100_000

#: Ids are unsigned numbers of 32 bits in the tokenizers library.
MAX_ID: Final = 2**32


@dataclass(frozen=True)
class TokenTable:
    """One file's tokens.

    Fields:
        file: where they stand
        kind: ``BPE``, ``Unigram``, ``WordPiece``, ``WordLevel``, ``SentencePiece bpe``
            and its like, ``tiktoken``, ``tekken``; None where the file does not say
        ids: token -> id
        added: tokens added to them, in the order of the file
        coverage: ``all``; ``pieces`` while nobody has said what the class makes of their ids (see
            token_layouts.py); ``part`` where the class adds tokens that no file lists
        size: how many tokens the file lists, where their ids are not known
        types: how many pieces of SentencePiece are of each type
        roles: role of a special token -> the token, where no config names another
        differs: how releases of transformers differ in the ids; empty where they agree
    """

    file: str
    kind: str | None
    ids: Mapping[str, int]
    added: tuple[AddedToken, ...] = ()
    coverage: Literal["all", "pieces", "part"] = "all"
    size: int | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    differs: str = ""

    @cached_property
    def highest(self) -> int:
        """The highest id; -1 where there is none."""
        return max([*self.ids.values(), *self.assigned_ids.values()], default=-1)

    def id_of(self, token: str) -> int | None:
        """The id of a token of the vocabulary or of an added one, as the library gives it."""
        known = self.ids.get(token)
        return self.assigned_ids.get(token) if known is None else known

    @cached_property
    def assigned_ids(self) -> Mapping[str, int]:
        """Added token -> the id that the tokenizers library gives it."""
        return {one.content: one.given for one in self.added if one.given is not None}


def tokenizer_path(files: Mapping[str, FileEntry], folder: str) -> str | None:
    """The file of a folder that says most about ids."""
    return next((folder + name for name in TOKENIZERS if folder + name in files), None)


def read_tokenizer(source: Source, path: str, limit: int = MAX_TOKENIZER_BYTES) -> TokenTable:
    """Raises LimitError, ConfigError, FormatError, AccessErrors."""
    table = parse_tokenizer(path, source.read_all(path, limit))
    merges = path.removesuffix("vocab.json") + "merges.txt"
    if table.kind is None and path.endswith("vocab.json") and merges in source.list_files():
        return replace(table, kind="BPE")
    return table


def parse_tokenizer(path: str, data: bytes) -> TokenTable:
    """The tokens in a file's bytes. Raises LimitError, ConfigError, FormatError."""
    with collector_paused():
        if path.endswith(".txt"):
            return TokenTable(path, "WordPiece", _lines(path, data))
        if path.endswith((".model", ".tiktoken")):
            return _of_library(path, data)
        values = data.count(b",") + data.count(b"[") + data.count(b"{")
        if values > MAX_VALUES:
            raise LimitError(
                path, f"holds {values:,} values", expected=f"at most {MAX_VALUES:,} of a tokenizer"
            )
        value = parse_json(path, data)
        if not isinstance(value, dict):
            raise ConfigError(path, "is not a JSON object")
        if path.endswith("tekken.json"):
            return _of_tekken(path, value)
        if not path.endswith("tokenizer.json"):
            return TokenTable(path, None, _ids(value.items()))
        return _of_tokenizer(path, value)


def _of_library(path: str, data: bytes) -> TokenTable:
    """A file of tiktoken or SentencePiece. What tiktoken adds to its ranks stands in code."""
    if path.rpartition("/")[2] in _RANKS or is_ranks(data):
        return TokenTable(path, "tiktoken", parse_ranks(path, data), coverage="part")
    read = parse_sentencepiece(path, data)
    kind = f"SentencePiece {read.algorithm}"
    types = read.types
    return TokenTable(path, kind, read.pieces, coverage="pieces", types=types, roles=read.roles)


def _lines(path: str, data: bytes) -> Mapping[str, int]:
    """A token a line, as BERT's vocab.txt has them; of equal ones the last counts."""
    if not data.strip():
        return {}
    if data.count(b"\n") > MAX_VALUES:
        raise LimitError(path, "has too many lines", expected=f"at most {MAX_VALUES:,}")
    lines = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    return {line.rstrip("\r"): number for number, line in enumerate(lines)}


def _of_tekken(path: str, value: Mapping[str, object]) -> TokenTable:
    """Mistral's file: special tokens have the first ids, named or not, then come ranks as far as
    the vocabulary goes; the file may list more of them. Raises ConfigError."""
    config = value.get("config")
    listed = value.get("vocab")
    special = value.get("special_tokens")
    config = config if isinstance(config, dict) else {}
    size = config.get("default_vocab_size")
    before = config.get("default_num_special_tokens")
    listed = listed if isinstance(listed, list) else []
    if type(size) is not int or type(before) is not int or not 0 <= before <= MAX_ADDED:
        raise ConfigError(path, "does not say how many tokens it has")
    if not before <= size <= before + len(listed):
        text = f"lists {len(listed):,} tokens and {before:,} special ones"
        raise ConfigError(path, text, expected=f"{size:,} at least")
    special = special if isinstance(special, list) else _OLD_TEKKEN
    added = tuple(
        AddedToken(item["token_str"], item["rank"], item.get("is_control") is True, path)
        for item in special
        if isinstance(item, dict)
        and isinstance(item.get("token_str"), str)
        and type(item.get("rank")) is int
        and 0 <= item["rank"] < before
    )
    ids = {f"<SPECIAL_{number}>": number for number in range(len(special), before)}
    ids |= {one.content: one.id for one in added}
    for item in listed:
        rank = item.get("rank") if isinstance(item, dict) else None
        if type(rank) is int and 0 <= rank < size - before:
            ids.setdefault(f"base64 {item.get('token_bytes')}", before + rank)
    roles = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
    roles = {role: token for role, token in roles.items() if token in ids}
    return TokenTable(path, "tekken", ids, added, roles=roles)


def _of_tokenizer(path: str, value: Mapping[str, object]) -> TokenTable:
    model = value.get("model")
    model = model if isinstance(model, dict) else {}
    vocab = model.get("vocab")
    ids: Mapping[str, int] = {}
    if isinstance(vocab, dict):
        ids = _ids(vocab.items())
    elif isinstance(vocab, list):
        items = ((item, at) for at, item in enumerate(vocab) if isinstance(item, list) and item)
        ids = _ids((item[0], at) for item, at in items)
    added = value.get("added_tokens")
    return TokenTable(path, _kind(model), ids, _added(path, added, ids))


def _ids(pairs: Iterable[tuple[object, object]]) -> Mapping[str, int]:
    return {
        token: number
        for token, number in pairs
        if type(number) is int and 0 <= number < MAX_ID and isinstance(token, str)
    }


def _kind(model: Mapping[str, object]) -> str | None:
    """Older files have no type: the libraries then go by the form."""
    kind = model.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    if "merges" in model:
        return "BPE"
    return "WordPiece" if "max_input_chars_per_word" in model else None


def _added(path: str, items: object, ids: Mapping[str, int]) -> tuple[AddedToken, ...]:
    """With the id that the library gives to each."""
    tokens = []
    if isinstance(items, list) and len(items) > MAX_ADDED:
        text = f"adds {len(items):,} tokens"
        raise LimitError(path, text, expected=f"at most {MAX_ADDED:,}")
    assigned: dict[str, int] = {}
    following = len(ids)
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        content = item.get("content")
        number = item.get("id")
        if not isinstance(content, str) or type(number) is not int or not 0 <= number < MAX_ID:
            continue
        if content and content not in assigned:
            assigned[content] = ids.get(content, following)
            following = max(following, assigned[content] + 1) if content not in ids else following
        special = item.get("special")
        flag = special if isinstance(special, bool) else None
        tokens.append(AddedToken(content, number, flag, path, assigned.get(content)))
    return tuple(tokens)


def added_by(file: str, value: Mapping[str, object]) -> Iterator[AddedToken]:
    """The tokens that added_tokens.json or tokenizer_config.json adds."""
    decoder = value.get("added_tokens_decoder")
    if file.rpartition("/")[2] == ADDING[0]:
        for content, number in value.items():
            if type(number) is int and 0 <= number < MAX_ID:
                yield AddedToken(content, number, None, file)
    elif isinstance(decoder, dict):
        for key, item in decoder.items():
            number = int(key) if key.isascii() and key.isdigit() and len(key) < 12 else MAX_ID
            token = item.get("content") if isinstance(item, dict) else item
            special = item.get("special") if isinstance(item, dict) else None
            if number < MAX_ID and isinstance(token, str):
                flag = special if isinstance(special, bool) else None
                yield AddedToken(token, number, flag, file)


def spelled_token(value: object) -> str | None:
    """A special token in a config: its text, or an object with its ``content``."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) and content else None


def all_added(table: TokenTable | None, others: Iterable[AddedToken]) -> list[AddedToken]:
    """All that is added, by id: each token once for each id that a file gives it."""
    first: dict[tuple[str, int], AddedToken] = {}
    for one in (*(table.added if table else ()), *others):
        first.setdefault((one.content, one.id), one)
    return sorted(first.values(), key=lambda one: (one.id, one.content))


def id_conflicts(table: TokenTable | None, added: Iterable[AddedToken]) -> Iterator[Finding]:
    """Tokens that get another id than a file says, or the one of another token."""
    if table is None:
        return
    tokens = {number: token for token, number in table.ids.items()}
    for one in added:
        assigned = table.assigned_ids.get(one.content)
        token = clean(one.content, _SHOWN)
        if one.file != table.file:
            known = table.id_of(one.content)
            if known is not None and known != one.id:
                text = f"{token} has id {one.id:,} here and {known:,} in {table.file}"
                yield Finding(CONFLICT, text, one.file)
        elif assigned is None:
            continue
        elif assigned != one.id:
            text = f"{token} has id {one.id:,}; the tokenizers library gives it {assigned:,}"
            yield Finding(CONFLICT, text, one.file, severity="error")
        elif tokens.get(assigned, one.content) != one.content:
            other = clean(tokens[assigned], _SHOWN)
            text = f"{token} has id {assigned:,}, which {other} of the vocabulary has too"
            yield Finding(CONFLICT, text, one.file, severity="error")


#: The rule of these findings.
CONFLICT: Final = "added-token-id"
#: Characters of a token in a sentence.
_SHOWN: Final = 40
