"""HI10x: what lies in place of a file. HI13x: what is next to it. HI14x: its values."""

from collections.abc import Iterator

from ...core.text import byte_size
from ...formats.sniff import sniff
from ..facts.target import TargetFacts, WeightFact
from ..registry import RuleFinding, rule
from .headers import from_format

#: Endings of downloads that were not finished, by the program that leaves them.
_UNFINISHED = {
    ".incomplete": "huggingface_hub",
    ".part": "a browser or wget",
    ".crdownload": "Chrome",
    ".aria2": "aria2",
    ".partial": "a browser",
    ".download": "Safari",
}


@rule("HI101", "unreadable", "error")
def unreadable(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A file or directory cannot be read: permissions, a link to nothing, an I/O error.

    Why: loaders skip it or stop there; nothing in it was audited.

    Fix: correct owner and permissions, restore the link's target, or fetch the file again.
    """
    yield from from_format(facts, "HI101")
    for path, error in facts.refused.items():
        yield RuleFinding(f"the directory {error.found}", path)
    for fact in facts.json.values():
        if fact.error is not None and not fact.text and fact.error.exit_code == 3:
            yield RuleFinding(fact.error.found, fact.path)
    for _, copy in facts.copies():
        fault = copy.index.error if copy.index is not None else None
        if fault is not None and fault.exit_code == 3:
            yield RuleFinding(fault.found, copy.label)
    for path, deep in facts.deep.items():
        weight = facts.weights.get(path)
        if deep.error is not None and (weight is None or weight.refused is None):
            yield RuleFinding(deep.error.found, path)


@rule("HI102", "empty-file", "error")
def empty_file(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A weight file has no bytes.

    Why: a download or a full disk left only its name.

    Fix: fetch the file again.
    """
    yield from from_format(facts, "HI102")
    for path, rule_name in facts.stand_ins.items():
        if rule_name == "empty-file":
            yield RuleFinding("the file is empty", path)
    for fact in facts.json.values():
        if fact.error is not None and fact.size == 0 and fact.error.exit_code == 4:
            yield RuleFinding("the file is empty", fact.path, severity="warning")


@rule("HI103", "pointer", "error")
def pointer(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A pointer of Git LFS or Xet lies in place of the file.

    Why: the repo was cloned without its large files; the pointer is 130 bytes of text.

    Fix: `git lfs pull`, or `hf download`.
    """
    yield from from_format(facts, "HI103")
    for path, rule_name in facts.stand_ins.items():
        if rule_name in ("lfs-pointer", "xet-pointer"):
            yield RuleFinding(f"{_POINTERS[rule_name]} in place of the file", path)
    for fact in facts.json.values():
        content = sniff(fact.text[:512], fact.size) if fact.error is not None else None
        if content in _POINTERS and fact.path not in facts.stand_ins:
            yield RuleFinding(f"{_POINTERS[content]} in place of the file", fact.path)


_POINTERS = {"lfs-pointer": "a Git LFS pointer", "xet-pointer": "a Xet pointer"}


@rule("HI104", "page", "error")
def page(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A web page or an error message lies in place of the file.

    Why: a login, a proxy or a refusal was saved under the file's name.

    Fix: fetch the file itself, with a token if it is gated.
    """
    yield from from_format(facts, "HI104")
    for fact in facts.json.values():
        content = sniff(fact.text[:512], fact.size) if fact.error is not None else None
        if content in ("html-page", "error-page"):
            yield RuleFinding("a web page or an error message in place of the file", fact.path)


@rule("HI106", "sparse-shard", "error")
def sparse_shard(facts: TargetFacts) -> Iterator[RuleFinding]:
    """All tensor data of a file is a hole: disk blocks that were never written.

    Why: the header is there and the size is right, so every check by size passes, while every
    weight reads as zero.

    Fix: fetch the file again, and see that the copying program does not stop half-way.
    """
    for weight, missing, total in _unwritten(facts):
        if missing == total:
            yield RuleFinding(
                f"none of its {byte_size(total)} of tensor data was ever written to disk",
                weight.path,
            )


@rule("HI107", "sparse-data", "warning")
def sparse_data(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Some tensors of a file lie in a hole: disk blocks that were never written.

    Why: they read as zeros. Some copying programs also turn real zeros into holes.

    Fix: compare the file's checksum with its source (`--deep` where one is recorded).
    """
    for weight, missing, total in _unwritten(facts):
        if 0 < missing < total:
            yield RuleFinding(
                f"{byte_size(missing)} of its {byte_size(total)} of tensor data was never written "
                "to disk",
                weight.path,
                _first_in_hole(facts, weight),
            )


def _unwritten(facts: TargetFacts) -> Iterator[tuple[WeightFact, int, int]]:
    """(file, bytes of tensor data in holes, bytes of tensor data)."""
    for weight in facts.weights.values():
        disk = facts.disk.get(weight.path)
        if disk is None or not disk.holes:
            continue
        spans = [(t.offset, t.nbytes) for t in weight.tensors if t.offset is not None and t.nbytes]
        if not spans:
            continue
        first = min(offset for offset, _ in spans)
        last = min(max(offset + nbytes for offset, nbytes in spans), disk.size)
        missing = sum(_overlap(first, last, *hole) for hole in disk.holes)
        # The block in which the data begins holds the header too, so it is never a hole.
        all_missing = missing and missing + _BLOCK - first % _BLOCK >= last - first
        yield weight, last - first if all_missing else missing, last - first


#: Blocks of most file systems. What begins in the header's block counts as unwritten with the rest.
_BLOCK = 4096


def _overlap(start: int, stop: int, begin: int, end: int) -> int:
    return max(0, min(stop, end) - max(start, begin))


def _first_in_hole(facts: TargetFacts, weight: WeightFact) -> str | None:
    holes = facts.disk[weight.path].holes
    for tensor in weight.tensors:
        begin = tensor.offset
        if begin is None or not tensor.nbytes:
            continue
        if any(_overlap(begin, begin + tensor.nbytes, *hole) for hole in holes):
            return tensor.name
    return None


@rule("HI130", "json-malformed", "error")
def json_malformed(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A JSON file next to the weights is not JSON, or not an object where one is needed.

    Why: the library that needs it fails, or goes on with its defaults.

    Fix: restore the file from its source.
    """
    for fact in facts.json.values():
        name = fact.path.rpartition("/")[2]
        needed = name in _NEEDED
        if fact.error is not None and (fact.text or fact.error.exit_code == 4) and fact.size:
            severity = "error" if needed else "warning"
            yield RuleFinding(fact.error.found, fact.path, severity=severity)
        elif fact.error is None and needed and fact.mapping is None:
            yield RuleFinding("is not a JSON object", fact.path)


_NEEDED = frozenset(
    """config.json adapter_config.json generation_config.json tokenizer_config.json
    model_index.json tokenizer.json""".split()
)


@rule("HI131", "unfinished-download", "warning")
def unfinished_download(facts: TargetFacts) -> Iterator[RuleFinding]:
    """What an interrupted download leaves behind (`*.incomplete`, `*.part`, `*.aria2`).

    Why: the file it belongs to may be missing or older than its neighbours.

    Fix: start the download again, which goes on where it stopped, then delete the leftovers.
    """
    for path in (*facts.files, *facts.leftovers):
        for ending, program in _UNFINISHED.items():
            if path.endswith(ending):
                yield RuleFinding(f"the rest of a download that {program} did not finish", path)


@rule("HI132", "lock-file", "note")
def lock_file(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A `.lock` file lies next to the weights.

    Why: a download is still running or was killed; it does not belong to the model.

    Fix: make sure that no download is running, and delete it.
    """
    for path in facts.files:
        if path.endswith(".lock"):
            yield RuleFinding("a lock that a running or killed download holds", path)


@rule("HI141", "checksum", "error", deep=True)
def checksum(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A file's sha256 is not the one that the Hub or its cache recorded.

    Why: the bytes were damaged or changed after they were published.

    Fix: fetch the file again; if it was changed on purpose, publish it as such.
    """
    for fact in facts.deep.values():
        if fact.recorded is not None and fact.sha256 and fact.sha256 != fact.recorded:
            yield RuleFinding(f"sha256 is {fact.sha256}", fact.path, None, fact.recorded)


@rule("HI142", "not-a-number", "error", deep=True)
def not_a_number(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A tensor holds NaN values.

    Why: one of them spreads through every activation after it.

    Fix: go back to an earlier checkpoint; see whether a cast to fewer bits overflowed.
    """
    yield from _not_finite(facts, nan=True)


@rule("HI143", "infinite", "warning", deep=True)
def infinite(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A tensor holds infinite values.

    Why: they become NaN in the first difference or product with zero. Masks hold them on purpose.

    Fix: see whether a cast to fewer bits overflowed.
    """
    yield from _not_finite(facts, nan=False)


def _not_finite(facts: TargetFacts, *, nan: bool) -> Iterator[RuleFinding]:
    what = "NaN" if nan else "infinite"
    for fact in facts.deep.values():
        for tensor, count, first, is_nan in fact.not_finite:
            if is_nan == nan:
                text = (
                    f"{count:,} of its values are not finite; the first, "
                    f"at element {first:,} in the order of the file, is {what}"
                )
                yield RuleFinding(text, fact.path, tensor)


@rule("HI144", "all-zero", "warning", deep=True)
def all_zero(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A weight matrix is zero throughout.

    Why: it was never written or never trained. Biases and the second half of a fresh LoRA are zero
    by design, and only noted.

    Fix: compare with the source; see whether the tensor was saved from the meta device.
    """
    for fact in facts.deep.values():
        tensors = {t.name: t for t in facts.weights[fact.path].tensors} if fact.zero else {}
        for name in fact.zero:
            flat = name not in tensors or len(tensors[name].shape) < 2
            by_design = flat or "lora_B" in name or name.endswith((".bias", "qzeros"))
            yield RuleFinding(
                "all its bytes are zero", fact.path, name, None, "note" if by_design else None
            )


@rule("HI145", "second-parser", "error", deep=True)
def second_parser(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The safetensors library refuses a header that hfinspect reads, or reads other tensors in it.

    Why: a file that two readers take for different models can hide one of them; or a reader has a
    bug.

    Fix: save the file again with a current version of safetensors; if the finding stays, report it.
    """
    for fact in facts.deep.values():
        if fact.disagreement:
            yield RuleFinding(fact.disagreement, fact.path)
