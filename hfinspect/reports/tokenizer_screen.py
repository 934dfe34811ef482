"""The layout of ``tokenizer``: tokens and rows, special ids, templates, lengths, disagreements."""

from collections.abc import Iterable, Iterator
from itertools import chain

from ..core.text import clean, more_are
from ..core.tokenizer_facts import ChatTemplate, ContextLengths, TokenizerFacts, Vocabulary
from .document import Block, Cell, Column, Document, Facts, Paragraph, Table

#: Added tokens on the screen; csv and JSON have all that are listed.
MAX_ROWS = 12
#: Findings on the screen.
MAX_FINDINGS = 20
#: Characters of a token.
_TOKEN = 40


def lay_out(facts: TokenizerFacts) -> Document:
    """The whole; csv takes the added tokens."""
    tokens = facts.vocabulary
    summary = "" if tokens.tokens is None else f"{tokens.tokens:,} tokens"
    if facts.parts:
        blocks = (*_findings(facts), _overview(facts), *chain(*map(tokenizer_blocks, facts.parts)))
        return Document(f"Tokenizers of {facts.origin.name}", blocks, _added(facts, None))
    blocks = (*tokenizer_blocks(facts), _what_was_read(facts))
    return Document(f"Tokenizer of {facts.origin.name}", blocks, _added(facts, None), summary)


def _overview(facts: TokenizerFacts) -> Table:
    """A row for each tokenizer of a pipeline."""
    columns = (
        Column("component", "component"),
        Column("class", "class"),
        Column("tokens", "tokens", "int"),
        Column("highest", "highest id", "int"),
        Column("rows", "rows", "int"),
        Column("findings", "findings", "int"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            clean(one.component, _TOKEN),
            clean(one.vocabulary.tokenizer_class or one.vocabulary.kind or "", _TOKEN),
            one.vocabulary.tokens,
            one.vocabulary.highest,
            one.vocabulary.rows,
            len(one.findings),
        )
        for one in facts.parts
    ]
    return Table(columns, tuple(rows), optional=("class",))


def tokenizer_blocks(facts: TokenizerFacts) -> tuple[Block, ...]:
    """What a page shows of it, too: what disagrees first."""
    blocks: list[Block] = []
    if facts.component:
        blocks.append(Facts((("component", clean(facts.component)), *_what_was_read(facts).items)))
    blocks += _findings(facts)
    blocks.append(Facts((*_vocabulary(facts.vocabulary), *_context(facts.context))))
    if facts.special:
        blocks.append(_special(facts))
    blocks += _templates(facts.templates)
    if facts.added_tokens:
        blocks.append(_added(facts, MAX_ROWS))
        if (left := len(facts.added_tokens) - MAX_ROWS) > 0:
            blocks.append(Paragraph(f"{more_are(left, 'added token')} in the JSON and csv forms"))
    return tuple(blocks)


def _findings(facts: TokenizerFacts) -> Iterator[Paragraph]:
    for one in facts.findings[:MAX_FINDINGS]:
        where = f"{clean(one.file)}: " if one.file else ""
        yield Paragraph(f"{where}{one.text}", one.severity)
    if (left := len(facts.findings) - MAX_FINDINGS) > 0:
        yield Paragraph(f"{more_are(left, 'finding')} in the JSON form", "note")


def _vocabulary(tokens: Vocabulary) -> Iterator[tuple[str, str]]:
    if tokens.kind or tokens.tokenizer_class:
        kind = tokens.kind or ""
        by_class = clean(tokens.tokenizer_class or "", _TOKEN)
        yield "kind", clean(", ".join(filter(None, (kind, by_class))))
    yield "tokens", ", ".join(_tokens(tokens))
    if tokens.types:
        counts = sorted(tokens.types.items(), key=lambda item: -item[1])
        yield "types", ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts)
    if tokens.rows is not None:
        text = f"{tokens.rows:,}, {tokens.rows_by}"
        if tokens.padding:
            text += f"; {tokens.padding:,} behind the highest id"
        yield "embedding", text
    if tokens.head_rows is not None:
        yield "head", f"{tokens.head_rows:,} rows of its own"


def _tokens(tokens: Vocabulary) -> Iterator[str]:
    if tokens.tokens is None:
        if tokens.base is not None:
            yield f"{tokens.base:,} listed, others unknown"
        else:
            yield "list not read" if tokens.added else "not read"
    else:
        yield f"{tokens.tokens:,}"
    if tokens.added:
        special = f" ({tokens.special:,} special)" if tokens.special else ""
        yield f"{tokens.added:,} added{special}"
    if tokens.highest is not None:
        yield f"highest id {tokens.highest:,}"
    if tokens.unused:
        yield f"{tokens.unused:,} ids unused"


def _context(length: ContextLengths) -> Iterator[tuple[str, str]]:
    parts = []
    if length.config is not None:
        parts.append(f"{length.config:,} by {length.config_key}")
    if length.model_max_length is not None:
        parts.append(f"{length.model_max_length:,} by model_max_length")
    if length.generation is not None:
        parts.append(f"{length.generation:,} by generation's max_length")
    if parts:
        yield "context", "; ".join(parts)
    if length.rope_type and length.rope_type != "default":
        text = clean(length.rope_type, _TOKEN)
        if length.factor is not None:
            text += f", factor {length.factor:g}"
        if length.original is not None:
            text += f" of {length.original:,} tokens"
        if length.reach is not None:
            text += f", reaches {length.reach:,}"
        yield "rope", text
    if length.sliding_window is not None:
        yield "window", f"{length.sliding_window:,} tokens in layers with a sliding window"


def _special(facts: TokenizerFacts) -> Table:
    columns = (
        Column("role", "special"),
        Column("token", "token"),
        Column("tokenizer", "tokenizer"),
        Column("config", "config"),
        Column("generation", "generation_config"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.role,
            clean(one.token or "", _TOKEN),
            _ids(one.tokenizer),
            _ids(one.config),
            _ids(one.generation),
        )
        for one in facts.special
    ]
    return Table(columns, tuple(rows), optional=("token", "tokenizer", "config", "generation"))


def _ids(ids: Iterable[int]) -> str:
    shown = [f"{number:,}" for number in ids]
    return "; ".join(shown[:6]) + (f"; {len(shown) - 6:,} more" if len(shown) > 6 else "")


def _templates(templates: Iterable[ChatTemplate]) -> Iterator[Block]:
    for one in templates:
        name = "chat template" if one.name == "default" else f"template {clean(one.name, _TOKEN)}"
        items = [(name, f"{clean(one.file)}, {one.characters:,} characters")]
        items += [] if one.problem else list(_abilities(one))
        yield Facts(tuple(items))


def _abilities(one: ChatTemplate) -> Iterator[tuple[str, str]]:
    roles = [clean(role, _TOKEN) for role in one.roles]
    yield "roles", ", ".join([*roles, *(["any other"] if one.any_role else [])]) or "none by name"
    if one.refused:
        yield "refuses", ", ".join(clean(role, _TOKEN) for role in one.refused)
    yield "tools", " and ".join(_tools(one)) or "no"
    if one.modalities:
        yield "content", ", ".join(("text", *one.modalities))
    if one.thinking:
        yield "thinking", f"switched by {', '.join(one.thinking)}"


def _tools(one: ChatTemplate) -> Iterator[str]:
    if one.tools:
        yield "a list of tools"
    if one.tool_calls:
        yield "calls of tools"


def _added(facts: TokenizerFacts, most: int | None) -> Table:
    rest = () if most else facts.parts
    columns = (
        Column("id", "id", "int"),
        Column("token", "added token"),
        Column("special", "special"),
        Column("file", "file"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.id,
            clean(one.content, _TOKEN),
            "" if one.special is None else "yes" if one.special else "no",
            clean(one.file),
        )
        for one in (*facts.added_tokens, *(t for part in rest for t in part.added_tokens))[:most]
    ]
    return Table(columns, tuple(rows), optional=("special", "file"))


def _what_was_read(facts: TokenizerFacts) -> Facts:
    return Facts((("files", ", ".join(clean(path) for path in facts.files) or "none"),))
