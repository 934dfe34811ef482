"""Long tables of words, written as text: many on a line, and all that mean the same in one row."""


def pairs(text: str) -> dict[str, str]:
    """Word -> word: ``"sklearn=scikit-learn torch=PyTorch"``."""
    rows = (pair.partition("=") for pair in text.split())
    return {word: meaning for word, _, meaning in rows}


def by_word(text: str) -> dict[str, str]:
    """Each word of a row -> what the row is about, in the order of the text.

    A row is ``F16: float16 half``; lines without a colon go on with the row above them.
    """
    table: dict[str, str] = {}
    meaning = ""
    for line in text.strip().splitlines():
        head, colon, rest = line.partition(": ")
        if colon:
            meaning = head.strip()
        table.update(dict.fromkeys((rest if colon else line).split(), meaning))
    return table
