"""What people write for a device and for a number of tokens."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.errors import UsageError
from hfinspect.sizing.devices import (
    CARDS,
    NOMINAL,
    Device,
    parse_device,
    parse_tokens,
    smallest_card,
)

from ..cli.program import ROOT
from ..cli.program import hfinspect as program


@pytest.mark.parametrize(
    ("text", "nbytes", "count"),
    [
        ("24GB", 24 * 10**9, 1),
        ("24GiB", 24 * 2**30, 1),
        ("1.5TB", 15 * 10**11, 1),
        ("2x80GB", 80 * 10**9, 2),
        ("8xH100", 81559 * 2**20, 8),
        ("rtx4090", 24564 * 2**20, 1),
        ("NVIDIA RTX 4090", 24564 * 2**20, 1),
    ],
)
def test_sizes_and_cards(text: str, nbytes: int, count: int) -> None:
    found = parse_device(text)
    assert (found.nbytes, found.count) == (nbytes, count)
    assert found.total == nbytes * count


@pytest.mark.parametrize("text", ["", "24", "0x24GB", "-3GB", "0GB", "x", "RTX 4900", "9" * 400])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_device(text)


def test_what_is_usable_is_no_more_than_the_datasheet_says() -> None:
    """Error correction takes a sixteenth of some cards; H200's and B200's GB are 10^9 bytes."""
    assert CARDS.keys() == NOMINAL.keys()
    shares = {name: CARDS[name] / 1024 / NOMINAL[name] for name in CARDS}
    assert [name for name, share in shares.items() if not 0.93 < share <= 1] == []


def test_both_sizes_of_a_card_are_shown() -> None:
    target = ROOT / "fixtures" / "models" / "gpt2"
    shown = program(
        "memory", target, "--on", "2x RTX 4090", "--details", env={"COLUMNS": "200"}
    ).out
    assert "2 × RTX 4090 (24,564 MiB usable; 24 GB by the datasheet)" in shown


def test_the_nearest_card_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        parse_device("RTX 4091")
    assert "RTX 4090" in str(caught.value.hint)


@given(st.text(max_size=40))
def test_any_text_is_a_device_or_refused(text: str) -> None:
    with suppress(UsageError):
        assert isinstance(parse_device(text), Device)


@pytest.mark.parametrize(
    ("text", "tokens"), [("4096", 4096), ("32k", 32768), ("1M", 2**20), (7, 7)]
)
def test_tokens(text: str | int, tokens: int) -> None:
    assert parse_tokens(text) == tokens


@pytest.mark.parametrize("text", ["", "0", "-1", "4.5k", "many", "1" * 30, True])
def test_no_number_of_tokens(text: str) -> None:
    with pytest.raises(UsageError):
        parse_tokens(text)


def test_the_smallest_card() -> None:
    assert CARDS[str(smallest_card(30 * 10**9))] == min(
        m for m in CARDS.values() if m * 2**20 >= 30 * 10**9
    )
    assert smallest_card(10**13) is None
