"""HI105, HI11x to HI12x and HI199: a weight file against the rules of its format."""

from collections.abc import Iterator
from functools import partial

from ...checkpoints.filenames import FileKind
from ...core.word_tables import by_word
from ..facts.target import TargetFacts
from ..registry import RuleFinding, rule, rules_alike

#: Rules of the format readers -> the code that reports them, here or in another file; those
#: without a code are no trouble at all. The others are HI199's.
REPORTED_BY = by_word(
    """
    HI101: unknown-size unreadable
    HI102: empty-file
    HI103: lfs-pointer xet-pointer
    HI104: html-page error-page
    HI105: zero-filled
    HI110: truncated truncated-header header-too-small
    HI111: trailing trailing-bytes
    HI112: hole
    HI113: overlap shared-storage
    HI114: header-too-large limit
    HI115: utf8 not-json nesting too-many-values not-object header-start
    HI116: duplicate-key duplicate-name
    HI117: span overflow block-shape
    HI118: offsets out-of-range
    HI119: dtype unknown-dtype
    HI120: name
    HI121: metadata
    HI122: misaligned
    HI123: entry shape extra-key
    HI124: zip-directory zip-local-header zip-member zip-duplicate zip-overlap zip-checksum
        zip-multidisk zip-encrypted zip-ambiguous
    HI125: pickle-truncated pickle-malformed storage-keys pickle-unfollowed
    HI126: storage-missing storage-size out-of-storage
    HI127: gguf-magic torch-magic unsupported
    HI128: gguf-alignment gguf-malformed gguf-value-type long-text
    HI129: no-tensors no-data
    HI402: pickle-global
    HI414: torchscript
    : expanded-view storage-larger storage-unused compound-tensor training-state optimizer-state
    """
)


def from_format(facts: TargetFacts, code: str) -> Iterator[RuleFinding]:
    """What the format readers found that ``code`` reports."""
    for weight in facts.weights.values():
        for problem in weight.problems:
            if REPORTED_BY.get(problem.rule, "HI199") == code:
                yield RuleFinding(problem.text, weight.path, problem.tensor, None, problem.severity)


@rule("HI129", "no-tensors", "warning")
def no_tensors(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A weight file holds no tensor, or tensors without data.

    Why: it loads without complaint and leaves the model as it was initialised.

    Fix: save the model from a process that holds the weights (not from one that has them on the
    meta device or spread over others).
    """
    for finding in from_format(facts, "HI129"):
        weight = facts.weights[finding.file or ""]
        if weight.name.kind is not FileKind.TRAINING:  # the state of a fresh optimizer is empty
            yield finding
    for weight in facts.weights.values():
        if weight.shard is None or weight.name.format == "torch" or weight.tensors:
            continue
        if not any(problem.severity == "error" for problem in weight.problems):
            yield RuleFinding("holds no tensors", weight.path)


rules_alike(
    """
    HI105 zero-filled error
    A weight file begins with zero bytes where its header should be.
    Why: the space was allocated and the download never wrote it.
    Fix: fetch the file again.

    HI110 truncated error
    A weight file ends before its tensors do, or inside its header.
    Why: loaders fail late, or map the file and read zeros; a shard cut short has cost people weeks.
    Fix: download or copy the file again and compare its size with the source.

    HI111 trailing-bytes error
    Bytes after the last tensor, or after the end of the archive, belong to nothing.
    Why: two files were joined or a header was replaced; the safetensors library refuses the file,
    and hidden content can travel there.
    Fix: save the tensors again with the library of the format.

    HI112 hole error
    Bytes between two tensors belong to neither.
    Why: the format forbids it, since content could hide there; the safetensors library refuses it.
    Fix: save the tensors again with the library of the format.

    HI113 overlap error
    Two tensors claim the same bytes, wholly or in part.
    Why: one of them holds what was meant for the other.
    Fix: save the tensors again; tensors that are tied on purpose are stored once.

    HI114 header-too-large error
    A header claims a size or a number beyond any real file.
    Why: readers that believe it allocate it; usually the file is not of the format at all.
    Fix: see what the file is; download it again.

    HI115 header-not-json error
    A safetensors header is not UTF-8, not JSON, or not an object.
    Why: nothing in the file can be found without it.
    Fix: download the file again; if it was written by a script, use the safetensors library.

    HI116 duplicate-key error
    A tensor or a key is described twice in one file.
    Why: readers disagree about which description counts, so two programs see two models.
    Fix: save the tensors again under distinct names.

    HI117 shape-span error
    Shape times dtype is not the number of bytes that the tensor spans.
    Why: either shape, dtype or offsets are wrong, and every value is read from the wrong place.
    Fix: save the tensors again; if only the header was edited, undo that.

    HI118 offsets-out-of-range error
    A tensor's offsets lie outside the file or run backwards.
    Why: its data is not there; a careless reader reads foreign memory.
    Fix: download the file again; if the finding stays, save the tensors again.

    HI119 unknown-dtype warning
    A tensor has a dtype that the format's library does not know.
    Why: today's loaders refuse the whole file for it.
    Fix: convert the tensor, or say which library version reads it.

    HI120 tensor-name warning
    A tensor's name is empty or holds control or invisible characters.
    Why: such names cannot be matched with a model and disguise themselves in listings.
    Fix: rename the tensor.

    HI121 metadata error
    The header's metadata is not a mapping of strings to strings.
    Why: the safetensors library refuses the file.
    Fix: write every value of the metadata as a string.

    HI122 misaligned note
    Tensor data does not begin at an aligned byte.
    Why: it cannot be mapped into memory as it is, so loading copies it (safetensors) or fails
    (GGUF).
    Fix: pad the header with spaces to a multiple of 8, or save again with the library.

    HI123 tensor-entry error
    An entry of a header lacks dtype, shape or offsets, or they are of the wrong kind.
    Why: the tensor cannot be read, and the library refuses the whole file.
    Fix: save the tensors again with the library of the format.

    HI124 zip-damaged error
    The zip directory of a PyTorch file is missing, damaged or ambiguous.
    Why: the file was cut short or put together by hand; readers see different members in it.
    Fix: download the file again; if the finding stays, save it again with torch.save.

    HI125 pickle-damaged error
    The pickle of a PyTorch file is cut short or malformed.
    Why: the file cannot be loaded, or not by every loader.
    Fix: download the file again; if the finding stays, save it again with torch.save.

    HI126 storage error
    A storage that tensors of a PyTorch file need is absent or of another size.
    Why: these tensors have no data, or only a part of it.
    Fix: download the file again; if the finding stays, save it again with torch.save.

    HI127 other-format error
    A weight file is of another format than its name says.
    Why: loaders choose the reader by the name and fail, or fall back to a less safe one.
    Fix: rename the file, or put the right one in its place.

    HI128 gguf-damaged error
    A GGUF header holds values that make no sense.
    Why: llama.cpp refuses the file.
    Fix: download or convert it again.

    HI199 format error
    A weight file breaks its format in a way that has no code of its own.
    Why: the reader noticed, and nothing that was noticed is kept back.
    Fix: as the text says; download the file again first.
    """,
    lambda code, _: partial(from_format, code=code),
)
