"""The cache of headers on a bad disk, in bad company, and between readers: the numbers stay those
of the server, and nothing ends in a traceback or waits."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import hfinspect
from hfinspect.errors import HfinspectError, OfflineError, RepoNotFoundError
from hfinspect.sources.caching import KnownList, Segments
from hfinspect.sources.header_cache import HeaderCache, _digest
from hfinspect.sources.hub.client import HubClient

from ..cli.program import ROOT
from ..formats.test_http_cost import stored
from ..formats.test_torch import sparse_archive
from ..hub_repos import sharded_files
from ..hub_server import HubServer, running_hub
from ..scanning.scan_support import model_files

MODELS = ("org/one", "org/sharded", "org/bin")


def seen(hub: HubServer, name: str, root: Path, **options: object) -> list[object]:
    """What is seen of a model through a cache: all of its tensors, and its config."""
    client = HubClient(endpoint=hub.endpoint, token=False, **options)  # type: ignore[arg-type]
    try:
        inspection = hfinspect.inspect(name, client=client, cache=HeaderCache(root))
    finally:
        client.close()
    tensors = [(one.name, str(one.dtype), tuple(one.shape)) for one in inspection.tensors]
    return [inspection.commit, inspection.parameters, inspection.model_type, tensors]


@dataclass
class Warm:
    """A cache in which all models are, and what is seen of them."""

    hub: HubServer
    root: Path
    seen: dict[str, list[object]]

    def entries(self) -> list[Path]:
        return sorted(
            path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file()
        )

    def of(self, entry: Path) -> str:
        """The model that an entry is of."""
        head = (self.root / entry).read_bytes()[:200]
        return next(name for name in MODELS if f" {name} ".encode() in head)

    def changed(self, entry: Path, change: Callable[[bytes], bytes], to: Path) -> Path:
        """A copy of the entries of the same model, in which one is changed."""
        shutil.rmtree(to, ignore_errors=True)
        for one in self.entries():
            if self.of(one) == self.of(entry):
                (to / one).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.root / one, to / one)
        (to / entry).write_bytes(change((to / entry).read_bytes()))
        return to


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    root = tmp_path_factory.mktemp("kept")
    with running_hub() as hub:
        hub.has_headers_endpoint = False
        hub.add("org/one", model_files())
        hub.add("org/sharded", sharded_files(3))
        hub.add("org/bin", {"pytorch_model.bin": stored(sparse_archive(30, 10**9))})
        yield Warm(hub, root, {name: seen(hub, name, root) for name in MODELS})


def signed(data: bytes, payload: Callable[[bytes], bytes]) -> bytes:
    """An entry with another payload and the digest that fits."""
    at = 22 + int.from_bytes(data[18:22], "little")
    made = payload(data[at + 32 :])
    return data[:at] + _digest(made) + made


# ---- what a disk does


def test_a_bit_that_flips(warm: Warm, tmp_path: Path) -> None:
    """Anywhere: in the magic, the key, the digest, the payload."""
    rng = random.Random(31)
    for entry in warm.entries():
        size = (warm.root / entry).stat().st_size
        name = warm.of(entry)
        for at in (0, 19, 30, *(rng.randrange(size) for _ in range(2)), size - 1):
            bit = 1 << rng.randrange(8)

            def flip(data: bytes, at: int = at, bit: int = bit) -> bytes:
                return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]

            root = warm.changed(entry, flip, tmp_path / "flipped")
            assert seen(warm.hub, name, root) == warm.seen[name], (entry, at)


def test_an_entry_that_is_cut(warm: Warm, tmp_path: Path) -> None:
    for entry in warm.entries():
        size = (warm.root / entry).stat().st_size
        name = warm.of(entry)
        for left in (0, 21, size // 2, size - 1):
            root = warm.changed(entry, lambda data, left=left: data[:left], tmp_path / "cut")  # type: ignore[misc]
            assert seen(warm.hub, name, root) == warm.seen[name], (entry, left)


@pytest.mark.parametrize("offline", [False, True])
def test_an_entry_that_another_version_may_have_written(
    warm: Warm, tmp_path: Path, offline: bool
) -> None:
    """Whole, with a digest that fits, and not what is expected: the result or an error of ours."""
    rng = random.Random(31)
    payloads: list[Callable[[bytes], bytes]] = [
        lambda _: b"",
        lambda _: rng.randbytes(40),
        lambda data: data[: len(data) // 2],
        lambda _: b'{"commit": 7, "files": []}',
        lambda _: b'{"commit": "a", "files": [[1]]}',
        lambda _: b'{"commit": "a", "files": [], "hub": {"likes": 3, "tags": []}}',
        lambda _: b"[" * 100_000,
    ]
    for entry in warm.entries():
        name = warm.of(entry)
        for payload in payloads:
            root = warm.changed(entry, lambda data, p=payload: signed(data, p), tmp_path / "new")  # type: ignore[misc]
            try:
                seen(warm.hub, name, root, offline=offline)
            except HfinspectError:
                continue


def test_what_is_kept_is_what_is_found() -> None:
    assert Segments.unpack(b"") is None
    packed = Segments(7).pack()
    assert Segments.unpack(packed) is not None
    assert Segments.unpack(packed + b"\0") is None
    assert Segments.unpack(packed[:-1]) is None
    known = KnownList("a" * 40, {}, None, is_public=True)
    assert KnownList.unpack(known.pack()) == known
    assert KnownList.unpack(None) is None


# ---- where a cache may lie


def test_a_cache_behind_a_link(warm: Warm, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there")
    (tmp_path / "there").mkdir()
    assert seen(warm.hub, "org/one", tmp_path / "link") == warm.seen["org/one"]
    cache = HeaderCache(tmp_path / "link")
    assert cache.info().entries > 0
    cache.clear()
    assert (tmp_path / "link").is_symlink() and (tmp_path / "there").is_dir()


def _link_to_nothing(root: Path) -> None:
    root.symlink_to(root.parent / "gone")


def _link_to_itself(root: Path) -> None:
    root.symlink_to(root)


def _file(root: Path) -> None:
    root.write_text("in the way")


def _folder_of_links(root: Path) -> None:
    root.mkdir()
    for letter in "0123456789abcdef":
        (root / letter).symlink_to(root.parent / "gone")


@pytest.mark.posix
@pytest.mark.parametrize("place", [_link_to_nothing, _link_to_itself, _file, _folder_of_links])
def test_a_place_where_nothing_can_be_kept(
    warm: Warm, tmp_path: Path, place: Callable[[Path], None]
) -> None:
    root = tmp_path / "kept"
    place(root)
    for _ in range(2):
        assert seen(warm.hub, "org/one", root) == warm.seen["org/one"]
    assert not (tmp_path / "gone").exists()
    assert HeaderCache(root).info().entries == HeaderCache(root).clear().entries == 0


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


@pytest.mark.posix
@pytest.mark.parametrize(
    "put", [_pipe, _endless, _terminal, Path.mkdir], ids=lambda put: put.__name__
)
def test_something_else_in_the_place_of_an_entry(
    warm: Warm, tmp_path: Path, put: Callable[[Path], None]
) -> None:
    """A pipe would be waited for."""
    root = tmp_path / "kept"
    for entry in warm.entries():
        (root / entry).parent.mkdir(parents=True, exist_ok=True)
        put(root / entry)
    for name in MODELS:
        assert seen(warm.hub, name, root) == warm.seen[name]


@pytest.mark.posix
def test_entries_are_their_owners(warm: Warm) -> None:
    assert {(warm.root / entry).stat().st_mode & 0o777 for entry in warm.entries()} == {0o600}
    assert {(warm.root / entry).parent.stat().st_mode & 0o777 for entry in warm.entries()} == {
        0o700
    }


#: Reads with a cache, as nobody where it is run by root: root may write everywhere.
AS_NOBODY = """
import json, os, sys
import hfinspect
from hfinspect.sources.header_cache import HeaderCache
endpoint, root = sys.argv[1:]
hfinspect.inspect("org/one", endpoint=endpoint, token=False)
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
for _ in range(2):
    found = hfinspect.inspect("org/one", endpoint=endpoint, token=False, cache=HeaderCache(root))
print(json.dumps([found.parameters, HeaderCache(root).info().entries]))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that others may enter, unlike those of pytest."""
    path = Path(tempfile.mkdtemp(prefix="hfinspect-shared-"))
    path.chmod(0o755)
    yield path
    for one in (path, *path.rglob("*")):
        if one.is_dir() and not one.is_symlink():
            one.chmod(0o700)
    shutil.rmtree(path)


@pytest.mark.posix
@pytest.mark.parametrize("mode", ["read-only", "closed"])
def test_a_cache_that_is_not_ones_own(warm: Warm, open_folder: Path, mode: str) -> None:
    """Read-only it answers all the same, a damaged entry in it included; closed it is none."""
    root = open_folder / "kept"
    shutil.copytree(warm.root, root)
    damaged = next(entry for entry in warm.entries() if warm.of(entry) == "org/one")
    (root / damaged).write_bytes(b"damaged")
    for path in (root, *root.rglob("*")):
        path.chmod((0o555 if path.is_dir() else 0o444) if mode == "read-only" else 0)
    names = sorted(path.name for path in root.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, warm.hub.endpoint, str(root)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=open_folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parameters, entries = json.loads(done.stdout)
    assert parameters == warm.seen["org/one"][1]
    assert entries == (len(warm.entries()) if mode == "read-only" else 0)
    assert sorted(path.name for path in root.rglob("*")) == names


#: Reads with a cache in a process whose files may not become larger than some bytes.
SMALL_FILES = """
import resource, sys
import hfinspect
from hfinspect.sources.header_cache import HeaderCache
endpoint, root, most = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
cache = HeaderCache(root)
for _ in range(2):
    found = hfinspect.inspect("org/sharded", endpoint=endpoint, token=False, cache=cache)
print(found.parameters)
"""


@pytest.mark.posix
@pytest.mark.parametrize("most", [0, 300, 1_200])
def test_files_that_may_not_grow(warm: Warm, tmp_path: Path, most: int) -> None:
    """A quota: what does not fit is not kept, and leaves nothing behind."""
    done = subprocess.run(
        [sys.executable, "-c", SMALL_FILES, warm.hub.endpoint, str(tmp_path / "kept"), str(most)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == warm.seen["org/sharded"][1]
    left = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert all(0 < path.stat().st_size <= most for path in left)
    assert not [path for path in left if path.name.startswith(".new-")]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB, of which 4 are free."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("only root may mount")
    try:
        (place / "filling").write_bytes(bytes(60 << 10))
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.posix
def test_a_disk_that_is_full(warm: Warm, full_disk: Path) -> None:
    for _ in range(2):
        for name in MODELS:
            assert seen(warm.hub, name, full_disk / "kept") == warm.seen[name]
    left = [path for path in (full_disk / "kept").rglob("*") if path.is_file()]
    assert not [path for path in left if path.name.startswith(".new-") or not path.stat().st_size]
    (full_disk / "filling").unlink()
    assert seen(warm.hub, "org/one", full_disk / "kept") == warm.seen["org/one"]
    assert HeaderCache(full_disk / "kept").info().entries > 0


# ---- between readers


class Reader:
    """Somebody who reads one private model; all of them share a cache."""

    def __init__(self, hub: HubServer, root: Path) -> None:
        self.hub = hub
        self.root = root

    def reads(
        self, token: str | bool, *, offline: bool = False, revision: str | None = None
    ) -> str:
        """``read`` or the kind of the error."""
        client = HubClient(endpoint=self.hub.endpoint, token=token, offline=offline)
        try:
            hfinspect.inspect(
                "org/model",
                client=client,
                cache=HeaderCache(self.root),
                revision=revision,
                source="checkpoint",
            )
        except (OfflineError, RepoNotFoundError) as error:
            return error.kind
        finally:
            client.close()
        return "read"


@pytest.fixture
def reader(hub: HubServer, tmp_path: Path) -> Reader:
    readers = frozenset({"reader", "stranger"})
    hub.add("org/model", model_files(), private=True, readers=readers)
    return Reader(hub, tmp_path / "kept")


def test_two_tokens(reader: Reader) -> None:
    """Both may read the model; what one has read is not the other's without a network."""
    assert reader.reads("hf_reader") == "read"
    assert reader.reads("hf_stranger", offline=True) == "offline"
    sent = reader.hub.meter.count("cdn")
    assert reader.reads("hf_stranger") == "read"
    assert reader.hub.meter.count("cdn") == sent + 1  # read by this one itself
    assert [reader.reads(token, offline=True) for token in ("hf_reader", "hf_stranger")] == [
        "read"
    ] * 2
    assert reader.hub.meter.count("cdn") == sent + 1


def test_private_then_public(reader: Reader) -> None:
    commit = reader.hub.repos["org/model"].sha
    assert reader.reads("hf_reader") == reader.reads("hf_reader", revision=commit) == "read"
    assert reader.reads(False) == reader.reads(False, revision=commit) == "repo_not_found"
    assert reader.reads(False, offline=True) == "offline"
    reader.hub.repos["org/model"].private = False
    assert reader.reads(False, offline=True) == "offline"
    assert [reader.reads(False), reader.reads("hf_reader"), reader.reads(False, offline=True)] == [
        "read"
    ] * 3


def test_public_then_private(reader: Reader) -> None:
    """What everybody has read stays everybody's; what was read since then does not."""
    repo = reader.hub.repos["org/model"]
    repo.private = False
    assert reader.reads(False) == "read"
    repo.private = True
    assert reader.reads(False) == "repo_not_found"
    repo.commit(model_files(3))
    assert reader.reads("hf_reader") == "read"
    assert reader.reads(False, revision=repo.sha) == "repo_not_found"
    assert reader.reads(False, revision=repo.sha, offline=True) == "offline"
    assert reader.reads("hf_reader", offline=True) == "read"
