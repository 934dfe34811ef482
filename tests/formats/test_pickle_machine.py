"""The pickle machine: right for what pickle writes, and harmless and bounded for anything else."""

from __future__ import annotations

import collections
import io
import os
import pickle
import struct
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hfinspect.errors import FormatError, LimitError
from hfinspect.formats.pickles import state as pickle_state
from hfinspect.formats.pickles.globals import scan_pickle
from hfinspect.formats.pickles.machine import PickleMachine
from hfinspect.formats.pickles.nodes import GlobalRef, Inert, OpaqueKey
from hfinspect.formats.torch.rebuild import StorageTable
from hfinspect.formats.torch.state_dict import Walker

from ..examples import examples

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=5) | st.integers(-9, 9), inner, max_size=5)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


def run(data: bytes) -> object:
    return PickleMachine(data, subject="x").run()


@given(PLAIN, st.sampled_from(range(6)))
@settings(max_examples=examples(150))
def test_plain_data_comes_out_as_pickle_reads_it(value: object, protocol: int) -> None:
    assert run(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_bytes_come_out_as_they_are(protocol: int) -> None:
    assert run(pickle.dumps([b"", b"abc", bytes(300)], protocol)) == [b"", b"abc", bytes(300)]


@pytest.mark.parametrize("protocol", range(6))
def test_python_2_and_3_names_are_the_same_name(protocol: int) -> None:
    pickle_names = scan_pickle(
        pickle.dumps([eval, collections.OrderedDict, os.getcwd], protocol)
    ).globals
    assert [(one.module, one.name) for one in pickle_names] == [
        ("builtins", "eval"),
        ("collections", "OrderedDict"),
        ("posix", "getcwd"),
    ]


def test_old_text_opcodes() -> None:
    assert run(b"(S'a\\n\\x41\\101\\q\\\\'\nU\x01\xe9T\x02\0\0\0\xc3\xa9V\\u00e9\nt.") == (
        "a\nAA\\q\\",
        "é",
        "é",
        "é",
    )


def test_numbers_in_text() -> None:
    assert run(b"(I01\nI00\nI-7\nL12L\nF1.5\nL-3\nt.") == (True, False, -7, 12, 1.5, -3)


class Evil:
    """Unpickling an instance would create the file that it names."""

    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", range(6))
def test_attack_os_system_is_named_and_not_called(protocol: int, tmp_path: Any) -> None:
    target = tmp_path / "hit"
    data = pickle.dumps(Evil(str(target)), protocol)
    node = run(data)
    assert isinstance(node, Inert)
    assert isinstance(node.target, GlobalRef)
    assert (node.target.module, node.target.name) == ("posix", "system")
    assert node.args == (f"touch {target}",)
    assert not target.exists()
    assert [(one.module, one.name) for one in scan_pickle(data).globals] == [("posix", "system")]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        (b"(S'true'\nios\nsystem\n.", "os.system"),
        (b"(cos\nsystem\nS'true'\no.", "os.system"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93)R.", "os.system"),
        (b"\x80\x04S'\\x6fs'\nV\\u0073ystem\n\x93)R.", "os.system"),
        (b"\x80\x04\x8c\x06system\x94\x8c\x02os\x94h\x00\x8c\x01xh\x01h\x00\x93)R.", "os.system"),
        (b"\x80\x02c__builtin__\neval\n.", "builtins.eval"),
        (b"\x80\x02ccommands\ngetoutput\n.", "subprocess.getoutput"),
        (b"\x80\x02\x82\x07.", "<extension registry>.code 7"),
        (b"\x80\x04cbuiltins\nstr\n)R\x8c\x01x\x93.", "<computed>.x"),
        (b"\x80\x04\x8c\x08builtins\x8c\x0dgetattr.x.y.z\x93.", "builtins.getattr.x.y.z"),
    ],
)
def test_attack_every_way_to_name_a_global_is_seen(data: bytes, name: str) -> None:
    dotted = [f"{one.module}.{one.name}" for one in scan_pickle(data).globals]
    assert name in dotted


def test_attack_a_stream_that_breaks_off_has_named_its_globals_all_the_same() -> None:
    scan = scan_pickle(b"cos\nsystem\n(S'true'\ntR\xff")
    assert [name.dotted for name in scan.globals] == ["os.system"]
    assert isinstance(scan.error, FormatError)


def test_attack_known_builders_cannot_be_reached_by_attribute_paths() -> None:
    data = b"\x80\x04\x8c\x05torch\x8c\x18_utils._rebuild_tensor_v2\x93)R."
    table = StorageTable()
    node = PickleMachine(data, subject="x", builders=table.builders()).run()
    assert isinstance(node, Inert)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "pickle-truncated"),
        (b"\x80", "pickle-truncated"),
        (b"\x80\x09.", "pickle-malformed"),
        (b".", "pickle-malformed"),
        (b"N", "pickle-truncated"),
        (b"X\xff\xff\xff\0abc.", "pickle-truncated"),
        (b"\x8d\xff\xff\0\0\0\0\0\0abc.", "pickle-truncated"),
        (b"\x95\xff\xff\xff\xff\xff\xff\xff\xff.", "pickle-truncated"),
        (b"cos\nsystem", "pickle-truncated"),
        (b"h\x05.", "pickle-malformed"),
        (b"t.", "pickle-malformed"),
        (b"R.", "pickle-malformed"),
        (b"Nq", "pickle-truncated"),
        (b"NNs.", "pickle-malformed"),
        (b"NNa.", "pickle-malformed"),
        (b"](Nu.", "pickle-malformed"),
        (b"(Nd.", "pickle-malformed"),
        (b"NNR.", "pickle-malformed"),
        (b"(o.", "pickle-malformed"),
        (b"\x8b\xff\xff\xff\xff", "pickle-malformed"),
        (b"Ifive\n.", "pickle-malformed"),
        (b"Ffive\n.", "pickle-malformed"),
        (b"Sunquoted\n.", "pickle-malformed"),
        (b"X\x01\0\0\0\xff.", "pickle-malformed"),
        (b"V\\u12\n.", "pickle-malformed"),
        (b"T\xff\xff\xff\xff.", "pickle-malformed"),
        (b"\xff.", "pickle-malformed"),
    ],
)
def test_malformed_streams_have_a_rule(data: bytes, rule: str) -> None:
    with pytest.raises(FormatError) as caught:
        run(data)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x8b\xff\xff\xff\x7f", id="long of 2 GiB"),
        pytest.param(b"L" + b"9" * 100_000 + b"L\n.", id="long in 100,000 digits"),
        pytest.param(b"X\xff\xff\xff\xffabc.", id="text of 4 GiB"),
        pytest.param(b"\x8e" + b"\xff" * 8 + b"abc.", id="bytes of 16 EiB"),
        pytest.param(b"(" * 1_000_000, id="a million marks"),
        pytest.param(b"N" * 1_100_000, id="a stack of a million"),
        pytest.param(b"cx\n" + b"y" * 10_000 + b"\n.", id="a name of 10,000 characters"),
        pytest.param(b"Np99999999999999999999\n.", id="a memo index beyond 32 bits"),
        pytest.param(b"ca\nb\n0" * 110_000, id="100,000 globals"),
    ],
)
def test_attack_excess_ends_in_a_limit_error(data: bytes) -> None:
    began = time.perf_counter()
    with pytest.raises(LimitError):
        run(data)
    assert time.perf_counter() - began < 5


def test_attack_opcode_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    # The true limit takes seconds to reach; that it is checked is what matters here.
    monkeypatch.setattr("hfinspect.formats.pickles.machine.MAX_OPCODES", 10_000)
    with pytest.raises(LimitError):
        run(b"N0" * 6_000 + b".")


def test_attack_memo_bomb_costs_nothing_until_unfolded_and_is_refused_then() -> None:
    # Every list holds the one before it ten times: 10**200 items in three kilobytes.
    data = (
        b"]q\x00"
        + b"".join(
            b"](" + b"h" + bytes([n]) * 1 + (b"h" + bytes([n])) * 9 + b"eq" + bytes([n + 1])
            for n in range(200)
        )
        + b"."
    )
    tracemalloc.start()
    root = run(data)
    with pytest.raises(LimitError):
        list(Walker("x").find_tensors(root))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000


def test_attack_a_list_that_holds_itself_is_walked_once() -> None:
    root = run(b"]q\x00h\x00a.")
    assert list(Walker("x").find_tensors(root)) == []


def test_attack_deep_nesting_without_marks_is_bounded() -> None:
    depth = 300_000
    root = run(b"]" * depth + b"a" * (depth - 1) + b".")
    with pytest.raises(LimitError):
        list(Walker("x").find_tensors(root))
    del root  # freeing it must not overflow the stack either


def test_attack_hashing_a_tuple_of_tuples_of_tuples() -> None:
    # hash((t, t)) of (t, t) of ... takes 2**80 steps; the key is never hashed.
    data = b")" + b"2\x86" * 80 + b"q\x00}h\x00Ns."
    result = run(data)
    assert isinstance(result, dict)
    (key,) = result
    assert isinstance(key, OpaqueKey)


def test_attack_integers_that_share_a_hash() -> None:
    # Multiples of 2**61 - 1 all hash to 0: a dict of n of them takes n**2 steps.
    modulus = 2**61 - 1
    keys = b"".join(
        b"\x8a\x0a" + (n * modulus).to_bytes(10, "little") + b"N" for n in range(1, 30_000)
    )
    began = time.perf_counter()
    result = run(b"}(" + keys + b"u.")
    assert isinstance(result, dict)
    assert len(result) == 29_999
    assert time.perf_counter() - began < 5


def test_attack_an_ordered_dict_of_one_list_again_and_again() -> None:
    pairs = b"(" + b"(X\x01\0\0\0aNt" * 3_000 + b"lq\x00"
    data = pairs + (b"ccollections\nOrderedDict\nh\x00\x85R" * 3_000) + b"."
    machine = PickleMachine(data, subject="x", builders=StorageTable().builders())
    with pytest.raises(FormatError):
        machine.run()


def test_limits_are_beyond_what_torch_writes() -> None:
    assert pickle_state.MAX_OPCODES / 30 > 100_000
    assert pickle_state.MAX_LONG_BYTES >= 16


OPCODES = st.sampled_from([bytes([code]) for code in range(256)])
PIECES = st.lists(
    st.sampled_from(
        [
            b"ctorch._utils\n_rebuild_tensor_v2\n",
            b"ccollections\nOrderedDict\n",
            b"K\x01",
            b"N",
            b"(",
            b"t",
            b"R",
            b"}",
            b"]",
            b"u",
            b"s",
            b"a",
            b"e",
            b"q\x00",
            b"h\x00",
            b"Q",
            b")",
            b"\x85",
            b"\x86",
            b"\x87",
            b"X\x01\0\0\0a",
            b"b",
            b"2",
            b"0",
            b"1",
            b"o",
            b"\x93",
            b"\x81",
            b"ctorch\nFloatStorage\n",
            b"X\x07\0\0\0storage",
            b"ctorch\nSize\n",
            b"\x92",
            b"ctorch._tensor\n_rebuild_from_type_v2\n",
            b"ctorch._utils\n_rebuild_sparse_tensor\n",
        ]
    )
    | OPCODES,
    max_size=40,
)


NAMELESS = st.lists(
    st.sampled_from(
        [
            b"K\x01",
            b"N",
            b"(",
            b"t",
            b"}",
            b"]",
            b"u",
            b"s",
            b"a",
            b"e",
            b"q\x00",
            b"h\x00",
            b")",
            b"\x85",
            b"\x86",
            b"\x87",
            b"X\x01\0\0\0a",
            b"2",
            b"0",
            b"1",
            b"\x94",
            b"l",
            b"d",
            b"I1\n",
            b"L-5L\n",
            b"F1\n",
            b"p3\n",
            b"g3\n",
            b"\x8f",
            b"\x90",
            b"\x91",
            b"S'x'\n",
        ]
    ),
    max_size=20,
)


@given(st.binary(max_size=200) | PIECES.map(b"".join), st.sampled_from([b"", b"."]))
@settings(max_examples=examples(400))
@example(struct.pack("<BQ", 0x8D, 2**64 - 1), b"")
def test_any_bytes_give_a_value_or_an_error_of_ours(data: bytes, end: bytes) -> None:
    table = StorageTable()
    machine = PickleMachine(
        data + end, subject="x", builders=table.builders(), persistent=table.persistent
    )
    try:
        root = machine.run()
        list(Walker("x").find_tensors(root))
    except (FormatError, LimitError) as error:
        assert str(error).startswith("x: ")


@given(st.binary(max_size=120) | NAMELESS.map(b"".join))
@settings(max_examples=examples(300))
def test_whatever_pickle_accepts_without_names_the_machine_accepts(data: bytes) -> None:
    class NoNames(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            raise pickle.UnpicklingError

    try:
        NoNames(io.BytesIO(data + b".")).load()
    except Exception:  # whatever it is: pickle refuses, so there is nothing to compare with
        return
    run(data + b".")
