"""Where a tokenizer's files, its templates and the model's config disagree: pure, by their facts.

The names of the findings are those of the audit's rules.
"""

import re
from collections.abc import Iterator
from typing import Final

from ..core.checkpoint import Finding
from ..core.choices import Severity
from ..core.text import clean, first_of
from ..core.tokenizer_facts import SpecialToken, TokenizerFacts

#: Names of models that are made for conversations.
_CHAT: Final = re.compile(r"(?:^|[-_.])(?:chat|instruct|it|dpo|rlhf|sft)(?:$|[-_.])", re.IGNORECASE)
#: Tokens that a sentence names; the rest is counted.
_NAMED: Final = 4
_TOKENIZER: Final = "the tokenizer"
#: Ends of files whose tokens are numbered as they are listed.
_LISTS: Final = (".json", ".txt", ".model", ".tiktoken")


def disagreements(facts: TokenizerFacts, name: str, config: str) -> Iterator[Finding]:
    """All of them, the gravest first; ``name`` is the model's, without its owner, ``config`` the
    path of its config.json."""
    yield from _rows(facts)
    yield from _ids_without_row(facts)
    yield from _special_ids(facts, config)
    yield from _templates(facts, name)
    yield from _rope(facts, config)
    yield from _lengths(facts)


def _rows(facts: TokenizerFacts) -> Iterator[Finding]:
    tokens = facts.vocabulary
    if tokens.ids_without_row and tokens.rows is not None and tokens.highest is not None:
        have = "id has" if tokens.ids_without_row == 1 else "ids have"
        text = f"{tokens.ids_without_row:,} {have} no row; the highest is {tokens.highest:,}"
        expected = f"below {tokens.rows:,}, the {tokens.rows_by}"
        text = f"{text}, expected {expected}"
        yield Finding("tokenizer-beyond-vocabulary", text, tokens.file, severity="error")
    if tokens.head_rows is not None and tokens.rows not in (None, tokens.head_rows):
        text = f"the head has {tokens.head_rows:,} rows, the embedding {tokens.rows:,}"
        yield Finding("head-rows", text, severity="note")


# ---- special tokens


def _ids_without_row(facts: TokenizerFacts) -> Iterator[Finding]:
    """Of a GGUF file, whose keys name ids of any size; of other files the ids above are all."""
    tokens = facts.vocabulary
    for one in facts.special if tokens.file and not tokens.file.endswith(_LISTS) else ():
        for number in one.tokenizer:
            if tokens.tokens is not None and number >= tokens.tokens:
                text = f"the id of {one.role} is {number:,}, expected below {tokens.tokens:,}"
                yield Finding("token-id", text, tokens.file)


def _special_ids(facts: TokenizerFacts, config: str) -> Iterator[Finding]:
    for one in facts.special:
        (first, ids), *others = _places(facts, one, config).items() or [("", set[int]())]
        for second, other_ids in others:
            if ids.isdisjoint(other_ids):
                text = f"{one.role} is {_listed(ids)}, and {_listed(other_ids)} by {second}"
                if one.token and second == _TOKENIZER:
                    text += f" ({clean(one.token, 40)})"
                yield Finding("special-ids-differ", text, first)
                break


def _places(facts: TokenizerFacts, one: SpecialToken, config: str) -> dict[str, set[int]]:
    """Who says which ids of a role, first who is heeded: generation takes those of its own file,
    else the config's. Several are alternatives: one in common is enough."""
    folder = _folder(facts)
    places = {
        f"{folder}generation_config.json": one.generation,
        config: one.config,
        _TOKENIZER: one.tokenizer,
    }
    sets = {place: {number for number in ids if number >= 0} for place, ids in places.items()}
    return {place: ids for place, ids in sets.items() if ids}


def _folder(facts: TokenizerFacts) -> str:
    first = facts.files[0] if facts.files else ""
    return first[: first.rfind("/") + 1]


def _listed(ids: set[int]) -> str:
    shown = sorted(ids)[:_NAMED]
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return " or ".join(f"{number:,}" for number in shown) + more


# ---- templates


def _templates(facts: TokenizerFacts, model: str) -> Iterator[Finding]:
    for one in facts.templates:
        name = "the chat template"
        name += "" if one.name == "default" else f" {clean(one.name, 40)}"
        if one.problem:
            text = f"{name} was not read: {one.problem}"
            yield Finding("template-unread", text, one.file, severity="note")
        if one.unknown:
            shown = first_of([clean(token, 40) for token in one.unknown], _NAMED)
            text = f"{name} writes {shown}, which the vocabulary does not have"
            yield Finding("template-token", text, one.file)
    has_tokenizer = facts.vocabulary.file or any(
        path.rpartition("/")[2] == "tokenizer_config.json" for path in facts.files
    )
    if not facts.templates and has_tokenizer and _CHAT.search(model):
        text = f"{clean(model)} is named like a model for conversations and has no chat template"
        yield Finding("no-chat-template", text, severity="note")


# ---- context


def _rope(facts: TokenizerFacts, config: str) -> Iterator[Finding]:
    """transformers warns of the same for yarn: the factor should be the ratio of both lengths."""
    length = facts.context
    if length.reach is None or length.config in (None, length.reach, length.original):
        return
    reach = f"{length.original:,} x {length.factor:g} = {length.reach:,} tokens"
    text = f"{length.config_key} is {length.config:,}; {length.rope_type} reaches {reach}"
    severity: Severity = "warning" if length.config > length.reach else "note"
    yield Finding("rope-context", text, config, severity=severity)


def _lengths(facts: TokenizerFacts) -> Iterator[Finding]:
    length = facts.context
    folder = _folder(facts)
    if length.config is None:
        return
    limit = max(length.config, length.reach or 0)
    for value, key, file in (
        (length.model_max_length, "model_max_length", "tokenizer_config.json"),
        (length.generation, "max_length", "generation_config.json"),
    ):
        if value is not None and value > limit:
            text = f"{key} is {value:,}; the model's context ends at {limit:,}"
            yield Finding("context-lengths", text, f"{folder}{file}", severity="note")
