"""The outputs that README and docs show: what their commands on fixtures print.

``python -m tests.readme_outputs`` writes them into the documents.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from .cli.program import hfinspect
from .readme_tables import DOCUMENTS

#: A command on fixtures and the block of text that follows it.
SHOWN = re.compile(
    r"(?P<head>```sh\n(?:[^`]*\n)?[^\n`]*hfinspect (?P<command>[^\n`]+)\n```\n\n```text\n)"
    r"(?P<output>.*?)(?P<tail>```)",
    re.DOTALL,
)


#: Columns of the terminal: README has room for 80, the examples of docs are for narrow windows too.
WIDE = "80"
NARROW = "60"


def columns_of(document: Path) -> str:
    return WIDE if document.name == "README.md" else NARROW


def output_of(command: str, columns: str = NARROW) -> str:
    """What a command prints, or with ``| head -N`` its first lines; the absolute path of a fixture
    is shortened to the typed one."""
    command, _, lines = command.partition(" | head -")
    printed = hfinspect(*shlex.split(command), env={"COLUMNS": columns}).out
    if lines:
        printed = "".join(printed.splitlines(keepends=True)[: int(lines)])
    return re.sub(
        r"^(path +)\S*?((?:fixtures\S*)?)(?:\n {5,}\S+)*$",
        lambda match: match[1] + command.split()[-1],
        printed,
        flags=re.MULTILINE,
    )


def filled(text: str, columns: str = NARROW) -> str:
    """A document with every output as it comes out."""
    return SHOWN.sub(
        lambda m: m["head"] + output_of(m["command"].strip(), columns) + m["tail"], text
    )


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(filled(document.read_text(), columns_of(document)))
