"""HI40x: what could run when the model is loaded. Nothing here is ever run to find out."""

from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

from ...core.text import clean
from ...errors import FormatError, HfinspectError
from ...formats.torch.script_code import REACHES_OUT
from ...formats.torch.unpacking import UnreadPartError
from ..facts.graphs import keras_text_gadgets
from ..facts.pickle_names import LIBRARY, RUNS_CODE, UNKNOWN, danger_of
from ..facts.target import TargetFacts
from ..facts.weight_files import is_pickle_by_name, weight_files
from ..registry import RuleFinding, rule


class _Name(NamedTuple):
    """A name that does not describe tensors, as a finding shows it."""

    path: str
    text: str
    danger: str


def _names(facts: TargetFacts) -> Iterator[_Name]:
    for path, scans in facts.pickles.items():
        weight = facts.weights.get(path)
        is_script = (
            weight is not None
            and weight.shard is not None
            and (weight.shard.format == "torchscript")
        )
        seen: set[tuple[str, str]] = set()
        for member, scan in scans:
            for item in scan.globals:
                if (item.dotted, item.use) in seen:
                    continue
                if is_script and item.module.partition(".")[0] == "__torch__":
                    continue  # the archive's own code, which HI414 reports
                seen.add((item.dotted, item.use))
                danger = danger_of(item.module, item.name, item.use)
                if danger is not None:
                    text = f"{clean(member, 80)} names {clean(item.dotted, 120)}"
                    yield _Name(path, f"{text} (byte {item.position:,})", danger)


def _severity(facts: TargetFacts, path: str, strict: Set[str]) -> str:
    """Of a reviewed name of a library, which runs no code of the file.

    Nothing but tensors belongs into a weight file (``strict``); checkpoints of training scripts
    keep their settings with the weights, and other pickles are there to keep objects.
    """
    if path in strict:
        return "error"
    weight = facts.weights.get(path)
    if weight is None or weight.name.format != "torch" or is_pickle_by_name(weight):
        return "note"
    return "warning"


@rule("HI401", "pickle-runs-code", "error")
def pickle_runs_code(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A pickle names a function that runs code, starts programs or opens files.

    Why: loading the file calls it, with arguments that the file chooses. No model needs that.

    Fix: do not load the file. If it is yours, find out who changed it.
    """
    for name in _names(facts):
        if name.danger == RUNS_CODE:
            yield RuleFinding(name.text, name.path)


@rule("HI402", "pickle-names", "warning")
def pickle_names(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A pickle names classes of well-known libraries that do not describe tensors.

    Why: each is reviewed and runs no code of the file, but loading imports the library, and
    weights_only refuses the file. An error in a weight file, a warning in a checkpoint that keeps
    settings with the weights, a note in other pickles.

    Fix: save a plain state dict, at best as safetensors.
    """
    strict = weight_files(facts)
    for name in _names(facts):
        if name.danger == LIBRARY:
            yield RuleFinding(name.text, name.path, severity=_severity(facts, name.path, strict))


@rule("HI415", "pickle-unknown-name", "error")
def pickle_unknown_name(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A pickle names something that is not known to be harmless.

    Why: loading imports it and may call it with arguments that the file chooses. Functions that
    look harmless have been used to run code, so only reviewed names pass.

    Fix: do not load the file unless you know the name and where the file is from; save a plain
    state dict, at best as safetensors.
    """
    for name in _names(facts):
        if name.danger == UNKNOWN:
            yield RuleFinding(name.text, name.path)


@rule("HI403", "pickle-unfollowed", "error")
def pickle_unfollowed(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A pickle, or the archive around it, could not be followed to its end.

    Why: an unpickler runs what comes before the damage, and one that reads the file differently
    runs what was not seen here at all.

    Fix: do not load the file; download it again.
    """
    for path, scans in facts.pickles.items():
        for member, scan in scans:
            if scan.error is not None and not _is_of_script(scan.error):
                text = f"{clean(member, 80)}: {clean(scan.error.found, 200)}"
                yield RuleFinding(text, path, severity=_unfollowed(scan.error))
    for path, error in facts.pickle_errors.items():
        weight = facts.weights.get(path)
        reported = weight is not None and any(p.severity == "error" for p in weight.problems)
        if error.exit_code == 4 and not reported and path not in facts.stand_ins:
            yield RuleFinding(error.found, path, severity=_unfollowed(error))


@rule("HI422", "not-looked-at", "warning")
def not_looked_at(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A part of the model was not looked at: it lies beyond a limit, or could not be fetched.

    Why: anything may lie there. No limit ends an audit silently.

    Fix: audit that part by itself, download the repo and audit the directory (or audit it with
    `--deep`), or try again later.
    """
    for item in facts.left_out:
        yield RuleFinding(clean(item.text, 240), item.path)


def _unfollowed(error: HfinspectError) -> str:
    """A part of an archive that was not looked at is not known to hold any pickle."""
    return "warning" if isinstance(error, UnreadPartError) else "error"


@rule("HI404", "remote-code", "warning")
def remote_code(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A config's `auto_map` makes loaders run Python code of the repo, or it allows that itself.

    Why: with trust_remote_code that code runs with the user's rights; it can change with every
    revision. Some loaders have taken `trust_remote_code` out of a config.

    Fix: read the code, and pin the revision; or use a class of the library.
    """
    for path, entry, reference in _auto_map(facts):
        if "--" not in reference:
            yield RuleFinding(f"auto_map gives {clean(entry, 80)} as {clean(reference, 120)}", path)
    for fact in facts.json.values():
        if any(section.get("trust_remote_code") is True for section in _sections(fact.value)):
            yield RuleFinding("it sets trust_remote_code", fact.path)


#: What Python imports as it imports a file of code, and nobody can read.
_COMPILED = (".so", ".pyc", ".pyd", ".dll", ".dylib")


#: What a system runs when somebody opens it. A llamafile is one for six systems at once.
_PROGRAMS = (".llamafile", ".exe", ".com", ".scr", ".msi")


@rule("HI405", "code", "note")
def code(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A Python file, compiled code or a program lies in the repo.

    Why: it is run where auto_map names it, directly or by an import. A program runs when it is
    opened, a llamafile with the weights inside too: an error.

    Fix: none needed for code; read it before trust_remote_code. Of a llamafile take the GGUF file.
    """
    for path in facts.files:
        if path.lower().endswith(_PROGRAMS):
            yield RuleFinding("a program, which runs when it is opened", path, severity="error")
        if path.endswith((".py", *_COMPILED)):
            yield RuleFinding("a Python file" if path.endswith(".py") else "compiled code", path)


@rule("HI406", "code-elsewhere", "warning")
def code_elsewhere(facts: TargetFacts) -> Iterator[RuleFinding]:
    """`auto_map` names code of another repo, or a file that is not there.

    Why: whoever owns the other repo decides what runs here, whatever revision is pinned; a name
    that is free can be taken.

    Fix: copy the code into this repo, and name it there.
    """
    for path, entry, reference in _auto_map(facts):
        folder = path[: path.rfind("/") + 1]
        if "--" in reference:
            repo = reference.partition("--")[0]
            yield RuleFinding(f"{clean(entry, 80)} is code of {clean(repo, 120)}", path)
        else:
            file = f"{folder}{reference.rpartition('.')[0].replace('.', '/')}.py"
            if file not in facts.files and not facts.single:
                yield RuleFinding(
                    f"{clean(entry, 80)} needs {clean(file, 120)}, which is not there", path
                )


def _auto_map(facts: TargetFacts) -> Iterator[tuple[str, str, str]]:
    """(config, entry, ``file.Class`` or ``repo--file.Class``), each reference once a config."""
    for fact in facts.json.values():
        seen: set[str] = set()
        for auto_map in _auto_maps(fact.value):
            for entry, value in auto_map.items():
                for reference in value if isinstance(value, list) else [value]:
                    if isinstance(reference, str) and reference not in seen:
                        seen.add(reference)
                        yield fact.path, str(entry), reference


def _auto_maps(config: object) -> Iterator[Mapping[str, object]]:
    """Every ``auto_map``, those of sections (``text_config``) and of lists of them included."""
    for section in _sections(config):
        auto_map = section.get("auto_map")
        if isinstance(auto_map, (str, list)):
            auto_map = {"auto_map": auto_map}
        if isinstance(auto_map, Mapping):
            yield auto_map


def _sections(config: object) -> Iterator[Mapping[str, object]]:
    """Every JSON object of a config, the outer ones first."""
    pending = [config]
    while pending:
        section = pending.pop()
        if isinstance(section, list):
            pending += reversed(section)
        elif isinstance(section, Mapping):
            yield section
            pending += [value for key, value in section.items() if key != "auto_map"][::-1]


def _is_of_script(error: HfinspectError) -> bool:
    return isinstance(error, FormatError) and error.rule == REACHES_OUT


@rule("HI414", "model-code", "note")
def model_code(facts: TargetFacts) -> Iterator[RuleFinding]:
    """A TorchScript archive carries code with the weights, or a Keras config makes loading run it.

    Why: it runs when the model is loaded or used. A Lambda layer is Python bytecode, and a config
    that names a module outside of Keras has it imported: errors. TorchScript is a note, unless its
    code calls an operator that writes or maps files or calls other machines: ``torch.jit.load``
    runs ``__setstate__`` of each class.

    Fix: load such files only from people you trust, or rebuild the model from plain weights.
    """
    for weight in facts.weights.values():
        for problem in weight.problems:
            if problem.rule == "torchscript":
                yield RuleFinding(problem.text, weight.path)
    for path, scans in facts.pickles.items():
        for member, scan in scans:
            if scan.error is not None and _is_of_script(scan.error):
                text = f"{clean(member, 80)}, {scan.error.where}: {scan.error.found}"
                yield RuleFinding(text, path, severity="error")
    described = [
        gadget
        for fact in facts.json.values()
        if isinstance((fact.mapping or {}).get("class_name"), str) and "config" in fact.value  # type: ignore[operator]
        for gadget in keras_text_gadgets(fact.path, fact.text)
    ]
    for gadget in (*facts.gadgets, *described):
        if gadget.rule == "model-code":
            yield RuleFinding(gadget.text, gadget.path, severity=gadget.severity)
