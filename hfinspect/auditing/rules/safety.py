"""HI40x: what could run when the model is loaded. Nothing here is ever run to find out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...core.text import clean
from ..facts.pickle_names import danger_of
from ..facts.target import Facts
from ..registry import Found, rule


def _names(facts: Facts) -> Iterator[tuple[str, str, str, str, int]]:
    """(file, member, dotted name, danger, position) of every name that is not of tensors."""
    for path, scans in facts.pickles.items():
        weight = facts.weights.get(path)
        script = weight is not None and weight.shard is not None
        is_script = script and weight is not None and weight.shard is not None and (
            weight.shard.format == "torchscript"
        )  # fmt: skip
        seen: set[str] = set()
        for member, scan in scans:
            for item in scan.globals:
                if item.dotted in seen or (is_script and item.module.startswith("__torch__")):
                    continue
                seen.add(item.dotted)
                danger = danger_of(item.module, item.name)
                if danger is not None:
                    yield path, member, item.dotted, danger, item.position


@rule("HI401", "pickle-runs-code", "error")
def pickle_runs_code(facts: Facts) -> Iterator[Found]:
    """A pickle names a function that runs code, starts programs or opens files.

    Why: loading the file calls it, with arguments that the file chooses. No model needs that.

    Fix: do not load the file. If it is yours, find out who changed it.
    """
    for path, member, dotted, danger, position in _names(facts):
        if danger == "error":
            text = f"{clean(member, 80)} names {clean(dotted, 120)} (byte {position:,})"
            yield Found(text, path)


@rule("HI402", "pickle-names", "warning")
def pickle_names(facts: Facts) -> Iterator[Found]:
    """A pickle names classes or functions that do not describe tensors.

    Why: loading imports and calls them, so the file cannot be loaded with weights_only, and what
    happens depends on what is installed. Names of well-known libraries are only noted.

    Fix: save a plain state dict, at best as safetensors.
    """
    for path, member, dotted, danger, position in _names(facts):
        if danger != "error":
            text = f"{clean(member, 80)} names {clean(dotted, 120)} (byte {position:,})"
            yield Found(text, path, severity=danger)


@rule("HI403", "pickle-unfollowed", "warning")
def pickle_unfollowed(facts: Facts) -> Iterator[Found]:
    """A pickle could not be followed to its end, so it may name more than was found.

    Why: an unpickler runs what comes before the damage.

    Fix: do not load the file; download it again.
    """
    for path, scans in facts.pickles.items():
        weight = facts.weights.get(path)
        if weight is not None and weight.shard is not None:
            continue
        for member, scan in scans:
            if scan.error is not None:
                yield Found(f"{clean(member, 80)}: {scan.error.found}", path)
    for path, error in facts.pickle_errors.items():
        weight = facts.weights.get(path)
        reported = weight is not None and weight.refused is not None
        if error.exit_code == 4 and not reported and path not in facts.stand_ins:
            yield Found(error.found, path)


@rule("HI404", "remote-code", "warning")
def remote_code(facts: Facts) -> Iterator[Found]:
    """A config's `auto_map` makes loaders run Python code of the repo.

    Why: with trust_remote_code that code runs with the user's rights; it can change with every
    revision.

    Fix: read the code, and pin the revision; or use a class of the library.
    """
    for path, entry, reference in _auto_map(facts):
        if "--" not in reference:
            yield Found(f"auto_map gives {clean(entry, 80)} as {clean(reference, 120)}", path)


@rule("HI405", "code", "note")
def code(facts: Facts) -> Iterator[Found]:
    """A Python file lies in the repo.

    Why: it is run where auto_map names it, directly or by an import.

    Fix: none needed; read it before trust_remote_code.
    """
    for path in facts.files:
        if path.endswith(".py"):
            yield Found("a Python file", path)


@rule("HI406", "code-elsewhere", "warning")
def code_elsewhere(facts: Facts) -> Iterator[Found]:
    """`auto_map` names code of another repo, or a file that is not there.

    Why: whoever owns the other repo decides what runs here, whatever revision is pinned; a name
    that is free can be taken.

    Fix: copy the code into this repo, and name it there.
    """
    for path, entry, reference in _auto_map(facts):
        folder = path[: path.rfind("/") + 1]
        if "--" in reference:
            repo = reference.partition("--")[0]
            yield Found(f"{clean(entry, 80)} is code of {clean(repo, 120)}", path)
        else:
            file = f"{folder}{reference.rpartition('.')[0].replace('.', '/')}.py"
            if file not in facts.files and not facts.single:
                yield Found(
                    f"{clean(entry, 80)} needs {clean(file, 120)}, which is not there", path
                )


def _auto_map(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """(config, entry, ``file.Class`` or ``repo--file.Class``), each reference once a config."""
    for fact in facts.json.values():
        found = (fact.mapping or {}).get("auto_map")
        if not isinstance(found, Mapping):
            found = {"auto_map": found} if isinstance(found, (str, list)) else {}
        seen: set[str] = set()
        for entry, value in found.items():
            for reference in value if isinstance(value, list) else [value]:
                if isinstance(reference, str) and reference not in seen:
                    seen.add(reference)
                    yield fact.path, entry, reference


@rule("HI414", "model-code", "note")
def model_code(facts: Facts) -> Iterator[Found]:
    """A TorchScript archive or a Keras Lambda layer carries code with the weights.

    Why: it runs when the model is loaded or used; a Lambda layer is arbitrary Python bytecode.

    Fix: load such files only from people you trust, or rebuild the model from plain weights.
    """
    for weight in facts.weights.values():
        for problem in weight.problems:
            if problem.rule == "torchscript":
                yield Found(problem.text, weight.path)
    for path in facts.keras_lambda:
        text = "has a Lambda layer: Python bytecode that runs when the model is built"
        yield Found(text, path, severity="warning")
