"""What the head of a model card says: its licence and its base models.

The head is YAML between two lines of dashes. Two keys of it are read, by lines: a value next to the
key, or items below it. Anything else in it is passed over.
"""

import re
from typing import NamedTuple

#: Base models that are listed; a merge of more is listed up to here.
MAX_BASES = 100
#: A licence or a repo_id is shorter than this.
MAX_VALUE = 200

_KEY = re.compile(r"(?P<key>[A-Za-z_]+):[ \t]*(?P<value>.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)")


class ModelCard(NamedTuple):
    """``licence`` is empty where the card names none."""

    licence: str = ""
    base_models: tuple[str, ...] = ()


def read_card(head: bytes) -> ModelCard:
    """The card whose file begins with these bytes."""
    if not head.startswith(b"---"):
        return ModelCard()
    text = head.split(b"\n---", 1)[0].decode("utf-8", "replace")
    values: dict[str, list[str]] = {}
    key = ""
    for line in text.splitlines():
        if match := _KEY.fullmatch(line):
            key = match["key"]
            values.setdefault(key, []).extend(_values(match["value"]))
        elif match := _ITEM.fullmatch(line):
            values.setdefault(key, []).extend(_values(match["value"]))
        elif line.strip() and not line.startswith((" ", "\t")):
            key = ""
    licences = [*values.get("license", ()), *values.get("license_name", ())]
    if licences[:1] == ["other"] and len(licences) > 1:
        licences = licences[1:]
    return ModelCard(
        licences[0] if licences else "", tuple(values.get("base_model", ())[:MAX_BASES])
    )


def _values(text: str) -> list[str]:
    """A scalar, or the items of a list in brackets, without quotes and comments."""
    text = text.split(" #", 1)[0].strip()
    parts = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [text]
    plain = (part.strip().strip("\"'").strip() for part in parts)
    return [part[:MAX_VALUE] for part in plain if part]
