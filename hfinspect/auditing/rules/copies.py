"""HI21x: several copies of the same weights in one folder."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ...checkpoints.alternatives import in_original_names
from ...checkpoints.filenames import FileKind
from ...core.text import byte_size, shape_text
from ..facts.target import Copy, Folder, TargetFacts
from ..registry import RuleFinding, rule

#: Tensors whose absence from one copy says nothing: formats differ in what they keep.
_OPTIONAL = ("lm_head.weight", ".inv_freq", ".position_ids", "attn.bias", "masked_bias")


def _models(folder: Folder) -> list[Copy]:
    return [copy for copy in folder.copies if copy.kind is FileKind.MODEL and copy.files]


@rule("HI210", "stray-single-file", "warning")
def stray_single_file(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A single weight file lies next to a full set of shards of the same name.

    Why: transformers takes the single file and ignores the shards, diffusers takes the shards,
    other loaders take every file. Whoever fine-tuned may have saved only one of them.

    Fix: delete the copy that is not meant.
    """
    for folder in facts.folders:
        models = _models(folder)
        for copy in models:
            if copy.sharded:
                continue
            alternatives = [
                other
                for other in models
                if other.sharded
                and (other.format, other.stem, other.variant)
                == (copy.format, copy.stem, copy.variant)
            ]
            if alternatives:
                text = (
                    f"lies next to the shards of {alternatives[0].label}; transformers takes this "
                    "file, others take the shards"
                )
                yield RuleFinding(text, copy.files[0].path)


@rule("HI211", "second-copy", "note")
def second_copy(facts: TargetFacts) -> Iterator[RuleFinding]:
    """The same weights are there in more than one format or variant.

    Why: a second copy takes its full size on disk and in every download that does not filter.

    Fix: delete the copies that nobody loads.
    """
    for folder in facts.folders:
        for copy in _models(folder):
            if folder.main is not None and copy is not folder.main and copy.size:
                text = f"{byte_size(copy.size)} for a second copy ({copy.format})"
                yield RuleFinding(text, copy.label, None, f"only {folder.main.label}")
        yield from _originals(folder)


def _originals(folder: Folder) -> Iterator[RuleFinding]:
    """Files that hold the folder's model under the names of Mistral's or Meta's code."""
    main = folder.main
    for copy in folder.copies:
        if main is None or copy is main or copy.kind is not FileKind.ORIGINAL:
            continue
        mine = {name: tensor.shape for name, tensor in main.tensors.items()}
        theirs = {name: tensor.shape for name, tensor in copy.tensors.items()}
        if in_original_names(mine, theirs):
            text = f"{byte_size(copy.size)} for the same weights twice, in the original's names"
            yield RuleFinding(text, copy.label, None, f"only {main.label}")


@rule("HI212", "copies-disagree", "warning")
def copies_disagree(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Two copies of the same weights differ in tensor names or shapes.

    Why: which model a user gets depends on the format that the loader prefers.

    Fix: delete the copy that is out of date, or convert it again.
    """
    for folder in facts.folders:
        main = folder.main
        if main is None or main.kind is not FileKind.MODEL or main.format == "gguf":
            continue
        for copy in _models(folder):
            if copy is main or copy.format == "gguf" or copy.stem.startswith(("tf_", "flax_")):
                continue
            if main.readable and copy.readable:
                yield from _differences(main, copy)


def _differences(main: Copy, copy: Copy) -> Iterator[RuleFinding]:
    ours = main.tensors
    theirs = copy.tensors
    shared = theirs.keys() & ours.keys()
    if not shared:
        yield RuleFinding(f"shares no tensor name with {main.label}", copy.label)
        return
    # Formats that know tied tensors keep both names, safetensors keeps one.
    names = Counter(t.storage for t in theirs.values() if t.storage)
    for name in _worth_naming(ours.keys() - theirs.keys()):
        yield RuleFinding(f"has no such tensor, which {main.label} holds", copy.label, name)
    for name in _worth_naming(theirs.keys() - ours.keys()):
        storage = theirs[name].storage
        if storage is None or names[storage] < 2:
            yield RuleFinding(f"holds a tensor that {main.label} has not", copy.label, name)
    for name in sorted(shared):
        if ours[name].shape != theirs[name].shape:
            yield RuleFinding(
                f"is of shape {shape_text(theirs[name].shape)}",
                copy.label,
                name,
                f"{shape_text(ours[name].shape)}, as in {main.label}",
            )


def _worth_naming(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not name.endswith(_OPTIONAL))


@rule("HI213", "case-only", "warning")
def case_only(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Two files, or two tensors of one checkpoint, differ only in upper and lower case.

    Why: on Windows and macOS one file replaces the other; loaders that fold case mix tensors up.

    Fix: delete or rename one of them.
    """
    for first, second in _twins(facts.files):
        yield RuleFinding(f"differs from {first} only in case", second)
    for _, copy in facts.copies():
        for first, second in _twins(copy.tensors):
            yield RuleFinding(f"differs from {first} only in case", copy.file_of[second], second)


def _twins(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    first_of: dict[str, str] = {}
    for name in names:
        first = first_of.setdefault(name.lower(), name)
        if first != name:
            yield first, name


@rule("HI217", "two-numberings", "warning")
def two_numberings(facts: TargetFacts) -> Iterator[RuleFinding]:
    """Shards of two different numberings lie under one name (1 of 2 next to 1 of 3).

    Why: one set is left over from another save; tools that take all files load both.

    Fix: delete the set that the index does not name.
    """
    for folder in facts.folders:
        sets: dict[tuple[str, str, str], list[Copy]] = {}
        for copy in folder.copies:
            if copy.sharded and copy.files and copy.format != "gguf":
                sets.setdefault((copy.format, copy.stem, copy.variant), []).append(copy)
        for copies in sets.values():
            for copy in copies:
                if len(copies) > 1 and copy.index is None:
                    shards = copy.files[0].name.shards
                    others = ", ".join(c.label for c in copies if c is not copy)
                    yield RuleFinding(
                        f"{len(copy.files)} of {shards} shards next to another set",
                        copy.label,
                        None,
                        f"only {others}",
                    )
