"""Getters over config.json: what they take, and the errors that name the key."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect import inspect
from hfinspect.core import config_keys
from hfinspect.core.config import MAX_COUNT, MAX_DIM, ModelConfig, exact
from hfinspect.core.dims import Constant, Dim
from hfinspect.core.library_versions import REVISED
from hfinspect.errors import ConfigError, HfinspectError
from hfinspect.trees.prediction import predict

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def config(**values: Any) -> ModelConfig:
    return ModelConfig(values)


def test_the_first_present_synonym_wins() -> None:
    c = config(b=2, c=3)
    assert (c.dim("a", "b", "c"), str(c.dim("a", "b").expr)) == (2, "b")
    assert config(a=None, b=2).dim("a", "b") == 2  # null is absent
    assert c.raw("a", "c", "b") == 3
    assert not c.has("a")


def test_sizes() -> None:
    c = config(a=64, f=64.0, nested={"a": 8}, big=MAX_DIM)
    assert (c.dim("a"), c.dim("f"), c.dim("big")) == (64, 64, MAX_DIM)
    assert str(c.section("nested").dim("a").expr) == "nested.a"
    assert (c.dim("x", default=7), str(c.dim("x", "y", default=7).expr)) == (7, "x")
    assert c.dim("x", default=2 * c.dim("a")).expr == (2 * c.dim("a")).expr
    assert c.optional_dim("x") is None
    assert c.optional_dim("a") == 64


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("64", "an integer"),
        (64.5, "an integer"),
        (True, "an integer"),
        ([64], "an integer"),
        (math.inf, "an integer"),
        (math.nan, "an integer"),
        (0, "at least 1"),
        (-1, "at least 1"),
        (MAX_DIM + 1, "at most 1,099,511,627,776"),
    ],
)
def test_sizes_refused(value: object, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"config key t.a: is .*, expected {expected}") as error:
        ModelConfig({"a": value}, "t.").dim("a")
    assert (error.value.key, error.value.exit_code) == ("t.a", 4)


def test_a_missing_size_names_the_key_first_asked() -> None:
    with pytest.raises(ConfigError, match="config key hidden_size: is missing"):
        config().dim("hidden_size", "n_embd")


def test_counts_are_bounded_by_what_can_be_listed() -> None:
    assert config(n=MAX_COUNT).count("n") == MAX_COUNT
    assert config(n=0).count("n") == 0
    with pytest.raises(ConfigError, match="at most 10,000"):
        config(n=MAX_COUNT + 1).count("n")


def test_flags() -> None:
    c = config(t=True, f=False, one=1, zero=0, null=None)
    assert [c.flag(key, default=False) for key in ("t", "f", "one", "zero")] == [
        True,
        False,
        True,
        False,
    ]
    assert c.flag("absent", default=True) is True
    # What is written down as null stays None in transformers' configs, and so is false.
    assert c.flag("null", default=True) is False
    assert c.with_defaults(null=True, absent=True).flag("null", default=True) is False
    assert c.with_defaults(null=True, absent=True).flag("absent", default=False) is True
    wrongs: list[object] = ["true", 2, 1.0, []]
    for wrong in wrongs:
        with pytest.raises(ConfigError, match="true or false"):
            config(t=wrong).flag("t", default=False)


def test_numbers() -> None:
    assert config(a=1.5, b=2).number("a", default=0) == 1.5
    assert config(b=2).number("a", default=0.25) == 0.25
    for wrong in ("1", True, math.nan, math.inf, 2 * MAX_DIM, 10**400):
        with pytest.raises(ConfigError, match="number"):
            config(a=wrong).number("a", default=0)


def test_lists_of_a_length() -> None:
    c = config(sizes=[1, 2], one=3, names=["a"], bits=[0, 1])
    assert c.dims("sizes", count=2) == (1, 2)
    assert c.dims("one", count=1) == (3,)
    with pytest.raises(ConfigError, match=r"has 2 entries.*expected 3"):
        c.dims("sizes", count=3)
    with pytest.raises(ConfigError, match=r"has 1 entry.*expected 2"):
        c.strings("names", count=2)
    with pytest.raises(ConfigError, match=r"has 2 entries.*expected 1"):
        c.flags("bits", count=1)
    with pytest.raises(ConfigError, match=r"has 1 entry.*expected 2"):
        c.strings("absent", default=("a",), count=2)
    with pytest.raises(ConfigError, match="at most 1"):
        c.dims("sizes", maximum=1)
    assert c.dims("sizes", least=2) == (1, 2)
    with pytest.raises(ConfigError, match="expected at least 3"):
        c.dims("sizes", least=3)


def test_a_word_of_a_few() -> None:
    c = config(form="plain", other="square")
    assert c.word("form", "round", "plain") == "plain"
    assert c.word("absent", "round", "plain") == "round"
    assert c.word("absent", "round", "plain", default="plain") == "plain"
    with pytest.raises(ConfigError, match=r"'square'.*expected round or plain"):
        c.word("other", "round", "plain")


def test_texts_and_lists() -> None:
    texts = config(s="x", n=[1, 2.0], one=3, names=["a"], bits=[True, 0])
    assert (texts.text("s"), texts.text("t", default="y")) == ("x", "y")
    assert (texts.dims("n"), texts.dims("one"), texts.dims("z", default=(4,))) == (
        (1, 2),
        (3,),
        (4,),
    )
    assert str(texts.dims("n")[1].expr) == "n[1]"
    assert texts.strings("names") == ("a",)
    assert texts.flags("bits") == (True, False)
    wrongs: list[tuple[Callable[[ModelConfig], object], object]] = [
        (lambda c: c.text("k"), 1),
        (lambda c: c.dims("k"), "12"),
        (lambda c: c.dims("k"), [1, "2"]),
        (lambda c: c.dims("k"), [0]),
        (lambda c: c.dims("k"), [1] * (MAX_COUNT + 1)),
        (lambda c: c.strings("k"), ["a", 1]),
        (lambda c: c.strings("k"), "abc"),
        (lambda c: c.flags("k"), [True, "x"]),
        (lambda c: c.section("k"), [1]),
        (lambda c: c.section("k"), "x"),
    ]
    for get, wrong in wrongs:
        with pytest.raises(ConfigError, match=r"config key k"):
            get(config(k=wrong))
    for missing in (texts.dims, texts.strings, texts.flags):
        with pytest.raises(ConfigError, match="is missing"):
            missing("nowhere")


def test_sections_and_defaults() -> None:
    assert config().section("text_config").dim("a", default=1) == 1
    assert config(x=None).section("x", default={"a": 2}).dim("a") == 2
    with_defaults = config(a=1, b=None).with_defaults(a=9, b=9, c=9)
    assert [with_defaults.raw(key) for key in "abc"] == [1, 9, 9]


def test_what_it_says_it_is() -> None:
    assert config(architectures=["A", "B"]).architectures == ("A", "B")
    assert config(architectures="A").architectures == ("A",)
    assert config().architectures == ()
    for wrong in (1, [1], {"a": 1}):
        with pytest.raises(ConfigError, match="class names"):
            assert config(architectures=wrong).architectures
    with pytest.raises(ConfigError, match="model_type"):
        assert config(model_type=3).model_type


@pytest.mark.parametrize(
    "given",
    [
        {"model_type": "llama", "num_attention_heads": 7},
        {"model_type": "llama", "hidden_size": 4097},
        {"model_type": "llava", "text_config": {"num_attention_heads": 7}},
        {"model_type": "xlnet", "n_head": 7},
        {"model_type": "clip", "vision_config": {"hidden_size": 14}},
        {"model_type": "siglip", "vision_config": {"hidden_size": 14}},
        {"model_type": "voxtral_encoder", "hidden_size": 14},
    ],
)
def test_heads_that_the_config_class_wants_to_divide_the_width(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="expected a divisor of"):
        predict(given)


def test_heads_need_not_divide_where_the_class_takes_others() -> None:
    assert predict({"model_type": "qwen2", "num_attention_heads": 7, "num_hidden_layers": 1})
    assert predict({"model_type": "llama", "hidden_size": None, "num_attention_heads": 16})


def test_labels() -> None:
    assert config().num_labels == 2
    assert config(num_labels=5).num_labels == 5
    assert config(id2label={"0": "a", "1": "b", "2": "c"}).num_labels == 3
    assert config(id2label={"0": "a", "1": "b", "2": "c"}, num_labels=None).num_labels == 3
    assert config(id2label={"0": "a", "1": "b"}, _num_labels=5).num_labels == 2
    assert config(_num_labels=5).num_labels == 5
    for model_type in ("bert", "yoso"):  # written, and a trace
        head = {"architectures": [f"{model_type.capitalize()}ForSequenceClassification"]}
        prediction = predict({"model_type": model_type, **head, "_num_labels": 5})
        assert prediction.tensors[-1].shape == (5,)
    # As AutoConfig reads them: an explicit number replaces a list of another length.
    assert config(id2label={"0": "a", "1": "b", "2": "c"}, num_labels=5).num_labels == 5
    wrongs: list[object] = [{}, [], 3, "ab"]
    for wrong in wrongs:
        with pytest.raises(ConfigError, match="id2label"):
            assert config(id2label=wrong).num_labels


def test_shares_that_must_be_exact() -> None:
    c = config(h=12, n=5)
    assert c.divided(Dim(12, "h"), 4, "h", "n") == 3
    for by in (5, 0, -1):
        with pytest.raises(ConfigError, match="n"):
            c.divided(Dim(12, "h"), by, "h", "n")


def test_padding_index() -> None:
    assert config(pad_token_id=0).padding_idx == 0
    assert [config(pad_token_id=x).padding_idx for x in (None, True, "0", 1.5)] == [None] * 4


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(ConfigError) as error:
        config(a="x" * 10_000).dim("a")
    assert len(str(error.value)) < 200


def test_numbers_of_the_code() -> None:
    assert exact(3).expr == Constant(3)


@given(JSON)
def test_any_value_is_taken_or_refused(value: object) -> None:
    c = config(k=value, id2label=value, architectures=value, model_type=value)
    getters: list[Callable[[], object]] = [
        lambda: c.dim("k", default=1),
        lambda: c.count("k", default=1),
        lambda: c.optional_dim("k"),
        lambda: c.flag("k", default=True),
        lambda: c.number("k", default=1),
        lambda: c.text("k"),
        lambda: c.dims("k", default=(1,)),
        lambda: c.strings("k", default=()),
        lambda: c.flags("k", default=()),
        lambda: c.section("k"),
        lambda: c.num_labels,
        lambda: c.architectures,
        lambda: c.model_type,
        lambda: c.tied(),
        lambda: c.padding_idx,
    ]
    for get in getters:
        with contextlib.suppress(ConfigError):
            get()


def _aliased_sections() -> list[tuple[str, str, str]]:
    """(model_type, section, alias) of sections whose class is always the same one."""
    tables = config_keys._recorded()
    return [
        (kind, section, alias)
        for kind, sections in tables["sections"].items()
        for section, own in sections.items()
        for alias in tables["aliases"].get(own, {})
    ]


@pytest.mark.parametrize("kind", sorted({kind for kind, *_ in _aliased_sections()}))
def test_a_section_may_name_its_composites_type(kind: str) -> None:
    """Qwen2-VL's files say "qwen2_vl" in ``vision_config`` too: its class and aliases stay the
    section's own."""

    def counted(section: str, **values: Any) -> int | str:
        try:
            return predict({"model_type": kind, section: values}).parameters
        except HfinspectError as error:
            return str(error)

    for _, section, alias in (row for row in _aliased_sections() if row[0] == kind):
        assert counted(section, **{alias: 2, "model_type": kind}) == counted(section, **{alias: 2})


RELEASES = [
    ("5.3.0", True),
    (f"{REVISED}.0", False),
    (f"{REVISED}.0.dev0", False),
    ("4.57.3", True),
    ("6", False),
    ("10.1", False),
    (None, False),
    ("", False),
    ("main", False),
    (5.3, False),
]


@pytest.mark.parametrize(("version", "before"), RELEASES)
def test_the_release_that_saved_a_config(version: object, before: bool) -> None:
    outer = config(transformers_version=version, text_config={"a": 1})
    for view in (outer, outer.section("text_config"), outer.with_values(a=2), outer.read_as("x")):
        assert view.saved_between("0", REVISED) is before


def test_the_outermost_release_counts() -> None:
    """A section keeps the number of the config that it was taken from."""
    text = {"transformers_version": "4.40.0"}
    assert (
        not config(transformers_version=f"{REVISED}.0", t=text)
        .section("t")
        .saved_between("0", REVISED)
    )
    assert config(t=text).section("t").saved_between("0", REVISED)


@given(st.text(alphabet="0123456789.dev ", max_size=30))
def test_any_release_is_read_or_unknown(version: str) -> None:
    assert config(transformers_version=version).saved_between("0", REVISED) in (True, False)


def test_a_class_that_releases_save_otherwise() -> None:
    """The config says which; where it does not, the newest release's answer has a note."""
    head = {"model_type": "gptj", "architectures": ["GPTJForQuestionAnswering"], "num_labels": 5}

    def rows(**more: str) -> int:
        (spec,) = (t for t in predict({**head, **more}).tensors if t.name == "qa_outputs.bias")
        return spec.shape[0]

    assert rows(transformers_version="5.3.0") == 5
    assert rows(transformers_version=f"{REVISED}.0") == rows() == 2
    assert predict(head).releases == (REVISED,)
    assert predict({**head, "transformers_version": f"{REVISED}.0"}).releases == ()
    codes = [finding.rule for finding in inspect(head).findings]
    assert "release-assumed" in codes
    later = inspect({**head, "transformers_version": f"{REVISED}.0"})
    assert "release-assumed" not in [finding.rule for finding in later.findings]
