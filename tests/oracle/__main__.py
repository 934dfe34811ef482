"""The tracer, the recorders and the judges, by one command: ``python -m tests.oracle``."""

from __future__ import annotations

import ast
import importlib.util
import runpy
import sys
from pathlib import Path
from typing import NamedTuple

from .without_kernels import import_torchvision

#: What every command needs, but for those that say otherwise.
LIBRARIES = ("torch", "transformers")
#: What runs models again: adapters, and the tests that judge caches.
RUNNING = (*LIBRARIES, "peft", "pytest")
#: Import name -> what pip calls it, where that is another.
PIP = {"sentence_transformers": "sentence-transformers"}


class Command(NamedTuple):
    """A module of this folder that is run: what it does, and what has to be installed."""

    name: str
    module: str
    what: str
    needs: tuple[str, ...] = LIBRARIES


COMMANDS: tuple[Command, ...] = (
    Command("trace", "trace", "record a type as data, from the library's own constructors"),
    Command("survey", "survey", "what the installed library has that the catalog lacks: seconds"),
    Command("release", "release", "take a new release of transformers, with a report", RUNNING),
    Command("run-again", "run_again", "run recorded models again: what differs now", RUNNING),
    Command("sources", "sources", "types whose code for shapes differs from the recorded release"),
    Command("replace", "replace", "put traces in place of written families that say no more"),
    Command("fuzz", "fuzz", "compare predictions with the library over random configs"),
    Command("stress", "stress", "the same with lists of other lengths and odd sizes"),
    Command("unlisted-keys", "unlisted_keys", "keys that the library reads and no config lists"),
    Command("pipelines", "pipelines", "pipelines of diffusers that are whole", ("diffusers",)),
    Command("trace-timm", "trace_timm", "record timm's architectures as data", ("torch", "timm")),
    Command("fixtures", "make_torch_fixtures", "small PyTorch and GGUF files", ("torch", "gguf")),
)
#: ``record SUBJECT``: each writes what one part of the tests compares with.
SUBJECTS: tuple[Command, ...] = (
    Command("saves", "record", "what the case files' models save"),
    Command("caches", "record_caches", "what these models keep between tokens"),
    Command("printed", "record_printed", "what print(model) shows"),
    Command("modules", "record_modules", "the modules that tensors stand in"),
    Command("float32", "record_float32", "what a save in half precision keeps in float32"),
    Command("config-keys", "record_config_keys", "second names, sections and fields of configs"),
    Command("refused-values", "record_refused_values", "values of configs that are refused"),
    Command("activations", "record_activations", "what autograd keeps", (*LIBRARIES, "peft")),
    Command("adapters", "record_adapters", "what LoRA trains", (*LIBRARIES, "peft")),
    Command("packed", "record_packed", "what is saved of small packed models"),
    Command("quantized", "record_quantized", "one Linear in each quantisation library", ("torch",)),
    Command(
        "tokenizers",
        "record_tokenizers",
        "what transformers says of small tokenizers",
        ("tokenizers", "transformers"),
    ),
    Command(
        "vocabularies",
        "record_vocabularies",
        "how libraries number pieces and ranks",
        ("sentencepiece", "tiktoken", "mistral_common", "transformers"),
    ),
    Command("media-tokens", "record_media_tokens", "what processors make of pictures and sounds"),
    Command("mmproj-tokens", "record_mmproj_tokens", "what llama.cpp makes of them", ("gguf",)),
    Command("engine-classes", "record_engine_classes", "the classes that each engine runs"),
    Command("engine-lists", "record_engine_lists", "what engines load, and their flags", ()),
    Command(
        "sentence-transformers",
        "record_sentence_transformers",
        "what sentence-transformers saves",
        ("torch", "sentence_transformers"),
    ),
)


def listing() -> str:
    """Every command with what it does and needs."""
    lines = ["usage: python -m tests.oracle COMMAND [ARGUMENTS]    (COMMAND --help says more)", ""]
    rows = [(c.name, c) for c in COMMANDS] + [(f"record {c.name}", c) for c in SUBJECTS]
    for name, command in rows:
        lines.append(f"  {name:29} {command.what}")
        if command.needs != LIBRARIES:
            lines.append(f"  {'':29}   needs {', '.join(pip_names(command.needs))}")
    lines += ["", "Where nothing else is said a command needs pip install -e '.[oracle]'."]
    return "\n".join(lines)


def pip_names(needs: tuple[str, ...]) -> list[str]:
    return [PIP.get(name, name) for name in needs]


def chosen(words: list[str]) -> tuple[Command, list[str]]:
    """The command that the words name, and its own arguments. Raises LookupError with the reason
    where they name none."""
    first, *rest = words
    if first == "record":
        if not rest or rest[0].startswith("-"):
            raise LookupError(f"record what? One of: {', '.join(c.name for c in SUBJECTS)}")
        subject, *rest = rest
        table = SUBJECTS
        given = subject
        kind = "subject of record"
    else:
        table = COMMANDS
        given = first
        kind = "command"
    for command in table:
        if command.name == given:
            return command, rest
    names = ", ".join(command.name for command in table)
    raise LookupError(f"{given!r} is not a {kind}; expected one of: {names}")


def lacking(command: Command) -> list[str]:
    """What has to be installed before the command can run, as pip calls it."""
    return pip_names(tuple(n for n in command.needs if importlib.util.find_spec(n) is None))


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(listing())
        return 0
    try:
        command, rest = chosen(words)
    except LookupError as error:
        print(f"{error.args[0]}\n\n{listing()}", file=sys.stderr)
        return 2
    if {"-h", "--help"} & set(rest):
        code = Path(__file__).with_name(f"{command.module}.py").read_text()
        print(ast.get_docstring(ast.parse(code)), end="\n\n")
        if "argparse" not in code:
            return 0
    elif missing := lacking(command):
        print(
            f"{command.name} needs {', '.join(missing)}: pip install -e '.[oracle]' "
            f"{' '.join(missing)}",
            file=sys.stderr,
        )
        return 2
    if "transformers" in command.needs and not {"-h", "--help"} & set(rest):
        import_torchvision()
    sys.argv = [f"python -m tests.oracle {command.name}", *rest]
    runpy.run_module(f"tests.oracle.{command.module}", run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
