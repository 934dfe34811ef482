"""A tokenizer's files next to the model, as one result: pure, from what was read."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Final

from ..analysis.key_facts import facts_of
from ..analysis.template_abilities import abilities, templates_in
from ..analysis.tokenizer_checks import disagreements
from ..analysis.vocabulary_rows import GGUF_EMBEDDING, embedding_rows, head_rows, vocab_size
from ..checkpoints.token_layouts import appended, role_tokens, with_class_ids
from ..checkpoints.token_table import ADDING, TokenTable, added_by, all_added, id_conflicts
from ..checkpoints.tokenizer_files import SMALL, TEMPLATE, TokenizerRead
from ..core.checkpoint import Finding, Shard
from ..core.model_facts import ModelFacts
from ..core.records import dataclass
from ..core.refs import Origin
from ..core.results import Inspection
from ..core.text import clean
from ..core.tokenizer_facts import (
    MAX_LISTED,
    AddedToken,
    ChatTemplate,
    ContextLengths,
    SpecialToken,
    TokenizerFacts,
    Vocabulary,
)
from ..formats.gguf.key_values import ADDED_KEY, TOKENS_KEY

#: The keys under which GGUF has their ids, and those of llama.cpp's own roles.
_GGUF_IDS: Final = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "pad": "padding_token_id",
    "unk": "unknown_token_id",
    "sep": "seperator_token_id",
    "cls": "cls_token_id",
    "mask": "mask_token_id",
    "eot": "eot_token_id",
    "eom": "eom_token_id",
}
#: From here on model_max_length means that there is no limit: transformers writes 10^30.
_NO_LIMIT: Final = 10**15
#: Kinds of rotary positions whose reach is what the model was trained with, times the factor
#: (transformers: modeling_rope_utils). Of llama3 it is not: the factor is that of a wavelength.
_STRETCHED: Final = ("yarn", "linear", "dynamic")
#: Larger factors than this are no factors.
_MAX_FACTOR: Final = 10**6


def tokenizer_facts(
    target: str, origin: Origin, read: TokenizerRead, model: "ModelRead"
) -> TokenizerFacts:
    """What the files say, and where they disagree."""
    table = with_class_ids(
        read.table, [read.mapping(name) for name in SMALL[:2]], model.config or {}
    )
    read = read._replace(table=table)
    added = added_tokens(read)
    added += appended(table, added, _configs(read))
    added += [
        AddedToken(token, number, None, model.gguf, number)
        for token, number in model.added.items()
        if number is not None
    ]
    contents = {one.content for one in added}
    templates = [_unknown(one, read.table, contents) for one in chat_templates(read, model)]
    files = [*(one.path for one in read.json.values()), *read.templates]
    files += [read.table.file] if read.table else []
    files += [model.gguf] if model.gguf else []
    facts = TokenizerFacts(
        target,
        origin,
        files=tuple(files),
        vocabulary=vocabulary_of(read, model, added),
        special=special_tokens(read, model, added),
        added_tokens=tuple(added[:MAX_LISTED]),
        templates=tuple(templates),
        context=context_lengths(read, model),
    )
    conflicts = (*id_conflicts(read.table, added), *_without_id(model))
    partly = _partly_known(table, facts.vocabulary.tokenizer_class)
    differ = disagreements(facts, _name(origin, model), model.config_path)
    return replace(facts, findings=(*read.findings, *partly, *conflicts, *differ))


def _without_id(model: "ModelRead") -> Iterator[Finding]:
    tokens = [token for token, number in model.added.items() if number is None]
    if tokens:
        have = "is" if len(tokens) == 1 else "are"
        text = f"{len(tokens):,} of tokenizer.ggml.added_tokens {have} not in tokenizer.ggml.tokens"
        text = f"{text}, where llama.cpp takes all ids from: {clean(tokens[0], 40)}"
        yield Finding("added-token-without-id", text, model.gguf)


def _partly_known(table: TokenTable | None, declared: str | None) -> Iterator[Finding]:
    if table is None or table.coverage != "part":
        return
    text = "lists no special tokens: those that the tokenizer's code adds are unknown"
    if table.size is not None:
        of = clean(declared, 60) if declared else "the tokenizer of this type of model"
        text = f"has {table.size:,} tokens; which ids {of} gives them is unknown"
        text += f": {table.differs}" if table.differs else ""
    elif table.differs:
        text = f"its class adds tokens that are unknown: {table.differs}"
    yield Finding("unread", text, table.file, severity="note")


def _configs(read: TokenizerRead) -> list[tuple[str, Mapping[str, object]]]:
    """Files that name special tokens, the first that counts first."""
    reads = [read.json[name] for name in SMALL[:2] if name in read.json]
    return [(one.path, one.mapping or {}) for one in reads]


def _name(origin: Origin, model: "ModelRead") -> str:
    """The model's name without its owner; of files on a disk, whose folder may be called anything,
    the one that the config keeps."""
    own_name = (model.config or {}).get("_name_or_path")
    name = (
        own_name
        if origin.repo_id is None and isinstance(own_name, str) and own_name
        else origin.short_name
    )
    return name.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class ModelRead:
    """What is known of the model that a tokenizer belongs to.

    Fields:
        config: config.json; None where there is none
        config_path: where it stands
        inspection: its tensors; None where they were not read
        metadata: a GGUF file's key-values, with the file's name
        gguf: that file; empty for any other model
        types: how many of its tokens are of each type; empty where that is not known
        shard: the GGUF file's header, where there is no inspection of it
        added: token that the GGUF file lists as added -> its id; None where it has none
    """

    config: Mapping[str, object] | None = None
    config_path: str = "config.json"
    inspection: Inspection | None = None
    metadata: Mapping[str, object] | None = None
    gguf: str = ""
    types: Mapping[str, int] = field(default_factory=dict)
    shard: Shard | None = None
    added: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def facts(self) -> ModelFacts:
        return self.inspection.facts if self.inspection is not None else facts_of(self.config)

    @property
    def rows(self) -> tuple[int, str] | None:
        """How many ids the model has room for, and who says so."""
        for tensor in self.shard.tensors if self.shard is not None else ():
            if tensor.name == GGUF_EMBEDDING and len(tensor.shape) == 2:
                return tensor.shape[0], f"rows of {tensor.name}"
        return embedding_rows(self.inspection, self.config, self.config_path)

    def number(self, key: str) -> object:
        """A key of GGUF's, below the name of the architecture."""
        keys = self.metadata or {}
        return keys.get(f"{keys.get('general.architecture')}.{key}")


def added_tokens(read: TokenizerRead) -> list[AddedToken]:
    """All tokens that any file adds."""
    files = [one for one in (read.json.get(name) for name in ADDING) if one is not None]
    others = [token for one in files for token in added_by(one.path, one.mapping or {})]
    return all_added(read.table, others)


def vocabulary_of(read: TokenizerRead, model: ModelRead, added: Iterable[AddedToken]) -> Vocabulary:
    """Tokens and rows."""
    table = read.table
    added = list(added)
    declared_class = read.mapping(SMALL[0]).get("tokenizer_class")
    rows, rows_by = model.rows or (None, "")
    complete = table is not None and table.coverage == "all"
    ids = set(table.ids.values() if table else ())
    for one in added:
        known = table.id_of(one.content) if table else None
        ids.add(one.id if known is None else known)
    contents = {one.content for one in added if one.content}
    highest = max(ids, default=None)
    tokens = len(contents | table.ids.keys()) if table and complete else None
    file, kind, base = (table.file, table.kind, len(table.ids)) if table else (None, None, None)
    base = table.size if table and table.size is not None else base
    if model.metadata is not None and (count := _length(model.metadata, TOKENS_KEY)) is not None:
        name = model.metadata.get("tokenizer.ggml.model")
        file = model.gguf
        kind = name if isinstance(name, str) else None
        base = count
        tokens = count
        highest = count - 1
        ids = set(range(count))
    listed = len(model.added) or _length(model.metadata or {}, ADDED_KEY) or 0
    numbers = max(len(contents), listed), len({one.content for one in added if one.special})
    unused = None if tokens is None or highest is None else highest + 1 - len(ids)
    types = table.types if table else model.types
    if model.types:
        control = types.get("control", 0)
        numbers = max(control + types.get("user_defined", 0), numbers[0]), control
        unused = types.get("unused", 0)
    padding = without_row = None
    if rows is not None and highest is not None:
        without_row = sum(number >= rows for number in ids)
        padding = max(rows - highest - 1, 0) if complete or model.gguf else None
    return Vocabulary(
        file=file,
        kind=kind,
        tokenizer_class=declared_class if isinstance(declared_class, str) else None,
        base=base,
        added=numbers[0],
        special=numbers[1],
        types=types,
        tokens=tokens,
        highest=highest,
        unused=unused,
        declared=vocab_size(model.config) if model.config else _integer(model.number("vocab_size")),
        rows=rows,
        rows_by=rows_by,
        head_rows=head_rows(model.inspection),
        padding=padding,
        ids_without_row=without_row,
    )


def _length(metadata: Mapping[str, object], key: str) -> int | None:
    """How many tokens a GGUF file lists; of a long list only its length is kept."""
    tokens = metadata.get(key)
    length = tokens.get("length") if isinstance(tokens, Mapping) else None
    return len(tokens) if isinstance(tokens, list) else _integer(length)


def _integer(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


# ---- special tokens


def special_tokens(
    read: TokenizerRead, model: ModelRead, added: Iterable[AddedToken]
) -> tuple[SpecialToken, ...]:
    """The roles that any file names."""
    ids = {one.content: one.id for one in reversed(list(added))}
    config = model.config or {}
    generation = read.mapping("generation_config.json")
    tokens = role_tokens(read.table, _configs(read))
    rows = []
    for role in _GGUF_IDS:
        token, _ = tokens.get(role, (None, ""))
        own_ids = _gguf_ids(model, role)
        if token is not None:
            number = read.table.id_of(token) if read.table else None
            number = ids.get(token) if number is None else number
            own_ids = (number,) if number is not None else own_ids
        row = SpecialToken(role, token, own_ids, _ids(config, role), _ids(generation, role))
        if row != SpecialToken(role):
            rows.append(row)
    return tuple(rows)


def _gguf_ids(model: ModelRead, role: str) -> tuple[int, ...]:
    number = (model.metadata or {}).get(f"tokenizer.ggml.{_GGUF_IDS[role]}")
    return (number,) if type(number) is int else ()


def _ids(config: Mapping[str, object], role: str) -> tuple[int, ...]:
    """The ids of a role at the top, else under text_config."""
    inner = config.get("text_config")
    for place in (config, inner if isinstance(inner, Mapping) else {}):
        value = place.get(f"{role}_token_id")
        items = value if isinstance(value, list) else [value]
        numbers = tuple(item for item in items if type(item) is int)
        if numbers:
            return numbers[:MAX_LISTED]
    return ()


# ---- templates


def chat_templates(read: TokenizerRead, model: ModelRead) -> tuple[ChatTemplate, ...]:
    """The one in a file of its own first: it wins over that of tokenizer_config.json."""
    templates = [
        ChatTemplate(name, file, 0, problem="its file cannot be read")
        if text is None
        else abilities(name, file, text)
        for name, file, text in _texts(read, model)
    ]
    return tuple(sorted(templates, key=lambda one: one.name != "default"))


def _texts(read: TokenizerRead, model: ModelRead) -> Iterator[tuple[str, str, str | None]]:
    for path, text in read.templates.items():
        name = path.rpartition("/")[2]
        yield ("default" if name == TEMPLATE else name.removesuffix(".jinja")), path, text
    for one in read.json.values():
        for name, text in templates_in(one.mapping or {}):
            yield name or "default", one.path, text
    for key, value in (model.metadata or {}).items():
        prefix, _, name = key.partition("tokenizer.chat_template")
        if not prefix and key != prefix and name[:1] in ("", ".") and isinstance(value, str):
            yield name[1:] or "default", model.gguf, value


def _unknown(
    template: ChatTemplate, table: TokenTable | None, contents: Collection[str]
) -> ChatTemplate:
    """With the special tokens that it writes and no file has."""
    if table is None:
        return template
    lost = (one for one in template.tokens if one not in contents and table.id_of(one) is None)
    return replace(template, unknown=tuple(lost))


# ---- context


def context_lengths(read: TokenizerRead, model: ModelRead) -> ContextLengths:
    """The longest sequences by each file."""
    longest = _integer(read.mapping(SMALL[0]).get("model_max_length"))
    facts = model.facts
    rope = _gguf_rope(model) if model.metadata is not None else _rope(model.config or {})
    rope_type, factor, original = rope
    window = _text_key(model.config or {}, "sliding_window")
    if model.metadata is not None:
        window = model.number("attention.sliding_window")
    return ContextLengths(
        model_max_length=longest if longest is not None and longest < _NO_LIMIT else None,
        config=facts.context,
        config_key=facts.keys.get("context", ""),
        rope_type=rope_type,
        factor=factor,
        original=original,
        reach=_reach(rope_type, factor, original),
        sliding_window=_integer(window),
        generation=_integer(read.mapping("generation_config.json").get("max_length")),
    )


_Rope = tuple["str | None", "int | float | None", "int | None"]


def _text_key(config: Mapping[str, object], key: str) -> object:
    inner = config.get("text_config")
    value = config.get(key)
    return inner.get(key) if value is None and isinstance(inner, Mapping) else value


def _rope(config: Mapping[str, object]) -> _Rope:
    """How positions are stretched: rope_parameters of transformers 5, rope_scaling before; where
    each kind of layer has its own, those of full attention."""
    for key in ("rope_parameters", "rope_scaling"):
        rope = _text_key(config, key)
        if isinstance(rope, Mapping) and isinstance(rope.get("full_attention"), Mapping):
            rope = rope["full_attention"]
        if isinstance(rope, Mapping):
            kind = rope.get("rope_type") or rope.get("type")
            original = rope.get("original_max_position_embeddings")
            if original is None:
                original = _text_key(config, "original_max_position_embeddings")
            return kind if isinstance(kind, str) else None, _factor(rope), _integer(original)
    return None, None, None


def _factor(rope: Mapping[str, object]) -> int | float | None:
    factor = rope.get("factor")
    if isinstance(factor, bool) or not isinstance(factor, (int, float)):
        return None
    return factor if math.isfinite(factor) and 0 < factor <= _MAX_FACTOR else None


def _gguf_rope(model: ModelRead) -> _Rope:
    kind = model.number("rope.scaling.type")
    factor = _factor({"factor": model.number("rope.scaling.factor")})
    original = _integer(model.number("rope.scaling.original_context_length"))
    return kind if isinstance(kind, str) else None, factor, original


def _reach(kind: str | None, factor: int | float | None, original: int | None) -> int | None:
    if kind not in _STRETCHED or factor is None or original is None or original >= _NO_LIMIT:
        return None
    reach = original * factor
    return int(reach) if reach == int(reach) else None
