"""HI324 to HI329: the tokenizer's files, the chat templates and the context against each other."""

from collections.abc import Iterator
from functools import partial

from ..facts.target import TargetFacts
from ..facts.tokenizers_read import tokenizers_of
from ..registry import RuleFinding, rules_alike


def _findings_of(facts: TargetFacts, name: str) -> Iterator[RuleFinding]:
    """What ``hfinspect tokenizer`` finds too, under the same name."""
    for one in tokenizers_of(facts):
        for finding in one.findings:
            if finding.rule == name:
                yield RuleFinding(finding.text, finding.file, severity=finding.severity)


rules_alike(
    """
    HI324 special-ids-differ warning
    config.json, generation_config.json and the tokenizer name different ids for one special
    token.
    Why: generation ends at the id of generation_config.json, training pads and cuts at the
    tokenizer's; where they differ, an answer never ends or training learns no end.
    Fix: write the tokenizer's ids into both files; of several ends of text a list.

    HI325 template-token warning
    The chat template writes a special token that the vocabulary does not have.
    Why: the tokenizer cuts it into pieces that the model has never seen in that place.
    Fix: add the token and train its row, or use the template that belongs to the tokenizer.

    HI326 no-chat-template note
    A model whose name says chat or instruct has no chat template.
    Why: servers then take a template of their own choice or refuse conversations.
    Fix: save the tokenizer with its template, which writes chat_template.jinja.

    HI327 rope-context warning
    The config's context is not the original one times the factor of its rotary positions.
    Why: behind the length that the positions reach, answers fall apart; transformers warns.
    Fix: set the factor to max_position_embeddings / original_max_position_embeddings, or correct
    the length.

    HI328 context-lengths note
    model_max_length or max_length is longer than the model's context.
    Why: nothing cuts a text before it is too long for the model; with learned positions it ends in
    an index error.
    Fix: set model_max_length of tokenizer_config.json to the config's context.

    HI329 added-token-id warning
    An added token gets another id than a file says, or the id of another token.
    Why: the tokenizers library gives added tokens the ids that follow the vocabulary and does not
    heed those in the file; the token then reads the row of another one.
    Fix: number added tokens from the size of the vocabulary on without holes, or put the missing
    ones into the vocabulary.
    """,
    lambda _, name: partial(_findings_of, name=name),
)
