"""What a user may type as a model."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.core.refs import ModelRef, parse_ref
from hfinspect.errors import UsageError

MIRROR = "http://127.0.0.1:8080/hub"
SHA = "0123456789abcdef0123456789abcdef01234567"


def repo(text: str, **options: object) -> tuple[str | None, str | None, str | None]:
    ref = parse_ref(text, **options)  # type: ignore[arg-type]
    assert ref.path is None, f"{text} was taken for a path"
    assert ref.text == text
    return ref.repo_id, ref.revision, ref.file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpt2", ("gpt2", None, None)),
        ("gpt2@v1.0", ("gpt2", "v1.0", None)),
        ("Langboat/bloom-1b4-zh", ("Langboat/bloom-1b4-zh", None, None)),
        ("org/name@main", ("org/name", "main", None)),
        (f"org/name@{SHA}", ("org/name", SHA, None)),
        ("org/name@refs/pr/1", ("org/name", "refs/pr/1", None)),
        ("TheBloke/Llama-2-7B.gguf", ("TheBloke/Llama-2-7B.gguf", None, None)),
        ("_a/b_", None),
        ("hf://gpt2", ("gpt2", None, None)),
        ("hf://org/name/", ("org/name", None, None)),
        ("hf://models/org/name", ("org/name", None, None)),
        ("hf://org/name@v1/a/b.safetensors", ("org/name", "v1", "a/b.safetensors")),
        ("hf://org/name@refs/pr/1/x.gguf", ("org/name", "refs/pr/1", "x.gguf")),
        ("hf://org/name@feature%2Fx", ("org/name", "feature/x", None)),
        ("HF://org/name", ("org/name", None, None)),
        ("https://huggingface.co/org/name", ("org/name", None, None)),
        ("HTTPS://huggingface.co/org/name", ("org/name", None, None)),
        ("https://hf.co/gpt2", ("gpt2", None, None)),
        ("huggingface.co/org/name", ("org/name", None, None)),
        ("https://huggingface.co/org/name/tree/v1", ("org/name", "v1", None)),
        ("https://huggingface.co/org/name/tree/main/unet", ("org/name", "main", "unet")),
        ("https://huggingface.co/org/name/tree/refs%2Fpr%2F2", ("org/name", "refs/pr/2", None)),
        ("https://huggingface.co/org/name/tree/refs/pr/2/a", ("org/name", "refs/pr/2", "a")),
        ("https://huggingface.co/gpt2/blob/main/x.bin?x=1#L1", ("gpt2", "main", "x.bin")),
        ("https://huggingface.co/o/n/resolve/v1/a%20b.bin", ("o/n", "v1", "a b.bin")),
        (f"https://huggingface.co/o/n/commit/{SHA}", ("o/n", SHA, None)),
        ("https://huggingface.co/org/name/discussions", ("org/name", None, None)),
        ("https://huggingface.co/tree/model", ("tree/model", None, None)),
    ],
)
def test_repos(text: str, expected: tuple[str | None, ...] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError):
            parse_ref(text)
    else:
        assert repo(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        ".",
        "..",
        "./gpt2",
        "../org/name",
        "/models/x",
        "~/models",
        "~",
        "a/b/c",
        "a/b/c@d",
        "model.safetensors",
        "weights/../model.bin",
        "config.json",
        "C:\\models\\x",
        "C:/models/x",
        ".\\x",
        "..\\x",
        "dir\\name",
        "has space",
        "ends.",
        "a--b",
        "@main",
        "name.git",
        "org//",
    ],
)
def test_paths(text: str) -> None:
    assert parse_ref(text) == ModelRef(text, path=text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a\0b",
        "org/name@",
        "org/na me",
        "o rg/name",
        "hf://",
        "hf://a/b@",
        "hf://datasets/a/b",
        "hf://spaces/a/b",
        "hf://a b/c",
        "http://",
        "http://[::1",
        "http://[x]/a/b",
        "https://example.com/a/b",
        "https://huggingface.co",
        "https://huggingface.co/datasets/a/b",
        "https://huggingface.co/spaces/a/b",
        "https://huggingface.co/a b/c",
        "https://huggingface.co.evil.com/a/b",
        "https://evil.com@evil.com/a/b",
        "huggingface.co/datasets/a/b",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_ref(text)
    assert "expected" in str(error.value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hf://datasets/a/b", "a dataset"),
        ("hf://spaces/a", "a Space"),
        ("https://huggingface.co/datasets/a/b", "a dataset"),
        ("hf.co/spaces/a/b", "a Space"),
        ("https://huggingface.co/docs/transformers", "documentation"),
    ],
)
def test_what_is_no_model_is_named(text: str, kind: str) -> None:
    with pytest.raises(UsageError, match=f"is {kind}, and only models are read"):
        parse_ref(text)


def test_a_file_in_a_directory_that_exists_is_no_repo() -> None:
    """org/model.gguf could be a repo; next to a directory org it is a file that was misspelled."""
    path = "ckpt/model.safetensors"
    assert parse_ref(path, exists=lambda name: name == "ckpt") == ModelRef(path, path=path)
    assert repo(path) == (path, None, None)


def test_what_exists_wins() -> None:
    for text in ("gpt2", "org/name", "org/name@v1", "huggingface.co/org/name"):
        assert parse_ref(text, exists=lambda _: True) == ModelRef(text, path=text)
    # Not what can only be an address.
    assert repo("hf://org/name", exists=lambda _: True) == ("org/name", None, None)


def test_a_mirror_and_the_hub_of_its_models() -> None:
    """With HF_ENDPOINT, URLs of that server and of the Hub itself are models of that server."""
    assert repo(f"{MIRROR}/org/name/tree/v1", endpoint=MIRROR) == ("org/name", "v1", None)
    assert repo("https://huggingface.co/org/name", endpoint=MIRROR) == ("org/name", None, None)
    for text in ("http://127.0.0.1:9999/hub/org/name", "https://example.com/org/name"):
        with pytest.raises(UsageError, match=MIRROR):
            parse_ref(text, endpoint=MIRROR)


def test_revision_said_twice() -> None:
    assert repo("org/name", revision="v1") == ("org/name", "v1", None)
    assert repo("org/name@v1", revision="v1") == ("org/name", "v1", None)
    with pytest.raises(UsageError, match="v2"):
        parse_ref("org/name@v1", revision="v2")
    with pytest.raises(UsageError, match="no revisions"):
        parse_ref("./x", revision="v1")


LIKELY = st.text(alphabet="ab1_-.@/:\\~%[]? #\0é\ud800", max_size=20)
ADDRESS = st.builds(
    str.__add__,
    st.sampled_from(["hf://", "https://huggingface.co/", "http://127.0.0.1:8080/hub/", "http://"]),
    LIKELY,
)


@given(
    st.one_of(st.text(), LIKELY, ADDRESS),
    st.one_of(st.none(), st.just("v1")),
    st.sampled_from([None, MIRROR]),
    st.booleans(),
)
def test_any_text_is_a_ref_or_a_usage_error(
    text: str, revision: str | None, endpoint: str | None, there: bool
) -> None:
    try:
        ref = parse_ref(text, revision=revision, endpoint=endpoint, exists=lambda _: there)
    except UsageError as error:
        assert str(error)
        return
    assert (ref.repo_id is None) != (ref.path is None)
    assert ref.text == text
    if ref.repo_id is not None:
        # Safe in a URL's path as it stands.
        assert re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", ref.repo_id, re.ASCII)
    else:
        assert (ref.revision, ref.file) == (None, None)
