"""The outputs that README and docs show: what their commands on fixtures print at 60 columns.

``python -m tests.readme_outputs`` writes them into the documents.
"""

from __future__ import annotations

import re
import shlex

from .cli.program import hfinspect
from .readme_tables import DOCUMENTS

#: A command on fixtures and the block of text that follows it.
SHOWN = re.compile(
    r"(?P<head>```sh\n(?:[^`]*\n)?[^\n`]*hfinspect (?P<command>[^\n`]+)\n```\n\n```text\n)"
    r"(?P<output>.*?)(?P<tail>```)",
    re.DOTALL,
)


def output_of(command: str) -> str:
    """What a command prints, or with ``| head -N`` its first lines; the absolute path of a fixture
    is shortened to the typed one."""
    command, _, lines = command.partition(" | head -")
    printed = hfinspect(*shlex.split(command), env={"COLUMNS": "60"}).out
    if lines:
        printed = "".join(printed.splitlines(keepends=True)[: int(lines)])
    return re.sub(
        r"^(path +)\S*?((?:fixtures\S*)?)(?:\n {5,}\S+)*$",
        lambda match: match[1] + command.split()[-1],
        printed,
        flags=re.MULTILINE,
    )


def filled(text: str) -> str:
    """A document with every output as it comes out."""
    return SHOWN.sub(lambda m: m["head"] + output_of(m["command"].strip()) + m["tail"], text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(filled(document.read_text()))
