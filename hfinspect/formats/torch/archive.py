"""PyTorch's zip archives (torch.save since 1.6, torch.jit.save): the directory and data.pkl.

Layout: ``<anything>/data.pkl``, one member ``<anything>/data/<key>`` for each storage, ``version``,
and since 2.1 ``byteorder`` (caffe2/serialize/inline_container.h). Members with tensor data are
never read; what is known of them comes from the directory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...core.checkpoint import Shard
from ...errors import FormatError, HfinspectError, LimitError, UnsupportedFormatError
from ..finding_list import FindingList
from ..pickles.globals import PickleScan, reads_as_pickle, scan_pickle
from ..pickles.machine import PickleMachine
from ..sniff import SNIFF_BYTES, magic_of
from ..window import Windows
from .exported import MAX_JSON, MAX_JSON_MEMBERS, is_exported, odd_texts
from .local_headers import local_doubts
from .rebuild import StorageTable
from .script_code import MAX_CODE, MAX_CODE_MEMBERS, is_code, reaching_operators
from .storages import Storage
from .unpacking import ScanMember, UnreadPartError
from .views import check_views, describe_content, list_globals, stored_tensors
from .zip_directory import (
    ARCHIVE_SUFFIXES,
    ZipDirectory,
    ZipEntry,
    beginning_stop,
    crc_matches,
    data_offset,
    is_readable,
    member_head,
    name_doubts,
    read_directories,
    read_member,
)

#: A tensor takes about 150 bytes of pickle: this is room for 400,000 of them.
MAX_PICKLE_BYTES = 64 * 1024 * 1024
#: Members of an archive that are looked through for names; the storages are none of them.
MAX_PICKLES = 1_000
#: Members that are pickles by their name ...
PICKLE_MEMBERS = (".pkl", ".pickle", ".debug_pkl")
_PICKLE_ENDINGS = (".joblib", ".dill", ".p", ".pck", ".pcl", ".th")
#: ... and members that by their name no loader unpickles: code, text, and what PyTorch reads as a
#: number. They are believed only if they begin so.
_TEXT_MEMBERS = tuple(
    """.py .json .txt .md .yaml .yml /version /byteorder /.format_version /.storage_alignment
    /.data/serialization_id /.data/version""".split()
)

#: Members with such names that are looked at.
MAX_TEXT_MEMBERS = 5_000
#: Reads for them where each is a request: of members next to each other one is enough.
MAX_TEXT_READS = 16
#: So far apart members are still read at once.
_NEXT_TO = 64 * 1024

#: A member that shows what else a zip archive may be, by the end of its name.
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
    findings, metadata = describe_content(root, file.path, out)
    names = [item for item in machine.globals if not _inside(item.module, archive)]
    metadata["globals"] = list_globals(names, out)
    metadata.update(_small_members(file, archive))
    if archive.torchscript:
        code = sum(name.startswith("code/") for name in archive.members)
        text = f"a TorchScript archive with {code} code files, which would run when it is loaded"
        out.add("torchscript", text, None, "note")
        metadata["code_files"] = code
    _check_storages(table.storages, archive, out)
    check_views(findings, table.storages, out)
    return Shard(
        file.path,
        "torchscript" if archive.torchscript else "torch",
        stored_tensors(findings, lambda storage: _known_offset(file, archive, storage)),
        file.size,
        len(data) + archive.directory.stop - archive.directory.start,
        metadata,
        out.listed(),
    )


def open_archive(file: Windows, out: FindingList) -> Archive:
    """The directory, checked, and which of its members is the pickle."""
    directories, differences = read_directories(file)
    if differences:
        # Readers differ in what the file holds, so no answer can be trusted to be the one.
        raise _ambiguous(file.path, differences[0])
    directory = directories[0]
    _check_directory(directory, out)
    pickles = [e for e in directory.entries if e.name.rsplit("/", 1)[-1].lower() == "data.pkl"]
    if not pickles:
        raise _other_archive(file.path, directory.entries)
    # PyTorch's reader takes the folder of the first member, and looks up names without case.
    path = f"{directory.entries[0].name.partition('/')[0]}/data.pkl".lower()
    chosen = min(pickles, key=lambda entry: (entry.name.lower() != path, entry.name.count("/")))
    if sum(entry.name.lower() == chosen.name.lower() for entry in pickles) > 1:
        raise FormatError(file.path, "two members are called data.pkl", rule="zip-duplicate")
    prefix = chosen.name[: -len("data.pkl")]
    members = {
        entry.name.removeprefix(prefix): entry
        for entry in directory.entries
        if entry.name.startswith(prefix)
    }
    return Archive(directory, members, chosen, "constants.pkl" in members)


def _ambiguous(path: str, problem: str) -> FormatError:
    return FormatError(
        path,
        problem,
        rule="zip-ambiguous",
        expected="an archive that every reader reads alike",
        hint="do not load it: another reader may see other content",
    )


def scan_zip(file: Windows, scan_member: ScanMember) -> list[tuple[str, PickleScan]]:
    """Names in every pickle of any zip archive, by member, in each directory a reader may take.

    Where readers differ, an entry without names says so. Raises as ``read_directory`` does.
    """
    directories, differences = read_directories(file)
    scans = _doubtful(file.path, "archive", differences)
    for number, directory in enumerate(directories):
        where = f"directory {number + 1}, " if len(directories) > 1 else ""
        scans += _doubtful(file.path, f"{where}archive", name_doubts(directory))
        local, left = local_doubts(file, directory)
        scans += _doubtful(file.path, f"{where}archive", local)
        if left:
            problem = f"the local headers of {left:,} members are not compared with the directory"
            unread = UnreadPartError(file.path, problem)
            scans.append((f"{where}archive", PickleScan((), unread, 0)))
        hidden, unseen = _posing_as_text(file, directory)
        if unseen:
            problem = f"{unseen:,} members with names of text are not looked at"
            scans.append(
                (f"{where}archive", PickleScan((), UnreadPartError(file.path, problem), 0))
            )
        members = hidden + _unpickled(directory)
        if len(members) > MAX_PICKLES:
            problem = (
                f"{len(members) - MAX_PICKLES:,} members that may hold pickles are not checked"
            )
            error = LimitError(file.path, problem, expected=f"at most {MAX_PICKLES:,}")
            scans.append((f"{where}archive", PickleScan((), error, 0)))
        for entry in members[:MAX_PICKLES]:
            scans += _scan_member(file, entry, where, scan_member)
        scans += _scan_exported(file, directory, where)
        scans += _scan_code(file, directory, where)
    return scans


def _scan_code(file: Windows, directory: ZipDirectory, where: str) -> list[tuple[str, PickleScan]]:
    """What in the code of a TorchScript archive reaches out of the model."""
    members = [entry for entry in directory.entries if is_code(entry.name)]
    limits = MAX_CODE_MEMBERS, MAX_CODE
    return _scan_texts(file, members, where, "files of code", limits, reaching_operators)


def _scan_exported(
    file: Windows, directory: ZipDirectory, where: str
) -> list[tuple[str, PickleScan]]:
    """What in the JSON of an exported program runs as Python."""
    if not is_exported([entry.name for entry in directory.entries]):
        return []
    texts = [entry for entry in directory.entries if entry.name.lower().endswith(".json")]
    limits = MAX_JSON_MEMBERS, MAX_JSON
    return _scan_texts(file, texts, where, "members of JSON", limits, odd_texts)


def _scan_texts(
    file: Windows,
    members: Sequence[ZipEntry],
    where: str,
    what: str,
    limits: tuple[int, int],
    judge: Callable[[str, bytes], Iterable[HfinspectError]],
) -> list[tuple[str, PickleScan]]:
    """What ``judge`` finds in the members; ``limits`` are of their number and of one's bytes."""
    most, most_bytes = limits
    errors: list[tuple[str, HfinspectError]] = []
    if len(members) > most:
        problem = f"{len(members) - most:,} {what} are not checked"
        errors.append(("archive", LimitError(file.path, problem, expected=f"{most:,}")))
    for entry in members[:most]:
        try:
            data = read_member(file, entry, most_bytes)
        except (FormatError, LimitError, UnsupportedFormatError) as error:
            errors.append((entry.name, error))
            continue
        errors += [(entry.name, error) for error in judge(f"{file.path}/{entry.name}", data)]
    return [(f"{where}{name}", PickleScan((), error, 0)) for name, error in errors]


def _doubtful(path: str, where: str, doubts: Sequence[str]) -> list[tuple[str, PickleScan]]:
    return [(where, PickleScan((), _ambiguous(path, text), 0)) for text in doubts]


def _scan_member(
    file: Windows, entry: ZipEntry, where: str, scan_member: ScanMember
) -> list[tuple[str, PickleScan]]:
    is_pickle = entry.name.lower().endswith(PICKLE_MEMBERS)
    try:
        if not is_pickle and not _looks_inside(file, entry):
            return []
        data = read_member(file, entry, MAX_PICKLE_BYTES)
        inner_scans = scan_member(f"{file.path}/{entry.name}", data) if data else []
    except (FormatError, LimitError, UnsupportedFormatError) as error:
        return [(f"{where}{entry.name}", PickleScan((), error, 0))]
    if is_pickle and not inner_scans:
        # PyTorch reads it as a pickle whatever it begins with.
        return [(f"{where}{entry.name}", scan_pickle(data, subject=file.path))]
    return [
        (f"{where}{entry.name}" if len(inner_scans) == 1 else f"{where}{entry.name}, {name}", scan)
        for name, scan in inner_scans
    ]


def _unpickled(directory: ZipDirectory) -> list[ZipEntry]:
    """Members that some loader may unpickle: not the storages, and not text."""
    roots = {
        entry.name[: -len("data.pkl")]
        for entry in directory.entries
        if entry.name.lower().endswith("data.pkl")
    }
    raw = tuple(f"{root}{folder}/" for root in roots for folder in ("data", "constants"))
    return [
        entry
        for entry in directory.entries
        if entry.size
        and not entry.name.lower().endswith(_TEXT_MEMBERS)
        and (
            entry.name.lower().endswith((*PICKLE_MEMBERS, *ARCHIVE_SUFFIXES, ".npy"))
            or not (entry.name.startswith(raw) or entry.name.endswith(".storage"))
        )
    ]


def _posing_as_text(file: Windows, directory: ZipDirectory) -> tuple[list[ZipEntry], int]:
    """Members with names of text that begin as pickles or archives, and how many were not read."""
    texts = [e for e in directory.entries if e.size and e.name.lower().endswith(_TEXT_MEMBERS)]
    near = [entry for entry in _at_hand(file, texts) if is_readable(entry)]
    posing = []
    for entry in near:
        with suppress(FormatError):  # a local header that differs is reported already
            if _begins_as_pickle(file, entry):
                posing.append(entry)
    return posing, len(texts) - len(near)


def _at_hand(file: Windows, texts: Sequence[ZipEntry]) -> Sequence[ZipEntry]:
    """Those whose beginnings can be looked at; where reads are requests, these are read here."""
    if file.is_near:
        return texts[:MAX_TEXT_MEMBERS]
    rows: list[list[ZipEntry]] = []
    for entry in sorted(texts, key=lambda entry: entry.header_offset):
        if rows and entry.header_offset - rows[-1][-1].header_offset < _NEXT_TO:
            rows[-1].append(entry)
        else:
            rows.append([entry])
    left = MAX_TEXT_READS
    near = []
    for row in rows:
        first = row[0].header_offset
        stop = min(max(map(beginning_stop, row)), file.known_size())
        if file.peek(first, stop) is None:
            if not left:
                continue
            left -= 1
            file.read(first, stop)
        near += row
    return near


def _looks_inside(file: Windows, entry: ZipEntry) -> bool:
    """Whether a member under another name begins as a pickle or an archive does."""
    if entry.name.lower().endswith((*ARCHIVE_SUFFIXES, ".npy", *_PICKLE_ENDINGS)):
        return True
    if not is_readable(entry):
        return True  # Python's zipfile unpacks methods that are refused here
    return _begins_as_pickle(file, entry)


def _begins_as_pickle(file: Windows, entry: ZipEntry) -> bool:
    head = member_head(file, entry, SNIFF_BYTES)
    return magic_of(head) is not None or reads_as_pickle(head)


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
