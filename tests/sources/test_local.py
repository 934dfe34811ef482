"""Files on disk, and everything a file system can put in the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hfinspect.errors import (
    EntryNotFoundError,
    FormatError,
    HfinspectError,
    LimitError,
    UnreadableError,
)
from hfinspect.sources import local
from hfinspect.sources.local import LocalSource
from hfinspect.sources.source import FileEntry, Source

from ..builders import write_sparse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
root_reads_all = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind root"
)


def source(path: Path | str) -> Source:
    return LocalSource(path)


def test_directory_is_listed_by_path_with_sizes(tmp_path: Path) -> None:
    write_sparse(tmp_path / "model.safetensors", b"x", 10)
    write_sparse(tmp_path / "unet" / "deep" / "a.bin", b"", 3)
    write_sparse(tmp_path / ".git" / "objects" / "pack", b"", 3)
    write_sparse(tmp_path / ".cache" / "huggingface" / "x", b"", 3)
    write_sparse(tmp_path / ".gitattributes", b"", 1)
    assert source(tmp_path).list_files() == {
        ".gitattributes": FileEntry(".gitattributes", 1),
        "model.safetensors": FileEntry("model.safetensors", 10),
        "unet/deep/a.bin": FileEntry("unet/deep/a.bin", 3),
    }


def test_origin_of_a_directory_names_what_was_given_and_where_it_is(tmp_path: Path) -> None:
    origin = source(tmp_path).origin
    assert (origin.kind, origin.name, origin.path) == ("directory", str(tmp_path), str(tmp_path))
    assert origin.repo_id is origin.commit is None


def test_file_is_listed_with_what_describes_it_and_nothing_else(tmp_path: Path) -> None:
    write_sparse(tmp_path / "model.safetensors", b"", 10)
    write_sparse(tmp_path / "other.safetensors", b"", 10)
    write_sparse(tmp_path / "config.json", b"{}", 2)
    single = LocalSource(tmp_path / "model.safetensors")
    assert single.file == "model.safetensors"
    assert single.origin.kind == "file"
    assert set(single.list_files()) == {"model.safetensors", "config.json"}


def test_index_is_listed_with_its_directory(tmp_path: Path) -> None:
    write_sparse(tmp_path / "model.safetensors.index.json", b"{}", 2)
    write_sparse(tmp_path / "model-00001-of-00001.safetensors", b"", 10)
    write_sparse(tmp_path / "sub" / "x", b"", 10)
    listed = source(tmp_path / "model.safetensors.index.json").list_files()
    assert set(listed) == {"model.safetensors.index.json", "model-00001-of-00001.safetensors"}


def test_reading_is_half_open_and_ends_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    files = source(tmp_path)
    assert files.read("x", 2, 5) == b"234"
    assert files.read("x", 8, 99) == b"89"
    assert files.read("x", 10, 20) == files.read("x", 5, 5) == files.read("x", 7, 3) == b""
    assert files.size("x") == 10
    assert files.read_all("x", 10) == b"0123456789"


def test_read_all_refuses_what_is_larger_than_its_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    with pytest.raises(LimitError, match="has 10 bytes, expected at most 9"):
        source(tmp_path).read_all("x", 9)


def test_hundred_sparse_gigabytes_are_read_where_asked(tmp_path: Path) -> None:
    size = 100 * 2**30
    write_sparse(tmp_path / "x", b"start", size)
    files = source(tmp_path)
    assert files.size("x") == size
    assert files.read("x", 0, 5) == b"start"
    assert files.read("x", size - 3, size + 3) == bytes(3)


def test_raw_reads_that_stop_early_are_continued() -> None:
    """A raw read returns what it likes; Linux never gives more than 2 GB at once."""
    left = bytearray(b"0123456789")

    def read(count: int) -> bytes:
        part = bytes(left[: min(count, 3)])
        del left[: len(part)]
        return part

    assert local._read_fully(read, 8) == b"01234567"
    assert local._read_fully(read, 8) == b"89"


@pytest.mark.posix
def test_links_of_the_hubs_cache_lead_out_of_the_snapshot(tmp_path: Path) -> None:
    repo = tmp_path / "models--org--name"
    sha256 = "ab" * 32
    write_sparse(repo / "blobs" / sha256, b"weights", 7)
    snapshot = repo / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").symlink_to(f"../../blobs/{sha256}")
    files = source(snapshot)
    listed = files.list_files()
    assert listed == {"model.safetensors": FileEntry("model.safetensors", 7, sha256)}
    assert files.read("model.safetensors", 0, 7) == b"weights"
    assert (files.origin.repo_id, files.origin.commit) == ("org/name", COMMIT)


@pytest.mark.posix
def test_link_to_nothing_is_listed_and_missing(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("nowhere")
    files = source(tmp_path)
    assert files.list_files() == {"x": FileEntry("x", None)}
    with pytest.raises(EntryNotFoundError, match=r"link that leads nowhere \(x\)"):
        files.read("x", 0, 1)


@pytest.mark.posix
def test_links_in_circles_and_out_of_the_root_are_not_walked(tmp_path: Path) -> None:
    write_sparse(tmp_path / "outside" / "secret", b"", 1)
    root = tmp_path / "root"
    write_sparse(root / "sub" / "x", b"", 1)
    (root / "sub" / "up").symlink_to("..")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "again").symlink_to("sub")
    (root / "self").symlink_to("self")
    listed = source(root).list_files()
    assert {path for path in listed if path.endswith("secret")} == set()
    assert [path for path in listed if path.endswith("/x")] in (["sub/x"], ["again/x"])
    with pytest.raises(UnreadableError, match="self"):
        source(root).read("self", 0, 1)


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/passwd", "~/x", "a\\b", "c:x", "a\0b", "a\nb", "", "s3://b/x"],
)
def test_foreign_paths_that_leave_the_root_are_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "x").write_bytes(b"secret")
    for ask in (lambda: source(root).read(path, 0, 9), lambda: source(root).size(path)):
        with pytest.raises(UnreadableError, match="the path"):
            ask()


def test_missing_things_are_named(tmp_path: Path) -> None:
    with pytest.raises(EntryNotFoundError, match="nowhere: does not exist"):
        source(tmp_path / "nowhere").list_files()
    with pytest.raises(EntryNotFoundError, match=r"does not exist \(x\)"):
        source(tmp_path).size("x")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EntryNotFoundError):
        source(tmp_path / "file" / "below").list_files()


@pytest.mark.posix
def test_directories_and_pipes_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "pipe")
    files = source(tmp_path)
    assert files.list_files() == {}
    with pytest.raises(UnreadableError, match="is a directory"):
        files.read("d", 0, 1)
    with pytest.raises(UnreadableError, match="no regular file"):
        files.read("pipe", 0, 1)
    with pytest.raises(UnreadableError, match="no regular file"):
        source(tmp_path / "pipe").list_files()


@pytest.mark.posix
@root_reads_all
def test_what_may_not_be_read_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    (tmp_path / "x").chmod(0)
    (tmp_path / "d").mkdir(mode=0)
    try:
        with pytest.raises(UnreadableError, match="may not be read"):
            source(tmp_path).read("x", 0, 1)
        with pytest.raises(UnreadableError, match="may not be read"):
            source(tmp_path).list_files()
    finally:
        (tmp_path / "d").chmod(0o700)


@pytest.mark.parametrize("path", ["a" * 5000, "nul\0byte", ""])
def test_impossible_paths_are_errors_of_ours(path: str) -> None:
    with pytest.raises((UnreadableError, EntryNotFoundError)):
        source(path).list_files()


def test_listing_is_bounded_in_number_and_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        write_sparse(tmp_path / name, b"", 0)
    deep = tmp_path.joinpath(*["d"] * (local.MAX_DEPTH + 1))
    write_sparse(deep / "too-deep", b"", 0)
    write_sparse(deep.parent / "deep", b"", 0)
    assert "/".join(["d"] * local.MAX_DEPTH + ["deep"]) in source(tmp_path).list_files()
    assert not any("too-deep" in path for path in source(tmp_path).list_files())
    monkeypatch.setattr(local, "MAX_FILES", 3)
    with pytest.raises(LimitError, match="more than 3 files"):
        source(tmp_path).list_files()


def test_gather_keeps_order_and_our_errors_and_lets_bugs_through(tmp_path: Path) -> None:
    files = source(tmp_path)
    error = FormatError("x", "is broken", rule="r")

    def fails() -> str:
        raise error

    tasks: list[Callable[[], str]] = [lambda: "a", fails, lambda: "b"]
    results: list[str | HfinspectError] = files.gather(tasks)
    assert results == ["a", error, "b"]
    with pytest.raises(ZeroDivisionError):
        files.gather([lambda: 1 // 0])


def test_many_threads_may_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(range(256)))
    files = source(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda at: files.read("x", at, at + 1), range(256)))
    assert b"".join(parts) == bytes(range(256))


def test_server_only_services_are_declined(tmp_path: Path) -> None:
    files = source(tmp_path)
    assert files.shard_headers("model.safetensors.index.json") is None
    files.close()
