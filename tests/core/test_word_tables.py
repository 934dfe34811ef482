"""Tables of words that are written as text."""

from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.word_tables import by_word, pairs

WORDS = st.text("abcXYZ019_.-", min_size=1, max_size=8)


@given(st.dictionaries(WORDS, WORDS, max_size=8))
def test_pairs(table: dict[str, str]) -> None:
    assert pairs(" ".join(f"{word}={meaning}" for word, meaning in table.items())) == table
    assert pairs("\n".join(f"    {word}={meaning}" for word, meaning in table.items())) == table


@given(st.dictionaries(WORDS, st.lists(WORDS, min_size=1, max_size=5), max_size=5))
def test_rows_in_one_line_and_in_several(rows: dict[str, list[str]]) -> None:
    expected = {word: meaning for meaning, words in rows.items() for word in words}
    assert by_word("\n".join(f"{m}: {' '.join(words)}" for m, words in rows.items())) == expected
    assert by_word("\n".join(f"  {m}: " + "\n   ".join(ws) for m, ws in rows.items())) == expected


def test_a_meaning_may_have_spaces_and_an_equals_sign_a_second() -> None:
    assert by_word("FP8 block: fp8blocks blockfp8") == {
        "fp8blocks": "FP8 block",
        "blockfp8": "FP8 block",
    }
    assert pairs("a=b=c") == {"a": "b=c"}
