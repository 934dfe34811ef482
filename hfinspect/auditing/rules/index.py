"""HI20x: an index against the shards it names."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ...analysis.shared_storage import stored_bytes
from ...checkpoints.filenames import weight_name
from ...core.wholeness import MAX_NAMES
from ..facts.target import Copy, TargetFacts
from ..registry import RuleFinding, rule


def _indexed(facts: TargetFacts) -> Iterator[tuple[Copy, str, Mapping[str, str]]]:
    """(copy, path of its index, tensor -> path of the shard)."""
    if facts.single:
        return
    for _, copy in facts.copies():
        if copy.index is not None and copy.index.value is not None:
            yield copy, copy.index.path, copy.shard_of


@rule("HI201", "shard-missing", "error")
def shard_missing(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A shard that the index or the numbering names is not there.

    Why: some loaders go on without it and leave its weights as they were initialised.

    Fix: fetch the missing file.
    """
    if facts.single:
        return
    for folder, copy in facts.copies():
        index = copy.index.value if copy.index is not None else None
        # Another copy that is whole makes an incomplete one a leftover, not a broken model.
        spare = copy is not folder.main and folder.main is not None and index is None
        counts = Counter(copy.shard_of.values()) if copy.missing else {}
        if not copy.missing:
            continue
        where = "there" if facts.listing_complete else "in the cache"
        severity = "warning" if spare or not facts.listing_complete else None
        lost = sum(counts[path] for path in copy.missing)
        them = "it" if len(copy.missing) == 1 else "them"
        expected = f"{lost:,} tensors in {them}, by the index" if lost else None
        text = f"the shard is not {where}"
        if len(copy.missing) > 1:
            total = len(copy.missing) + len(copy.files)
            text = f"{len(copy.missing):,} of {total:,} shards are not {where}"
        names = copy.missing[:MAX_NAMES]
        yield RuleFinding(text, copy.missing[0], None, expected, severity, len(copy.missing), names)


@rule("HI202", "shard-unreferenced", "warning")
def shard_unreferenced(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A numbered shard lies next to the index, which does not name it.

    Why: it is left over from another save, or the index is; loaders that take every file of the
    folder mix both.

    Fix: delete the leftover, or rebuild the index.
    """
    if facts.single:
        return
    for _, copy in facts.copies():
        for path in copy.extra:
            yield RuleFinding("the index does not name this shard", path)


@rule("HI203", "tensor-not-in-shards", "error")
def tensor_not_in_shards(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The index names a tensor that no shard holds.

    Why: loading stops there, or the tensor stays as it was initialised.

    Fix: rebuild the index from the shards, or fetch the shard that should hold it.
    """
    for copy, index, weight_map in _indexed(facts):
        lost = copy.lost_names
        holders = copy.holders
        for name, shard in weight_map.items():
            if name not in holders and name not in lost:
                yield RuleFinding("the index names it, but no shard holds it", index, name, shard)


@rule("HI204", "tensor-not-in-index", "error")
def tensor_not_in_index(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A shard holds a tensor that the index does not name.

    Why: loaders that follow the index never read it, and leave it as it was initialised.

    Fix: rebuild the index from the shards.
    """
    for copy, _, weight_map in _indexed(facts):
        for name, paths in copy.holders.items():
            if name not in weight_map:
                yield RuleFinding("the index does not name it", paths[0], name)


@rule("HI205", "tensor-in-two-shards", "error")
def tensor_in_two_shards(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Two shards of one checkpoint hold a tensor of the same name.

    Why: which one counts depends on the loader's order; shards of two saves may have been mixed.

    Fix: keep the shard that the index names, and save the other without the tensor.
    """
    for _, copy in facts.copies():
        if len(copy.files) < 2:
            continue
        for name, paths in copy.holders.items():
            if len(set(paths)) > 1:
                yield RuleFinding(f"also in {', '.join(paths[1:4])}", paths[0], name)


@rule("HI206", "wrong-shard", "error")
def wrong_shard(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The index puts a tensor into another shard than the one that holds it.

    Why: loaders open the shard that the index names and do not find the tensor.

    Fix: rebuild the index from the shards.
    """
    for copy, _, weight_map in _indexed(facts):
        for name, paths in copy.holders.items():
            if (
                name in weight_map
                and weight_map[name] not in paths
                and weight_map[name] not in copy.missing
            ):
                yield RuleFinding(
                    "the index puts it into another shard", paths[0], name, weight_map[name]
                )


@rule("HI207", "total-size", "warning")
def total_size(facts: TargetFacts) -> Iterator[RuleFinding]:
    """`total_size` in the index is not the sum of the tensors' bytes.

    Why: tools that plan memory believe it; it often shows that shards were replaced afterwards.

    Fix: rebuild the index from the shards.
    """
    for copy, path, _ in _indexed(facts):
        claimed = _claim(copy, "total_size")
        if claimed is None:
            continue
        if not copy.readable:
            yield from _too_small(facts, copy, path, claimed)
            continue
        stored = stored_bytes([file.shard for file in copy.files if file.shard is not None])
        # PyTorch indexes count a tensor that shares memory under each of its names, or once.
        repeated = sum(tensor.nbytes for file in copy.files for tensor in file.tensors)
        if claimed not in (stored, repeated):
            yield RuleFinding(f"total_size is {claimed:,}", path, None, f"{stored:,}")


def _too_small(facts: TargetFacts, copy: Copy, path: str, claimed: int) -> Iterator[RuleFinding]:
    """Where only names and sizes are known: safetensors shards hold their tensors' bytes and a
    header, so all of them together cannot be smaller than the tensors."""
    if copy.format != "safetensors" or copy.missing or any(file.problems for file in copy.files):
        return
    sizes = [facts.files[file.path].size for file in copy.files]
    known = sum(size for size in sizes if size is not None)
    if None not in sizes and known < claimed:
        text = f"total_size is {claimed:,}, and the shards have {known:,} bytes in all"
        yield RuleFinding(text, path, None, "shards that are larger", severity="error")


@rule("HI208", "total-parameters", "warning")
def total_parameters(facts: TargetFacts) -> Iterator[RuleFinding]:
    """`total_parameters` in the index is not the number of parameters in the shards.

    Why: the Hub and other tools show it without counting.

    Fix: rebuild the index from the shards.
    """
    for copy, path, _ in _indexed(facts):
        claimed = _claim(copy, "total_parameters")
        if claimed is None or not copy.readable:
            continue
        folder = next((f for f in facts.folders if f.main is copy), None)
        counts = {sum(t.elements for file in copy.files for t in file.tensors)}
        inspection = folder.judged.inspection if folder is not None else None
        if inspection is not None:
            counts |= {
                count
                for count in (
                    inspection.parameters,
                    inspection.logical,
                    inspection.parameters_with_head,
                )
                if count is not None
            }
        if claimed not in counts:
            shown = ", ".join(f"{count:,}" for count in sorted(counts))
            yield RuleFinding(f"total_parameters is {claimed:,}", path, None, shown)


def _claim(copy: Copy, key: str) -> int | None:
    index = copy.index.value if copy.index is not None else None
    value = index.metadata.get(key) if index is not None else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


@rule("HI209", "numbering", "warning")
def numbering(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The shards that an index names are numbered with gaps, or against their own count.

    Why: loaders that go by the numbers wait for shards that do not exist, or miss some.

    Fix: rename the shards to run from 1 to their number, and rebuild the index.
    """
    for copy, path, weight_map in _indexed(facts):
        names = [weight_name(shard) for shard in sorted(set(weight_map.values()))]
        numbered = [n for n in names if n is not None and n.shards is not None]
        numbers = {n.number for n in numbered if n.number is not None}
        counts = {n.shards for n in numbered if n.shards is not None}
        if not numbers:
            continue
        # Some savers number from 0, and bloom's first shard is the second number, for its
        # embedding came later; what lies outside the index but on disk is no gap either.
        present = numbers | {
            n.number for n in map(weight_name, copy.extra) if n is not None and n.number is not None
        }
        gaps = [number for number in range(min(numbers), max(numbers)) if number not in present]
        if len(counts) > 1:
            totals = " and ".join(f"{count:,}" for count in sorted(counts))
            yield RuleFinding(f"its shards count {totals} in all", path)
        elif gaps:
            shown = ", ".join(map(str, gaps[:5]))
            yield RuleFinding(f"no shard of number {shown}", path, None, f"{max(counts):,} shards")
        elif min(numbers) > 2 or max(counts) - max(numbers) > 1:
            text = f"its shards are numbered {min(numbers):,} to {max(numbers):,}"
            yield RuleFinding(text, path, None, f"1 to {max(counts):,}")


@rule("HI214", "index-malformed", "error")
def index_malformed(facts: TargetFacts) -> Iterator[RuleFinding]:
    """An index is not JSON or has no `weight_map` of strings.

    Why: without it nobody knows which shard holds what, and whether all are there.

    Fix: restore the index from its source, or rebuild it from the shards.
    """
    for _, copy in facts.copies():
        fact = copy.index
        if fact is None or fact.error is None or fact.unsafe:
            continue
        if fact.error.exit_code == 4:
            yield RuleFinding(fact.error.found, fact.path)


@rule("HI215", "index-duplicate-key", "warning")
def index_duplicate_key(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The index names a tensor more than once.

    Why: the last entry wins in most readers, not in all.

    Fix: rebuild the index from the shards.
    """
    yield from _index_findings(facts, "index-duplicate-key")


@rule("HI216", "index-metadata", "note")
def index_metadata(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The index has no `metadata` object with a `total_size`.

    Why: transformers reads `metadata` without asking whether it is there, and other tools plan
    memory by `total_size`.

    Fix: rebuild the index from the shards.
    """
    yield from _index_findings(facts, "index-metadata")
    for copy, path, _ in _indexed(facts):
        assert copy.index is not None
        assert copy.index.value is not None
        if "total_size" not in copy.index.value.metadata:
            yield RuleFinding("has no total_size", path)


def _index_findings(facts: TargetFacts, name: str) -> Iterator[RuleFinding]:
    for _, copy in facts.copies():
        index = copy.index.value if copy.index is not None else None
        for finding in index.findings if index is not None else ():
            if finding.rule == name:
                yield RuleFinding(finding.text, finding.file, severity="warning")
