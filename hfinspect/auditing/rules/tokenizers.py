"""HI324 to HI329: the tokenizer's files, the chat templates and the context against each other."""

from collections.abc import Iterator
from functools import partial

from ..facts.target import TargetFacts
from ..facts.tokenizers_read import tokenizers_of
from ..registry import RuleFinding, Wording, rules_alike


def _findings_of(facts: TargetFacts, name: str) -> Iterator[RuleFinding]:
    """What ``hfinspect tokenizer`` finds too, under the same name."""
    for one in tokenizers_of(facts):
        for finding in one.findings:
            if finding.rule == name:
                yield RuleFinding(finding.text, finding.file, severity=finding.severity)


#: What differs between rules that are alike.
_WORDINGS = (
    Wording(
        "HI324",
        "special-ids-differ",
        "warning",
        what="config.json, generation_config.json and the tokenizer name different ids for one "
        "special token.",
        why="Generation ends at the id of generation_config.json, training pads and cuts at the "
        "tokenizer's; where they differ, an answer never ends or training learns no end.",
        fix="Write the tokenizer's ids into both files; of several ends of text a list.",
    ),
    Wording(
        "HI325",
        "template-token",
        "warning",
        what="The chat template writes a special token that the vocabulary does not have.",
        why="The tokenizer cuts it into pieces that the model has never seen in that place.",
        fix="Add the token and train its row, or use the template that belongs to the tokenizer.",
    ),
    Wording(
        "HI326",
        "no-chat-template",
        "note",
        what="A model whose name says chat or instruct has no chat template.",
        why="Servers then take a template of their own choice or refuse conversations.",
        fix="Save the tokenizer with its template, which writes chat_template.jinja.",
    ),
    Wording(
        "HI327",
        "rope-context",
        "warning",
        what="The config's context is not the original one times the factor of its rotary "
        "positions.",
        why="Behind the length that the positions reach, answers fall apart; transformers warns.",
        fix="Set the factor to max_position_embeddings / original_max_position_embeddings, or "
        "correct the length.",
    ),
    Wording(
        "HI328",
        "context-lengths",
        "note",
        what="model_max_length or max_length is longer than the model's context.",
        why="Nothing cuts a text before it is too long for the model; with learned positions it "
        "ends in an index error.",
        fix="Set model_max_length of tokenizer_config.json to the config's context.",
    ),
    Wording(
        "HI329",
        "added-token-id",
        "warning",
        what="An added token gets another id than a file says, or the id of another token.",
        why="The tokenizers library gives added tokens the ids that follow the vocabulary and "
        "does not heed those in the file; the token then reads the row of another one.",
        fix="Number added tokens from the size of the vocabulary on without holes, or put the "
        "missing ones into the vocabulary.",
    ),
)
rules_alike(_WORDINGS, lambda _, name: partial(_findings_of, name=name))
