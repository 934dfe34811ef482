"""Options that other tools have and a command here has not: what to type is in the hint."""

from __future__ import annotations

import pytest

from hfinspect.cli.hints import _ELSEWHERE, _NO_OPTION, meant, words_of_memory

from .program import hfinspect

BLOOM = "fixtures/models/bloom-1b4-zh"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("memory", BLOOM, "--gpu", "24GB"), "did you mean --on 'RTX 4090'?"),
        (("memory", BLOOM, "--ctx=4096"), "did you mean --context 32k?"),
        ((BLOOM, "--json"), "did you mean --format json?"),
        (("scan", BLOOM, "--json"), "did you mean --format json?"),
        ((BLOOM, "--vram", "24GB"), "hfinspect memory MODEL --on 'RTX 4090' shows that"),
        ((BLOOM, "--trust-remote-code"), "hfinspect never runs code"),
        (("tree", BLOOM, "--offline"), "HF_HUB_OFFLINE=1 in the environment"),
        ((BLOOM, "--frobnicate"), "see hfinspect inspect --help"),
    ],
)
def test_the_hint_says_what_to_type(arguments: tuple[str, ...], hint: str) -> None:
    done = hfinspect(*arguments)
    assert done.code == 2
    assert f"hint: {hint}" in " ".join(done.err.split())


def test_every_hint_names_an_option_that_is_there() -> None:
    taken = {
        line.split()[0].rstrip(",")
        for line in hfinspect("memory", "--help").out.splitlines()
        if line.strip().startswith("-")
    }
    taken |= {"--output"}  # next to its letter
    taken |= {"--format"}
    for typed, words in (words_of_memory() | _ELSEWHERE).items():
        assert typed.split()[0] in taken, typed
        for word in words:
            assert f"--{word}" not in taken or word == "quantize", (
                "a word that is an option here needs no hint; quantize is one of Python too"
            )


def test_words_stand_once() -> None:
    tables = (words_of_memory(), _ELSEWHERE, _NO_OPTION)
    words = [word for table in tables for words in table.values() for word in words]
    assert len(words) == len(set(words))
    assert meant("--no-such-option", ()) is None
