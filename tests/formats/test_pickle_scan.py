"""Names of pickles as every unpickler would meet them, and what is not followed."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hfinspect
from hfinspect.errors import FormatError, HfinspectError, LimitError
from hfinspect.formats.base import BytesReader
from hfinspect.formats.pickles.arrays import array_layout
from hfinspect.formats.pickles.globals import scan_pickle
from hfinspect.formats.pickles.nodes import MADE, NAMED, SETTLED, GlobalRef, Inert
from hfinspect.formats.torch.torch import scan_file

from ..examples import examples
from ..trust.attacks import _wrapper
from ..trust.evil import EVIL_PICKLE
from ..trust.opcodes import Raw, call, frame, get, name, pickled
from .torch_files import torch_zip


def uses(content: Raw | bytes, protocol: int = 4) -> dict[str, str]:
    return {item.dotted: item.use for item in scan_pickle(pickled(content, protocol)).globals}


def dotted(data: bytes, path: str = "x.pkl") -> list[str]:
    scans = scan_file(BytesReader(path, data))
    return [item.dotted for _, scan in scans for item in scan.globals]


def errors(data: bytes, path: str = "x.pkl") -> list[str]:
    scans = scan_file(BytesReader(path, data))
    return [str(scan.error) for _, scan in scans if scan.error is not None]


# ---- what a name is used for


def test_a_bare_instance_is_made_and_a_call_is_not() -> None:
    made = name("a.B").code + b")\x81}b"
    assert uses(made) == {"a.B": MADE}
    assert uses(name("a.B").code + b")R") == {"a.B": NAMED}
    assert uses(name("a.B").code + b"K\x01\x85\x81") == {"a.B": NAMED}
    assert uses(b"](" + made + name("a.B").code + b"e") == {"a.B": NAMED}
    assert uses(name("a.B").code + b"q\x00)\x81h\x00)\x81\x86") == {"a.B": MADE}
    assert uses(name("a.B").code + b"q\x00)\x81h\x000") == {"a.B": NAMED}
    assert uses(name("a.B").code + b"2)\x81\x86") == {"a.B": NAMED}


@pytest.mark.parametrize("protocol", [0, 1])
def test_old_protocols_make_bare_instances_by_copyreg(protocol: int) -> None:
    pickle_names = scan_pickle(pickle.dumps(_Plain(), protocol)).globals
    assert [(item.name, item.use) for item in pickle_names] == [
        ("_reconstructor", SETTLED),
        ("_Plain", MADE),
        ("object", SETTLED),
    ]


class _Plain:
    def __init__(self) -> None:
        self.a = 1


def test_getattr_of_a_class_is_a_name_of_its_own() -> None:
    assert uses(get("a.Color", "RED")) == {
        "builtins.getattr": SETTLED,
        "a.Color": SETTLED,
        "a.Color.RED": NAMED,
    }
    assert uses(get(call("a.f"), "x"))["builtins.getattr"] == NAMED
    assert uses(Raw(name("builtins.getattr").code + b"q\x000h\x00")) == {"builtins.getattr": NAMED}


def test_python_2_names_are_translated_in_python_2_protocols_alone() -> None:
    assert uses(b"ccommands\ngetoutput\n", 2) == {"subprocess.getoutput": NAMED}
    assert uses(b"ccommands\ngetoutput\n", 4) == {"commands.getoutput": NAMED}


# ---- what is not followed


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(b"](K\x01eK\x00K\x02s", id="item of a list"),
        pytest.param(b"I010\n", id="octal"),
        pytest.param(name("a.f").code + call("b.g").code + b"R", id="computed arguments"),
        pytest.param(name("a.B").code + b"}b", id="state of a class"),
        pytest.param(name("a.B").code + b"K\x01a", id="an item of a class"),
        pytest.param(b"\x8b" + struct.pack("<i", 300) + bytes(300), id="a long integer"),
        pytest.param(b"Np" + b"9" * 600 + b"\n", id="a memo index of 600 digits"),
        pytest.param(_wrapper(4, "e99") + b"abcd", id="an array of unknown type"),
    ],
)
@pytest.mark.parametrize("file", ["x.pkl", "extra.bin", "x.joblib", "training_args.bin"])
def test_what_is_not_followed_is_an_error_under_any_name(
    code: bytes, file: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_bytes(code + b".")
    audit_result = hfinspect.audit(str(tmp_path))
    assert "HI403" in {item.code for item in audit_result.findings if item.severity == "error"}


def test_bytes_that_no_unpickler_takes_are_no_pickle() -> None:
    for data in (
        b"hello",
        b"\x00" * 9,
        b"(hello",
        b"Text of a file\n",
        b"I am text\n",
        b"\x8b\x7f",
    ):
        assert scan_file(BytesReader("x.bin", data)) == []


def test_more_pickles_than_are_read_are_reported() -> None:
    rows = pickle.dumps(1) * 1_001
    assert "more than 1,000 pickles" in errors(rows)[0]
    assert errors(pickle.dumps(1) * 1_000) == []


def test_the_seventeenth_pickle_is_looked_at() -> None:
    assert dotted(pickle.dumps(1) * 16 + EVIL_PICKLE) == ["os.system"]


def test_what_follows_a_legacy_files_five_pickles_is_data() -> None:
    magic = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
    assert dotted(magic + pickle.dumps(1) * 4 + EVIL_PICKLE) == []


# ---- arrays between opcodes


def test_raw_arrays_are_passed_over() -> None:
    for layout, raw in (
        (_wrapper(4), b"\xff\xff\xff\xff"),
        (_wrapper(2, "<f8"), b"\xff" * 16),
        (_wrapper(4, padded=True), b"\x03\xff\xff\xff" + b"\xff" * 4),
        (_wrapper(1, "O8"), pickle.dumps(["inner"])),
        (_wrapper(300_000), b"\xff" * 300_000),
        (_wrapper(300_000, padded=True), b"\x02xx" + b"\xff" * 300_000),
    ):
        data = b"\x80\x04](" + layout + raw + layout + raw + call("after.f").code + b"e."
        assert errors(data) == []
        assert "after.f" in dotted(data)


def test_an_array_is_read_as_opcodes_too() -> None:
    hidden = b"0" + call("os.system", "x").code + b"."
    assert "os.system" in dotted(b"\x80\x04" + _wrapper(len(hidden)) + hidden + b".")


def test_an_array_that_an_unpickler_in_python_finds_elsewhere_is_an_error() -> None:
    data = b"\x80\x04" + frame(_wrapper(4) + b"abcd" + b".")
    assert "inside of a frame" in errors(data)[0]


def test_an_array_cut_short() -> None:
    assert errors(b"\x80\x04" + _wrapper(400) + b"\xff" * 9)


def _node(text: str, state: object) -> Inert:
    node = Inert(GlobalRef("numpy", "dtype"), (text, False, True))
    node.parts.append(state)
    return node


DTYPE_STATES = st.recursive(
    st.none() | st.integers(-3, 300) | st.text(max_size=4) | st.sampled_from(["V8", "f8", "O8"]),
    lambda inner: (
        st.tuples(inner, inner, inner, inner, inner, inner, inner)
        | st.dictionaries(st.text(max_size=2), st.tuples(inner, inner), max_size=3)
        | st.builds(_node, st.sampled_from(["V8", "V300", "f8", "O8", "U3"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["shape", "dtype", "subclass"]), DTYPE_STATES, max_size=3))
@settings(max_examples=examples(200))
def test_any_header_of_an_array_has_a_size_or_none(state: dict[str, object]) -> None:
    layout = array_layout(state)
    assert layout is None or layout.nbytes >= 0


# ---- files in files


def test_tensors_inside_of_a_plain_pickle_are_looked_through() -> None:
    inner = torch_zip(EVIL_PICKLE, {})
    for data in (
        pickled(call("torch.storage._load_from_bytes", inner)),
        pickled(
            call(
                "torch.storage._load_from_bytes",
                call("_codecs.encode", inner.decode("latin1"), "latin1"),
            ),
            2,
        ),
    ):
        assert "os.system" in dotted(data)
    assert uses(call("torch.storage._load_from_bytes", call("a.f"))) == {
        "torch.storage._load_from_bytes": NAMED,
        "a.f": NAMED,
    }


def test_archives_in_archives_end_in_a_limit() -> None:
    data = EVIL_PICKLE
    for _ in range(8):
        data = torch_zip(EVIL_PICKLE, {}, members={"inner.pt": data})
    assert any("innermost" in text for text in errors(data, "model.pt"))


MAGICS = st.sampled_from(
    [
        b"",
        b"\x80\x02",
        b"\x80\x04",
        b"\x93NUMPY\x01\x00",
        b"\x93NUMPY\x02\x00\x10\x00\x00\x00",
        b"PK\x03\x04",
        bytes(257) + b"ustar\x0000",
        _wrapper(3),
        _wrapper(1, "O8"),
        torch_zip(EVIL_PICKLE, {"0": 4}),
    ]
)


@given(MAGICS, st.binary(max_size=300), st.integers(0, 2_000))
@settings(max_examples=examples(300))
def test_any_bytes_are_scanned_or_refused_in_our_words(magic: bytes, tail: bytes, cut: int) -> None:
    data = (magic + tail)[: max(cut, 1)]
    try:
        scan_file(BytesReader("x.bin", data))
    except (FormatError, LimitError, HfinspectError) as error:
        assert str(error).startswith("x.bin")


# ---- what the commands say


@pytest.mark.parametrize("file", ["vocab.pkl", "vocab.bin", "pytorch_model.bin"])
@pytest.mark.parametrize("protocol", [0, 1, 2])
def test_an_old_pickle_is_no_other_format(file: str, protocol: int, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(pickle.dumps({"a": [1, 2]}, protocol))
    audit_result = hfinspect.audit(str(tmp_path))
    assert "HI127" not in {item.code for item in audit_result.findings}


def test_inspecting_counts_next_to_an_unknown_name_and_points_to_the_audit(tmp_path: Path) -> None:
    from .torch_files import pickled as state
    from .torch_files import tensor

    content = state({"a.weight": tensor("0", (2, 2)), "extra": call("my.Odd").code})
    (tmp_path / "pytorch_model.bin").write_bytes(torch_zip(content, {"0": 16}))
    inspection = hfinspect.inspect(str(tmp_path))
    assert inspection.parameters == 4
    assert any("my.Odd" in f.text and "an audit says" in f.text for f in inspection.findings)


NAMESPACE = name("argparse.Namespace").code + b")\x81"


def _holding(key: str, *, wrapped: bool = False) -> bytes:
    """A PyTorch file of one tensor, and a Namespace under ``key`` next to it."""
    from .torch_files import tensor, text

    state = text("a.weight") + tensor("0", (2, 2))
    inner = b"}(" + state + b"u"
    content = text("state_dict") + inner if wrapped else state
    return torch_zip(b"\x80\x02}(" + content + text(key) + NAMESPACE + b"u.", {"0": 16})


@pytest.mark.parametrize(
    ("file", "data", "severity"),
    [
        # By name, whatever is in it.
        ("pytorch_model.bin", _holding("args"), "error"),
        ("pytorch_model-00001-of-00002.bin", _holding("args"), "error"),
        ("pytorch_model.fp16.bin", _holding("cfg", wrapped=True), "error"),
        ("adapter_model.bin", _holding("args"), "error"),
        ("vae/diffusion_pytorch_model.bin", _holding("args"), "error"),
        ("pytorch_model.bin", torch_zip(b"\x80\x02" + NAMESPACE + b".", {}), "error"),
        # By content: tensors, and no key of a training script.
        ("model.pt", _holding("x"), "error"),
        ("consolidated.00.pth", _holding("x"), "error"),
        ("weights.ckpt", _holding("x"), "error"),
        ("embedding.bin", _holding("x"), "error"),
        ("net.th", _holding("x", wrapped=True), "error"),
        # Training checkpoints: the reviewed list.
        ("model.pt", _holding("args"), "warning"),
        ("epoch=1.ckpt", _holding("hyper_parameters", wrapped=True), "warning"),
        ("checkpoint_best.pt", _holding("cfg", wrapped=True), "warning"),
        # No tensors: a pickle as any other.
        ("times.pt", torch_zip(b"\x80\x02}" + NAMESPACE + b"0.", {}), "warning"),
        # By name no weights.
        ("optimizer.pt", _holding("x"), "note"),
        ("training_args.bin", torch_zip(b"\x80\x02" + NAMESPACE + b".", {}), "note"),
        ("x.pkl", pickle.dumps({"a": 1}, 2)[:-1] + NAMESPACE + b"0.", "note"),
    ],
)
def test_reviewed_names_have_the_severity_of_the_file(
    file: str, data: bytes, severity: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    (finding,) = hfinspect.audit(str(tmp_path), select=["HI402"]).findings
    assert (finding.file, finding.severity) == (file, severity)


def test_a_shard_of_an_index_is_a_weight_file(tmp_path: Path) -> None:
    (tmp_path / "part.pt").write_bytes(_holding("args"))
    index = '{"metadata": {}, "weight_map": {"a.weight": "part.pt"}}'
    (tmp_path / "pytorch_model.bin.index.json").write_text(index)
    (finding,) = hfinspect.audit(str(tmp_path), select=["HI402"]).findings
    assert (finding.file, finding.severity) == ("part.pt", "error")
