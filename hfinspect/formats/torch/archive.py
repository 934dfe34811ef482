"""PyTorch's zip archives (torch.save since 1.6, torch.jit.save): the directory and data.pkl.

Layout: ``<anything>/data.pkl``, one member ``<anything>/data/<key>`` for each storage, ``version``,
and since 2.1 ``byteorder`` (caffe2/serialize/inline_container.h). Members with tensor data are
never read; what is known of them comes from the directory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...core.checkpoint import Shard
from ...errors import FormatError, LimitError, UnsupportedFormatError
from ..base import checked_limit
from ..bounded import FindingList
from ..pickles.machine import PickleMachine, PickleScan, scan_pickle
from ..window import Windows
from .rebuild import StorageTable
from .storages import Storage
from .views import check_views, describe_content, list_globals, stored_tensors
from .zip_directory import (
    ZipDirectory,
    ZipEntry,
    crc_matches,
    data_offset,
    read_directory,
    read_member,
)

#: A tensor takes about 150 bytes of pickle: this is room for 400,000 of them.
MAX_PICKLE_BYTES = 64 * 1024 * 1024
#: Pickles of an archive that are looked through for names.
MAX_PICKLES = 1_000

#: A member that tells what else a zip archive may be, by the end of its name.
_OTHER_ARCHIVES = (
    ("model.json", "a PyTorch exported program or an early TorchScript archive"),
    (".npy", "a NumPy .npz archive"),
    ("archive_format", "a PyTorch exported program (.pt2)"),
    ("extern_modules", "a torch.package archive"),
    ("MAR-INF/MANIFEST.json", "a TorchServe model archive"),
    ("config.json", "a zip archive with a config.json (Keras?)"),
    (".py", "a zip archive with Python code"),
)


class Archive(NamedTuple):
    """The members of a PyTorch archive by their name without the archive's own folder."""

    directory: ZipDirectory
    members: Mapping[str, ZipEntry]
    pickle: ZipEntry
    torchscript: bool


def read_zip(file: Windows) -> Shard:
    """The shard of a zip archive. Raises FormatError, LimitError or UnsupportedFormatError."""
    out = FindingList(file.path)
    archive = open_archive(file, out)
    data = read_member(file, archive.pickle, MAX_PICKLE_BYTES)
    if not crc_matches(archive.pickle, data):
        # Not refused: torch.serialization.set_crc32_options(False) writes such files.
        out.add("zip-checksum", "the checksum of data.pkl does not match", None, "warning")
    table = StorageTable()
    machine = PickleMachine(
        data, subject=file.path, builders=table.builders(), persistent=table.persistent
    )
    root = machine.run()
    found, metadata = describe_content(root, file.path, out)
    names = [item for item in machine.globals if not _inside(item.module, archive)]
    metadata["globals"] = list_globals(names, out)
    metadata.update(_small_members(file, archive))
    if archive.torchscript:
        code = sum(name.startswith("code/") for name in archive.members)
        text = f"a TorchScript archive with {code} code files, which would run when it is loaded"
        out.add("torchscript", text, None, "note")
        metadata["code_files"] = code
    _check_storages(table.storages, archive, out)
    check_views(found, table.storages, out)
    return Shard(
        file.path,
        "torchscript" if archive.torchscript else "torch",
        stored_tensors(found, lambda storage: _known_offset(file, archive, storage)),
        file.size,
        len(data) + archive.directory.stop - archive.directory.start,
        metadata,
        out.done(),
    )


def open_archive(file: Windows, out: FindingList) -> Archive:
    """The directory, checked, and which of its members is the pickle."""
    directory = read_directory(file)
    _check_directory(directory, out)
    pickles = [e for e in directory.entries if e.name.rsplit("/", 1)[-1] == "data.pkl"]
    if not pickles:
        raise _other_archive(file.path, directory.entries)
    chosen = min(pickles, key=lambda entry: entry.name.count("/"))
    if sum(entry.name == chosen.name for entry in pickles) > 1:
        # Readers differ in which one they take, so none can be trusted to be the one.
        raise FormatError(file.path, "two members are called data.pkl", rule="zip-duplicate")
    prefix = chosen.name.removesuffix("data.pkl")
    members = {
        entry.name.removeprefix(prefix): entry
        for entry in directory.entries
        if entry.name.startswith(prefix)
    }
    return Archive(directory, members, chosen, "constants.pkl" in members)


def scan_zip(file: Windows) -> list[tuple[str, PickleScan]]:
    """Names in every pickle of any zip archive, by member. Raises as ``read_directory`` does."""
    scans = []
    pickles = [
        entry
        for entry in read_directory(file).entries
        if entry.name.lower().endswith((".pkl", ".pickle", ".debug_pkl"))
    ]
    checked_limit(file.path, "the number of pickles", len(pickles), MAX_PICKLES)
    for entry in pickles:
        try:
            scan = scan_pickle(read_member(file, entry, MAX_PICKLE_BYTES), subject=file.path)
        except (FormatError, LimitError, UnsupportedFormatError) as error:
            scan = PickleScan((), error, 0)
        scans.append((entry.name, scan))
    return scans


def _inside(module: str, archive: Archive) -> bool:
    """Whether a name is that of a class in the archive's own TorchScript code."""
    return archive.torchscript and (module == "__torch__" or module.startswith("__torch__."))


def _other_archive(path: str, entries: Sequence[ZipEntry]) -> UnsupportedFormatError:
    for ending, what in _OTHER_ARCHIVES:
        if any(entry.name.endswith(ending) for entry in entries):
            return UnsupportedFormatError(path, f"{what}, no PyTorch checkpoint")
    return UnsupportedFormatError(path, "a zip archive without data.pkl, no PyTorch checkpoint")


def _check_directory(directory: ZipDirectory, out: FindingList) -> None:
    if directory.trailing:
        out.add("trailing", f"{directory.trailing:,} bytes follow the end of the archive")
    for first, second in directory.overlaps():
        text = (
            f"{first.name!a:.200} runs into the zip directory"
            if first is second
            else f"{first.name!a:.200} and {second.name!a:.200} claim the same bytes"
        )
        out.add("zip-overlap", text)
    seen: set[str] = set()
    for entry in directory.entries:
        if entry.name in seen:
            out.add("zip-duplicate", f"two members are called {entry.name!a:.200}")
        seen.add(entry.name)


def _small_members(file: Windows, archive: Archive) -> dict[str, object]:
    """``byteorder`` and ``version`` where they lie in what was read already."""
    facts: dict[str, object] = {}
    for name in ("byteorder", "version"):
        entry = archive.members.get(name)
        if entry is None or entry.method or entry.size > 16:
            continue
        # As far as PyTorch writes them: a stored member, its local header of at most 320 bytes.
        if file.peek(entry.header_offset, entry.header_offset + 320) is None:
            continue
        start = data_offset(file, entry)
        content = file.peek(start, start + entry.size)
        if content is not None and content.strip().isalnum() and content.isascii():
            facts[name] = content.strip().decode("ascii")
    return facts


def _known_offset(file: Windows, archive: Archive, storage: Storage) -> int | None:
    """Where a storage's bytes begin, if its local header happens to have been read."""
    entry = archive.members.get(f"data/{storage.key}")
    if entry is None or entry.method:
        return None
    local = file.peek(entry.header_offset, entry.header_offset + 30)
    if local is None or not local.startswith(b"PK\x03\x04"):
        return None
    name, extra = (int.from_bytes(local[at : at + 2], "little") for at in (26, 28))
    return entry.header_offset + 30 + name + extra


def _check_storages(storages: Mapping[str, Storage], archive: Archive, out: FindingList) -> None:
    """Every storage has a member of its size, and the other way round."""
    for key, storage in storages.items():
        entry = archive.members.get(f"data/{key}")
        if entry is None:
            out.add("storage-missing", f"the archive has no storage {key!a:.100}")
        elif entry.size != storage.nbytes:
            text = f"storage {key!a:.100} has {entry.size:,} bytes, expected {storage.nbytes:,}"
            out.add("storage-size", text)
    extra = [
        name for name in archive.members if name.startswith("data/") and name[5:] not in storages
    ]
    if extra:
        text = f"{len(extra):,} storages belong to no tensor ({extra[0]!a:.100})"
        out.add("storage-unused", text, None, "note")
