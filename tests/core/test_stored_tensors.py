"""Names folded to patterns: unfolding gives them back, whatever they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.stored_tensors import (
    StoredTensors,
    fold_names,
    longest_name,
    numbers_of,
    texts_of,
    unfold_name,
    width_of,
)
from hfinspect.core.tensor import StoredTensor

#: Names that try to be what a fold writes: marks, percents, dots, leading zeros, many numbers.
SEGMENTS = st.sampled_from(
    [
        "",
        "0",
        "7",
        "12",
        "007",
        "-1",
        "999999",
        "1000000",
        "%d",
        "%",
        "%%",
        "%%d",
        "%s",
        "a%",
        "d",
        "\u0663",
        "w",
        "layers",
        "\n",
        "\0",
        "1\n2",
        "\r",
        "\u2028",
        "1.",
        "\udc00",
    ]
)
NAMES = st.one_of(
    st.lists(SEGMENTS, min_size=1, max_size=7).map(".".join),
    st.text(max_size=12),
    st.text(alphabet="01.%d\n", max_size=12),
)
LAYERS = [f"model.layers.{n}.mlp.experts.{e}.up_proj.weight" for n in range(3) for e in range(4)]


@given(st.lists(NAMES, max_size=12))
def test_unfolding_gives_the_names_back(names: list[str]) -> None:
    patterns, keys = fold_names(names)
    assert list(map(unfold_name, patterns, keys)) == names
    alone = [fold_names([name]) for name in names]
    assert alone == [([pattern], [key]) for pattern, key in zip(patterns, keys, strict=True)]
    pairs = set(zip(patterns, keys, strict=True))
    assert len(pairs) == len(set(names))
    for pattern, key in pairs:
        numbers = list(map(str, numbers_of(key, width_of(pattern))))
        texts = texts_of(pattern)
        spelled = "".join(t + n for t, n in zip(texts, [*numbers, ""], strict=True))
        assert spelled == unfold_name(pattern, key)


@given(st.lists(NAMES, min_size=1, max_size=12))
def test_no_name_is_longer_than_the_longest(names: list[str]) -> None:
    by_pattern: dict[str, list[tuple[int, str]]] = {}
    for name, pattern, key in zip(names, *fold_names(names), strict=True):
        by_pattern.setdefault(pattern, []).append((key, name))
    for pattern, entries in by_pattern.items():
        longest = longest_name(pattern, [key for key, _ in entries])
        assert len(longest) >= max(len(name) for _, name in entries)
        assert fold_names([longest])[0] == [pattern]


def test_only_whole_numbers_between_dots_are_taken_out() -> None:
    patterns, keys = fold_names(["h.10.conv1.weight", "h.01.w", "h.1000000.w", "3", "a.1.2.3.4.5"])
    assert patterns == ["h.%d.conv1.weight", "h.01.w", "h.1000000.w", "%d", "a.%d.%d.%d.4.5"]
    assert [numbers_of(key, width_of(p)) for p, key in zip(patterns, keys, strict=True)] == [
        (10,),
        (),
        (),
        (3,),
        (1, 2, 3),
    ]


def folded(rows: Sequence[tuple[str, str, tuple[int, ...], int, int]], base: int) -> StoredTensors:
    names, dtypes, shapes, sizes, starts = zip(*rows, strict=True) if rows else ((),) * 5
    forms = list(zip(dtypes, shapes, strict=True))
    return StoredTensors.of_columns(
        names, forms, {form: form for form in forms}, sizes, starts, base
    )


@given(
    st.lists(
        st.tuples(
            NAMES,
            st.sampled_from(["F32", "BF16"]),
            st.sampled_from([(), (2,), (2, 3)]),
            st.integers(-3, 20),
            st.integers(0, 2**64 - 1),
        ),
        max_size=8,
    ),
    st.integers(0, 2**27),
)
def test_a_header_unfolds_to_the_tensors_in_their_order(
    rows: list[tuple[str, str, tuple[int, ...], int, int]], base: int
) -> None:
    wanted = tuple(
        StoredTensor(name, dtype, shape, prod(shape), nbytes, base + start)
        for name, dtype, shape, nbytes, start in rows
    )
    tensors = folded(rows, base)
    assert tensors == wanted
    assert tuple(tensors) == wanted
    assert hash(tensors) == hash(wanted)
    assert list(tensors.names()) == [tensor.name for tensor in wanted]
    assert len(tensors) == len(wanted)
    assert tensors.nbytes == sum(tensor.nbytes for tensor in wanted)
    assert tensors.starts() == [row[4] for row in rows]
    assert tensors.sizes() == [row[3] for row in rows]
    assert [t.offset for t in tensors.without_offsets()] == [None] * len(rows)


def test_a_kind_is_kept_once() -> None:
    at = 0
    rows = []
    for name in LAYERS:
        rows.append((name, "BF16", (4, 2), 16, at))
        at += 16
    tensors = folded(rows, 8)
    assert len(tensors.kinds) == 1
    assert tensors.in_order
    assert tensors.kinds[0].pattern == "model.layers.%d.mlp.experts.%d.up_proj.weight"
    assert not folded([rows[1], rows[0]], 8).in_order
