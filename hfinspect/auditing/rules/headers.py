"""HI105, HI11x to HI12x and HI199: a weight file against the rules of its format."""

from collections.abc import Iterator
from functools import partial

from ...checkpoints.filenames import FileKind
from ..facts.target import TargetFacts
from ..registry import RuleFinding, Wording, rule, rules_alike

#: Rules of the format readers -> the code that reports them, here or in another file; those
#: without a code are no trouble at all. The others are HI199's.
REPORTED_BY = {
    "unknown-size": "HI101",
    "unreadable": "HI101",
    "empty-file": "HI102",
    "lfs-pointer": "HI103",
    "xet-pointer": "HI103",
    "html-page": "HI104",
    "error-page": "HI104",
    "zero-filled": "HI105",
    "truncated": "HI110",
    "truncated-header": "HI110",
    "header-too-small": "HI110",
    "trailing": "HI111",
    "trailing-bytes": "HI111",
    "hole": "HI112",
    "overlap": "HI113",
    "shared-storage": "HI113",
    "header-too-large": "HI114",
    "limit": "HI114",
    "utf8": "HI115",
    "not-json": "HI115",
    "nesting": "HI115",
    "too-many-values": "HI115",
    "not-object": "HI115",
    "header-start": "HI115",
    "duplicate-key": "HI116",
    "duplicate-name": "HI116",
    "span": "HI117",
    "overflow": "HI117",
    "block-shape": "HI117",
    "offsets": "HI118",
    "out-of-range": "HI118",
    "dtype": "HI119",
    "unknown-dtype": "HI119",
    "name": "HI120",
    "metadata": "HI121",
    "misaligned": "HI122",
    "entry": "HI123",
    "shape": "HI123",
    "extra-key": "HI123",
    "zip-directory": "HI124",
    "zip-local-header": "HI124",
    "zip-member": "HI124",
    "zip-duplicate": "HI124",
    "zip-overlap": "HI124",
    "zip-checksum": "HI124",
    "zip-multidisk": "HI124",
    "zip-encrypted": "HI124",
    "zip-ambiguous": "HI124",
    "pickle-truncated": "HI125",
    "pickle-malformed": "HI125",
    "storage-keys": "HI125",
    "pickle-unfollowed": "HI125",
    "storage-missing": "HI126",
    "storage-size": "HI126",
    "out-of-storage": "HI126",
    "gguf-magic": "HI127",
    "torch-magic": "HI127",
    "other-format": "HI127",
    "unsupported": "HI127",
    "gguf-alignment": "HI128",
    "gguf-malformed": "HI128",
    "gguf-value-type": "HI128",
    "long-text": "HI128",
    "no-tensors": "HI129",
    "no-data": "HI129",
    "pickle-global": "HI402",
    "torchscript": "HI414",
    "expanded-view": "",
    "storage-larger": "",
    "storage-unused": "",
    "compound-tensor": "",
    "training-state": "",
    "optimizer-state": "",
}


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


#: What differs between rules that are alike.
_WORDINGS = (
    Wording(
        "HI105",
        "zero-filled",
        "error",
        what="A weight file begins with zero bytes where its header should be.",
        why="The space was allocated and the download never wrote it.",
        fix="Fetch the file again.",
    ),
    Wording(
        "HI110",
        "truncated",
        "error",
        what="A weight file ends before its tensors do, or inside its header.",
        why="Loaders fail late, or map the file and read zeros; a shard cut short has cost people "
        "weeks.",
        fix="Download or copy the file again and compare its size with the source.",
    ),
    Wording(
        "HI111",
        "trailing-bytes",
        "error",
        what="Bytes after the last tensor, or after the end of the archive, belong to nothing.",
        why="Two files were joined or a header was replaced; the safetensors library refuses the "
        "file, and hidden content can travel there.",
        fix="Save the tensors again with the library of the format.",
    ),
    Wording(
        "HI112",
        "hole",
        "error",
        what="Bytes between two tensors belong to neither.",
        why="The format forbids it, since content could hide there; the safetensors library "
        "refuses it.",
        fix="Save the tensors again with the library of the format.",
    ),
    Wording(
        "HI113",
        "overlap",
        "error",
        what="Two tensors claim the same bytes, wholly or in part.",
        why="One of them holds what was meant for the other.",
        fix="Save the tensors again; tensors that are tied on purpose are stored once.",
    ),
    Wording(
        "HI114",
        "header-too-large",
        "error",
        what="A header claims a size or a number beyond any real file.",
        why="Readers that believe it allocate it; usually the file is not of the format at all.",
        fix="See what the file is; download it again.",
    ),
    Wording(
        "HI115",
        "header-not-json",
        "error",
        what="A safetensors header is not UTF-8, not JSON, or not an object.",
        why="Nothing in the file can be found without it.",
        fix="Download the file again; if it was written by a script, use the safetensors library.",
    ),
    Wording(
        "HI116",
        "duplicate-key",
        "error",
        what="A tensor or a key is described twice in one file.",
        why="Readers disagree about which description counts, so two programs see two models.",
        fix="Save the tensors again under distinct names.",
    ),
    Wording(
        "HI117",
        "shape-span",
        "error",
        what="Shape times dtype is not the number of bytes that the tensor spans.",
        why="Either shape, dtype or offsets are wrong, and every value is read from the wrong "
        "place.",
        fix="Save the tensors again; if only the header was edited, undo that.",
    ),
    Wording(
        "HI118",
        "offsets-out-of-range",
        "error",
        what="A tensor's offsets lie outside the file or run backwards.",
        why="Its data is not there; a careless reader reads foreign memory.",
        fix="Download the file again; if the finding stays, save the tensors again.",
    ),
    Wording(
        "HI119",
        "unknown-dtype",
        "warning",
        what="A tensor has a dtype that the format's library does not know.",
        why="Today's loaders refuse the whole file for it.",
        fix="Convert the tensor, or say which library version reads it.",
    ),
    Wording(
        "HI120",
        "tensor-name",
        "warning",
        what="A tensor's name is empty or holds control or invisible characters.",
        why="Such names cannot be matched with a model and disguise themselves in listings.",
        fix="Rename the tensor.",
    ),
    Wording(
        "HI121",
        "metadata",
        "error",
        what="The header's metadata is not a mapping of strings to strings.",
        why="The safetensors library refuses the file.",
        fix="Write every value of the metadata as a string.",
    ),
    Wording(
        "HI122",
        "misaligned",
        "note",
        what="Tensor data does not begin at an aligned byte.",
        why="It cannot be mapped into memory as it is, so loading copies it (safetensors) or "
        "fails (GGUF).",
        fix="Pad the header with spaces to a multiple of 8, or save again with the library.",
    ),
    Wording(
        "HI123",
        "tensor-entry",
        "error",
        what="An entry of a header lacks dtype, shape or offsets, or they are of the wrong kind.",
        why="The tensor cannot be read, and the library refuses the whole file.",
        fix="Save the tensors again with the library of the format.",
    ),
    Wording(
        "HI124",
        "zip-damaged",
        "error",
        what="The zip directory of a PyTorch file is missing, damaged or ambiguous.",
        why="The file was cut short or put together by hand; readers see different members in it.",
        fix="Download the file again; if the finding stays, save it again with torch.save.",
    ),
    Wording(
        "HI125",
        "pickle-damaged",
        "error",
        what="The pickle of a PyTorch file is cut short or malformed.",
        why="The file cannot be loaded, or not by every loader.",
        fix="Download the file again; if the finding stays, save it again with torch.save.",
    ),
    Wording(
        "HI126",
        "storage",
        "error",
        what="A storage that tensors of a PyTorch file need is absent or of another size.",
        why="These tensors have no data, or only a part of it.",
        fix="Download the file again; if the finding stays, save it again with torch.save.",
    ),
    Wording(
        "HI127",
        "other-format",
        "error",
        what="A weight file is of another format than its name says.",
        why="Loaders choose the reader by the name and fail, or fall back to a less safe one.",
        fix="Rename the file, or put the right one in its place.",
    ),
    Wording(
        "HI128",
        "gguf-damaged",
        "error",
        what="A GGUF header holds values that make no sense.",
        why="Llama.cpp refuses the file.",
        fix="Download or convert it again.",
    ),
    Wording(
        "HI199",
        "format",
        "error",
        what="A weight file breaks its format in a way that has no code of its own.",
        why="The reader noticed, and nothing that was noticed is kept back.",
        fix="As the text says; download the file again first.",
    ),
)
rules_alike(_WORDINGS, lambda code, _: partial(from_format, code=code))
