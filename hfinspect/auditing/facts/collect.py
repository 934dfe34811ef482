"""From a source to the facts: every file is read at most once, and none that is damaged stops the
reading of the others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import TypeVar, cast

from ...checkpoints.file_bytes import FirstGuess
from ...checkpoints.filenames import FileKind, WeightName, weight_name
from ...checkpoints.one_file import IndexRead, Read, gathered, read_index, read_json
from ...checkpoints.read import lists_all
from ...checkpoints.repo_layout import naming_files
from ...checkpoints.token_table import (
    MAX_TOKENIZER_BYTES,
    TokenTable,
    read_tokenizer,
    tokenizer_path,
)
from ...checkpoints.weights import check_number
from ...core.checkpoint import Checkpoint, Shard
from ...core.collector import collector_paused
from ...core.progress import Count, Progress
from ...core.text import clean
from ...core.verdicts import Unchecked
from ...errors import AccessError, EntryNotFoundError, HfinspectError
from ...inspecting.declared_class import Predicted
from ...sources.disk import directory_mode, disk_facts, leftovers, passed_over
from ...sources.hidden import MAX_HIDDEN_FILES, Hidden, hidden_files
from ...sources.local import HIDDEN
from ...sources.pointers import MAX_POINTER
from ...sources.source import FileEntry, Source
from .card import ModelCard, read_card
from .companions_read import CONFIGS, MAX_OTHER_FILES, MAX_OTHER_JSON, MAX_REMOTE_TOKENIZER_BYTES
from .deep import DeepScan
from .folders import MAX_REPOS, TargetPlace, make_folders, repos_below
from .other_files import (
    MAX_DEEP_READS,
    MAX_REMOTE_GRAPH_READS,
    MAX_REMOTE_GRAPHS,
    PICKLE_SUFFIXES,
    Scans,
    graph_gadgets,
    is_graph,
    is_hdf5,
    read_template,
    scan_pickle_file,
    scan_unnamed,
    stand_in,
    to_sniff,
)
from .target import DeepFact, Gadget, LeftOut, TargetFacts, WeightFact
from .templates import MAX_TEMPLATE_FILES
from .weights_read import NETWORK, WeightRead, is_without_bytes, read_weight
from .yaml_names import ENDINGS, MAX_YAML_BYTES, MAX_YAML_FILES, decoded

T = TypeVar("T")
AnyRead = TypeVar("AnyRead", Read[object], IndexRead)

#: The header of a model card; lists of languages and data sets make some long.
MAX_CARD_HEAD = 64 * 1024

#: Folders that are named where they are not looked into; the rest is counted.
SHOWN_PATHS = 3
#: Characters of the name of each.
MAX_SHOWN_PATH = 80

#: Small files on the Hub are read only if they are of a kind that is kept in LFS.
_KEPT_IN_LFS = (".model", ".spm", ".onnx", ".h5", ".msgpack", ".npz", ".keras", ".tflite", ".pb")


def _is_other_json(path: str) -> bool:
    name = path.rpartition("/")[2]
    known = name in CONFIGS or name in ("tokenizer.json", "vocab.json", "tekken.json")
    return name.endswith(".json") and not name.endswith(".index.json") and not known


def _several(paths: Sequence[str]) -> str:
    """The first of some paths, and how many they are."""
    shown = ", ".join(clean(path, MAX_SHOWN_PATH) for path in paths[:SHOWN_PATHS])
    if len(paths) > SHOWN_PATHS:
        shown += f" and {len(paths) - SHOWN_PATHS:,} more"
    return shown if len(paths) == 1 else f"{len(paths):,} paths: {shown}"


#: Files that are read as something else.
_NO_HDF5 = (".safetensors", ".gguf", ".json", ".txt", ".md", ".py")


@dataclass
class Collector:
    """Reads what the rules need from ``source``. ``file`` limits the audit to one weight file;
    ``predicted`` is a prediction made before, ``known`` are weight files read before."""

    source: Source
    file: str | None = None
    deep: bool = False
    reference: Checkpoint | None = None
    reference_name: str | None = None
    progress: Progress | None = None
    predicted: Predicted | None = None
    known: Mapping[str, Shard] = field(default_factory=dict)
    reference_config: Mapping[str, object] | None = None
    unchecked: list[Unchecked] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def collect(self) -> TargetFacts:
        """Raises AccessErrors where nothing at all can be read."""
        # On disk there is nothing to wait for, so the garbage collector can rest for all of it.
        with collector_paused() if self.source.is_near else nullcontext():
            return self._collect()

    def _collect(self) -> TargetFacts:
        files = self._files()
        names = {n.path: n for n in map(weight_name, files) if n is not None}
        weights = [n for n in names.values() if n.kind is not FileKind.FOREIGN and not n.is_index]
        json_files, indexes, tokenizers = self._small(files, names)
        reads = self._weights(weights, indexes)
        facts = {read.fact.path: read.fact for read in reads}
        single = self._single()
        hidden = () if single else self._passed_over()
        pickles, pickle_errors = self._pickles(files, names, reads, hidden)
        if (further := len(repos_below(json_files)) - MAX_REPOS) > 0:
            what = f"which folder is what in {further:,} repos below"
            self._leave(what, f"{MAX_REPOS} are looked up")
        disk = self.source.on_disk
        unfinished = tuple(leftovers(disk)) if disk and not single else ()
        place = TargetPlace(self.source.origin, files, unfinished)
        folders = make_folders(
            files,
            facts,
            indexes,
            json_files,
            tokenizers,
            self.predicted,
            place,
            complete=lists_all(self.source),
            single=single,
        )
        self._note_foreign(names)
        self._note_archives(facts)
        return TargetFacts(
            origin=self.source.origin,
            files=files,
            folders=folders,
            weights=facts,
            json=json_files,
            pickles=pickles,
            pickle_errors=pickle_errors,
            stand_ins=self._stand_ins(files, names),
            disk=disk_facts(disk, [n.path for n in weights]) if disk else {},
            root_mode=directory_mode(disk) if disk and not single else 0,
            leftovers=unfinished,
            refused=disk.refused if disk else {},
            gadgets=self._gadgets(files),
            templates=self._templates(files),
            yaml=self._yaml(files),
            reference=self.reference,
            reference_name=self.reference_name,
            reference_config=self.reference_config,
            deep=self._deep(facts),
            single=single,
            card=self._card(files),
            listing_complete=self.source.listing_complete,
            unchecked=tuple(self.unchecked),
            left_out=tuple(self.left_out),
        )

    def _leave(self, what: str, why: str, path: str | None = None) -> None:
        """Say that something is not checked for a limit of ours, or as it could not be fetched:
        anything may lie there, so that it is a finding, too."""
        self.unchecked.append(Unchecked(what, why))
        self.left_out.append(LeftOut(f"{what}: {why}", path))

    def _single(self) -> bool:
        return self.file is not None or (
            self.source.origin.kind == "file" and not self.source.origin.name.endswith(".json")
        )

    def _files(self) -> Mapping[str, FileEntry]:
        files = self.source.list_files()
        if self.file is None:
            return files
        if self.file not in files:
            raise EntryNotFoundError(self.source.origin.name, f"has no file {self.file}")
        folder = self.file[: self.file.rfind("/") + 1]
        paths = {self.file, *(folder + name for name in CONFIGS), *naming_files(files)}
        return {path: entry for path, entry in files.items() if path in paths}

    def _gather(self, tasks: Sequence[Callable[[], T]]) -> list[T | HfinspectError]:
        check_number(self.source, len(tasks))
        return self.source.gather(tasks)

    # ---- the parts

    def _small(
        self, files: Mapping[str, FileEntry], names: Mapping[str, WeightName]
    ) -> tuple[dict[str, Read[object]], dict[str, IndexRead], dict[str, TokenTable]]:
        """JSON files and indexes by path, tokenizers by folder."""
        indexes = [path for path, name in names.items() if name.is_index]
        small = [path for path in files if path.rpartition("/")[2] in CONFIGS]
        if self.source.is_near:
            small += self._other_json(files)
        folders = {path[: path.rfind("/") + 1] for path in files}
        tokenizers = {folder: tokenizer_path(files, folder) for folder in folders}
        if not self.source.is_near and not self.deep:
            # Each costs megabytes, and is the same in nearly every folder.
            below = sorted(path for folder, path in tokenizers.items() if folder and path)
            if below:
                why = "on the Hub only a deep audit reads tokenizers of folders"
                self.unchecked.append(Unchecked(f"ids of {_several(below)}", why))
            tokenizers = {"": tokenizers.get("")}
        paths_of = {folder: path for folder, path in tokenizers.items() if path is not None}
        source = self.source
        limit = MAX_TOKENIZER_BYTES
        if not source.is_near and not self.deep:
            limit = MAX_REMOTE_TOKENIZER_BYTES
        tasks: list[Callable[[], object]] = [partial(read_json, source, p) for p in small]
        tasks += [partial(read_index, source, p) for p in indexes]
        tasks += [partial(read_tokenizer, source, p, limit) for p in paths_of.values()]
        results = self._gather(tasks)
        json_files = self._by_path(cast("list[Read[object]]", results[: len(small)]))
        index_reads = self._by_path([r for r in results if isinstance(r, IndexRead)])
        token_tables = {}
        for (folder, path), result in zip(
            paths_of.items(), results[len(small) + len(indexes) :], strict=True
        ):
            if isinstance(result, TokenTable):
                token_tables[folder] = result
            elif isinstance(result, HfinspectError):
                self._note_tokenizer(path, result, json_files, files)
        return json_files, index_reads, token_tables

    def _by_path(self, reads: Iterable[AnyRead]) -> dict[str, AnyRead]:
        """What was read, without files that the network refused: these are not checked."""
        by_path = {}
        for read in reads:
            if read.error is not None and read.error.kind in NETWORK:
                self._leave(read.path, read.error.found, read.path)
            else:
                by_path[read.path] = read
        return by_path

    def _other_json(self, files: Mapping[str, FileEntry]) -> list[str]:
        """JSON files that no loader is known to read, as far as it goes."""
        others = [entry for path, entry in files.items() if _is_other_json(path)]
        others.sort(key=lambda entry: entry.size or 0)
        sums = accumulate(entry.size or 0 for entry in others)
        fit = min(sum(total <= MAX_OTHER_JSON for total in sums), MAX_OTHER_FILES)
        if fit < len(others):
            what = f"{len(others) - fit:,} JSON files of unknown purpose"
            why = f"{MAX_OTHER_FILES:,} are looked at, and {MAX_OTHER_JSON:,} bytes in all"
            self._leave(what, why, others[fit].path if fit == len(others) - 1 else None)
        return sorted(entry.path for entry in others[:fit])

    def _note_tokenizer(
        self,
        path: str,
        error: HfinspectError,
        reads: dict[str, Read[object]],
        files: Mapping[str, FileEntry],
    ) -> None:
        if error.kind == "limit" and (self.deep or self.source.is_near):
            self._leave(f"ids of {path}", f"{error.found}; {error.expected}", path)
        elif error.kind == "limit":
            why = f"{error.found}; {error.expected}, but for a deep audit"
            self.unchecked.append(Unchecked(f"ids of {path}", why))
        elif error.kind in NETWORK:
            self._leave(f"ids of {path}", error.found, path)
        else:
            reads[path] = Read(path, files[path].size or 0, error=error)

    def _weights(
        self, weights: Sequence[WeightName], indexes: Mapping[str, IndexRead]
    ) -> list[WeightRead]:
        guess = FirstGuess(self.source, [i.value for i in indexes.values() if i.value is not None])
        count = Count("headers", self.progress)
        count.expect(len(weights))
        check_number(self.source, len(weights))
        tasks = [partial(read_weight, self.source, name, guess, self.known) for name in weights]
        reads = gathered(self.source, [count.counted(task) for task in tasks])
        refused = [read.fact.refused for read in reads]
        denied = [error for error in refused if isinstance(error, AccessError)]
        if not self.source.is_near and denied and len(denied) == len(reads):
            raise denied[0]  # gated, offline: that is no property of the files
        for read in reads:
            error = read.fact.refused
            if error is not None and error.kind in NETWORK:
                self._leave(read.fact.path, error.found, read.fact.path)
        parsed = [read for read in reads if is_without_bytes(read.fact.shard)]
        if parsed:
            why = "the server gave them parsed, in one answer; the command audit reads each file"
            self.unchecked.append(Unchecked(f"the bytes of {len(parsed):,} headers", why))
        return reads

    def _pickles(
        self,
        files: Mapping[str, FileEntry],
        names: Mapping[str, WeightName],
        reads: Sequence[WeightRead],
        hidden: Sequence[FileEntry],
    ) -> tuple[dict[str, Scans], dict[str, HfinspectError]]:
        scans = {read.fact.path: read.scans for read in reads if read.scans is not None}
        errors: dict[str, HfinspectError] = {}
        for read in reads:
            if read.scan_error is not None:
                self._unread(
                    f"the pickles of {read.fact.path}", read.fact.path, read.scan_error, errors
                )
        others = [
            path
            for path in files
            if path.lower().endswith(PICKLE_SUFFIXES)
            and (path not in names or names[path].kind is FileKind.FOREIGN)
        ]
        self._scan(scan_pickle_file, others, "the pickles of {}", scans, errors)
        # A pickle or an archive under another format's name is one to whoever goes by the bytes.
        disguised = [r.fact.path for r in reads if r.scans is None and r.fact.is_other_format]
        self._scan(scan_unnamed, disguised, "whether {} is a pickle", scans, errors)
        known = {r.fact.path for r in reads} | set(others)
        unnamed = [entry for path, entry in files.items() if path not in known]
        self._unnamed([*unnamed, *hidden], scans, errors)
        return scans, errors

    def _unread(
        self, what: str, path: str, error: HfinspectError, errors: dict[str, HfinspectError]
    ) -> None:
        """What stopped the search for pickles says something of the file, or of the network."""
        if isinstance(error, AccessError):
            self._leave(what, error.found, path)
        else:
            errors[path] = error

    def _unnamed(
        self,
        entries: Sequence[FileEntry],
        scans: dict[str, Scans],
        errors: dict[str, HfinspectError],
    ) -> None:
        """Pickles and archives of pickles whose names do not say so."""
        paths, left = to_sniff(entries, local=self.source.is_near)
        if left:
            what = f"whether {left:,} more files are pickles"
            self._leave(what, f"the first bytes of {len(paths):,} are checked")
        self._scan(scan_unnamed, paths, "whether {} is a pickle", scans, errors)

    def _scan(
        self,
        scan: Callable[[Source, str], Scans],
        paths: Sequence[str],
        what: str,
        scans: dict[str, Scans],
        errors: dict[str, HfinspectError],
    ) -> None:
        """The pickles of each file; of one that cannot be read, ``what`` is not checked."""
        results = self._gather([partial(scan, self.source, path) for path in paths])
        for path, result in zip(paths, results, strict=True):
            if isinstance(result, HfinspectError):
                self._unread(what.format(path), path, result, errors)
            elif result:
                scans[path] = result

    def _card(self, files: Mapping[str, FileEntry]) -> ModelCard:
        path = next((path for path in files if path.lower() == "readme.md"), None)
        if path is None:
            return ModelCard()
        head = self._gather([partial(self.source.read, path, 0, MAX_CARD_HEAD)])[0]
        return read_card(head) if isinstance(head, bytes) else ModelCard()

    def _stand_ins(
        self, files: Mapping[str, FileEntry], names: Mapping[str, WeightName]
    ) -> dict[str, str]:
        """Pointers and pages in place of files that are read nowhere else: path -> rule."""
        is_near = self.source.is_near
        stand_ins: dict[str, str] = {}
        paths = []
        for path, entry in files.items():
            name = names.get(path)
            if name is not None and name.kind is not FileKind.FOREIGN:
                continue
            if entry.size == 0 and name is not None:
                stand_ins[path] = "empty-file"
            elif 0 < (entry.size or 0) <= MAX_POINTER and (
                is_near or name is not None or path.endswith(_KEPT_IN_LFS)
            ):
                paths.append(path)
        results = self._gather([partial(stand_in, self.source, path) for path in paths])
        rules = zip(paths, results, strict=True)
        return stand_ins | {path: rule for path, rule in rules if isinstance(rule, str)}

    def _gadgets(self, files: Mapping[str, FileEntry]) -> tuple[Gadget, ...]:
        paths = [path for path in files if is_graph(path)]
        if self.source.is_near:
            candidates = [
                path for path in files if not path.endswith(_NO_HDF5) and not is_graph(path)
            ]
            answers = self._gather([partial(is_hdf5, self.source, path) for path in candidates])
            paths += [
                path for path, answer in zip(candidates, answers, strict=True) if answer is True
            ]
        if not self.source.is_near and len(paths) > MAX_REMOTE_GRAPHS:
            what = f"what {len(paths) - MAX_REMOTE_GRAPHS:,} files of other libraries do"
            self._leave(what, f"{MAX_REMOTE_GRAPHS} are checked")
            paths = paths[:MAX_REMOTE_GRAPHS]
        reads = MAX_DEEP_READS if self.deep else MAX_REMOTE_GRAPH_READS
        results = self._gather([partial(graph_gadgets, self.source, path, reads) for path in paths])
        gadgets: list[Gadget] = []
        unread: dict[str, list[str]] = {}
        for path, result in zip(paths, results, strict=True):
            if isinstance(result, list):
                gadgets += result
            else:
                unread.setdefault(result.found, []).append(path)
        for why, these in unread.items():  # conversions come in dozens: a line for all of them
            only = these[0] if len(these) == 1 else None
            self._leave(f"what {_several(these)} make their loaders do", why, only)
        return tuple(gadgets)

    def _first(self, paths: list[str], most: int, what: str) -> list[str]:
        """At most so many; it is noted where there are more."""
        if len(paths) > most:
            self._leave(f"{len(paths) - most:,} {what}", f"only {most} are checked")
        return paths[:most]

    def _templates(self, files: Mapping[str, FileEntry]) -> dict[str, str]:
        paths = [path for path in files if path.lower().endswith((".jinja", ".jinja2", ".j2"))]
        paths = self._first(paths, MAX_TEMPLATE_FILES, "chat templates")
        results = self._gather([partial(read_template, self.source, path) for path in paths])
        for path, result in zip(paths, results, strict=True):
            if isinstance(result, HfinspectError):
                self._leave(path, result.found, path)
        reads = zip(paths, results, strict=True)
        return {path: text for path, text in reads if isinstance(text, str)}

    def _yaml(self, files: Mapping[str, FileEntry]) -> dict[str, str]:
        paths = [path for path in files if path.lower().endswith(ENDINGS)]
        paths = self._first(paths, MAX_YAML_FILES, "files of YAML")
        reads = [partial(self.source.read, path, 0, MAX_YAML_BYTES + 1) for path in paths]
        texts: dict[str, str] = {}
        for path, data in zip(paths, self._gather(reads), strict=True):
            if isinstance(data, HfinspectError):
                self._leave(path, data.found, path)
                continue
            if len(data) > MAX_YAML_BYTES:
                self._leave(f"{path} behind {MAX_YAML_BYTES:,} bytes", "settings are short", path)
            texts[path] = decoded(data)
        return texts

    def _note_archives(self, weights: Mapping[str, WeightFact]) -> None:
        """On the Hub a member that is not read keeps its local header, too."""
        shards = [fact.shard for fact in weights.values() if fact.shard is not None]
        zips = [s for s in shards if s.format == "torch" and not s.metadata.get("legacy")]
        if zips and not self.source.is_near:
            what = "local headers of archive members that nothing else made it read"
            self.unchecked.append(Unchecked(what, "on the Hub each is a request"))

    def _passed_over(self) -> Sequence[FileEntry]:
        """Folders on disk that are not in the listing: anything may lie there. Files of those that
        are hidden."""
        entries = passed_over(self.source)
        disk = self.source.on_disk
        hidden = hidden_files(disk, entries.get(HIDDEN, ())) if disk is not None else Hidden()
        for why, paths in entries.items():
            what = _several(paths)
            if why == HIDDEN and disk is not None:
                self.unchecked.append(Unchecked(what, why))
            else:
                self._leave(what, why)
        if hidden.versioned:
            why = "objects of version control, where no loader looks"
            self.unchecked.append(Unchecked(_several(hidden.versioned), why))
        if hidden.left:
            why = f"only {MAX_HIDDEN_FILES:,} hidden files are looked at, and no links to folders"
            self._leave(_several(hidden.left), why)
        return hidden.files

    def _note_foreign(self, names: Mapping[str, WeightName]) -> None:
        foreign: dict[str, list[str]] = {}
        for path, name in names.items():
            if name.kind is FileKind.FOREIGN:
                foreign.setdefault(name.format, []).append(path)
        for format_name, paths in sorted(foreign.items()):
            what = paths[0] if len(paths) == 1 else f"{len(paths)} files, {paths[0]} and others"
            self.unchecked.append(Unchecked(what, f"{format_name} is a format that is not read"))

    def _deep(self, facts: Mapping[str, WeightFact]) -> dict[str, DeepFact]:
        if not self.deep:
            self.unchecked.append(
                Unchecked(
                    "values and checksums", "only headers were read; a deep audit reads the rest"
                )
            )
            return {}
        progress = None if self.progress is None else partial(self.progress, "values")
        scan = DeepScan(self.source, facts, progress)
        deep_facts = scan.run()
        self.unchecked += scan.unchecked
        return deep_facts
