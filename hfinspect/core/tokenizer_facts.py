"""TokenizerFacts: what a tokenizer's files say, next to the model that it is used with.

``hfinspect/schemas/tokenizer.schema.json`` describes ``TokenizerFacts.to_dict()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from .checkpoint import Finding
from .json_form import JsonDocument, JsonForm
from .records import dataclass
from .refs import Origin

#: Added tokens that a result lists; the largest known models have some 6,000.
MAX_LISTED: Final = 16_384


@dataclass(frozen=True)
class AddedToken(JsonForm):
    """One token that is added to a vocabulary.

    Fields:
        content: the token's text in the file
        id: the id in the file
        special: whether decoding omits it; None if the file does not say
        file: the first file that names it; empty where only its class does
        given: the id that the tokenizers library assigns when it loads tokenizer.json: the
            vocabulary's, else the next free one; None where another file adds the token
    """

    content: str
    id: int
    special: bool | None
    file: str
    given: int | None = None


@dataclass(frozen=True)
class Vocabulary(JsonForm, names={"ids_without_row": "beyond"}):
    """The tokens of a tokenizer and the rows that the model has for them.

    Fields:
        file: the file that lists the tokens; None where none was read
        kind: ``BPE``, ``Unigram``, ``SentencePiece bpe``, ``tiktoken``, ...; GGUF's own name for it
        tokenizer_class: of tokenizer_config.json
        base [tokens]: of the vocabulary, without added ones; None where it was not read
        added [tokens]: tokens that files add, also those in the vocabulary
        special [tokens]: added tokens that decoding omits
        types [tokens]: of each type (``normal``, ``control``, ...) in SentencePiece and GGUF files
        tokens [tokens]: all different ones; None where not all are listed
        highest: the highest id, as the library gives them; None where no file names one
        unused [ids]: ids below the highest that no token has; None if the vocabulary was not read
        declared [tokens]: vocab_size of the config
        rows [rows]: of the table of embeddings; None where it is not known
        rows_by: the tensor or config key that gives the rows
        head_rows [rows]: of an output head of its own; None where it has none
        padding [rows]: rows after the highest id; None if either number is unknown
        ids_without_row [ids]: ids without a row; None if either number is unknown
    """

    file: str | None = None
    kind: str | None = None
    tokenizer_class: str | None = None
    base: int | None = None
    added: int = 0
    special: int = 0
    types: Mapping[str, int] = field(default_factory=dict)
    tokens: int | None = None
    highest: int | None = None
    unused: int | None = None
    declared: int | None = None
    rows: int | None = None
    rows_by: str = ""
    head_rows: int | None = None
    padding: int | None = None
    ids_without_row: int | None = None


@dataclass(frozen=True)
class SpecialToken(JsonForm):
    """One role of special tokens in the files that name it, side by side.

    Fields:
        role: ``bos``, ``eos``, ``pad``, ``unk``, ``sep``, ``cls`` or ``mask``
        token: the token in the tokenizer's files; None if they name none
        tokenizer: its id as the tokenizers library gives it; empty where it is not known
        config: ids of config.json; empty where it names none
        generation: ids of generation_config.json; empty where it names none
    """

    role: str
    token: str | None = None
    tokenizer: tuple[int, ...] = ()
    config: tuple[int, ...] = ()
    generation: tuple[int, ...] = ()


@dataclass(frozen=True)
class ChatTemplate(JsonForm):
    """What a chat template uses. hfinspect parses templates and never renders them.

    Fields:
        name: ``default``, or its name in the file
        file: the file that holds it
        characters [characters]: of its text
        roles: roles that it compares a message's role with
        refused: roles for which it raises an error
        any_role: whether it writes any role unchanged
        tools: whether it uses a list of tools
        tool_calls: whether it writes tool calls of messages
        modalities: kinds of content: ``image``, ``video``, ``audio``
        thinking: the variables that switch thinking
        variables: variables that the caller passes
        tokens: special tokens that it writes, in ``<|`` and ``|>``
        unknown: those of them that no file has; empty where the vocabulary was not read
        problem: why it could not be parsed; empty if it was
    """

    name: str
    file: str
    characters: int
    roles: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    any_role: bool = False
    tools: bool = False
    tool_calls: bool = False
    modalities: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class ContextLengths(JsonForm):
    """The longest sequence by each file, in tokens.

    Fields:
        model_max_length [tokens]: of tokenizer_config.json; None where it sets no limit
        config [tokens]: of the model's config; None where it names none
        config_key: the key of ``config``
        rope_type: how rotary positions are scaled: ``yarn``, ``linear``, ``llama3``, ...
        factor: by how much, as the config writes it
        original [tokens]: the context of the original training
        reach [tokens]: original x factor; None if it is not whole or does not apply
        sliding_window [tokens]: that a layer with a window sees
        generation [tokens]: max_length of generation_config.json
    """

    model_max_length: int | None = None
    config: int | None = None
    config_key: str = ""
    rope_type: str | None = None
    factor: int | float | None = None
    original: int | None = None
    reach: int | None = None
    sliding_window: int | None = None
    generation: int | None = None


@dataclass(frozen=True)
class TokenizerFacts(JsonDocument):
    """A tokenizer, its chat templates and the model's limits, read from files and never run.

    Fields:
        target: the model as it was named
        origin: what was read, and at which commit
        files: the files read, in order
        vocabulary: tokens and rows
        special: special tokens by role
        added_tokens: the first 16,384 of the added ones, by id
        templates: chat templates, the default one first
        context: longest sequences
        findings: where the files disagree, and what was not read
        component: of a pipeline, the folder of this tokenizer; empty for any other model
        parts: the tokenizers of a pipeline, each next to the config of its text encoder
    """

    target: str
    origin: Origin
    files: tuple[str, ...] = ()
    vocabulary: Vocabulary = Vocabulary()
    special: tuple[SpecialToken, ...] = ()
    added_tokens: tuple[AddedToken, ...] = ()
    templates: tuple[ChatTemplate, ...] = ()
    context: ContextLengths = ContextLengths()
    findings: tuple[Finding, ...] = ()
    component: str = ""
    parts: tuple[TokenizerFacts, ...] = ()

    @property
    def says_anything(self) -> bool:
        """Whether there is a tokenizer: tokens, or a template."""
        tokens = self.vocabulary
        return bool(tokens.file or tokens.tokenizer_class or tokens.added or self.templates)
