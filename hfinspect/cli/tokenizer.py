"""``hfinspect tokenizer MODEL``: tokens, special ids, chat templates and lengths side by side."""

import typer

from ..core.option_field import same_option
from ..core.read_fields import AtRevision, FromSource, OneFile
from ..core.records import dataclass
from . import options
from .option_groups import arguments_of, grouped


def register(app: typer.Typer) -> None:
    app.command(
        "tokenizer", epilog="Example: hfinspect tokenizer Qwen/Qwen3-8B, or --file tokenizer"
    )(tokenizer)


@dataclass(frozen=True, kw_only=True)
class TokenizerPart(OneFile, FromSource, AtRevision):
    """Which tokenizer of a model."""

    file: str | None = same_option(
        OneFile, "file", "Read this GGUF file, or the tokenizer in this folder."
    )


@grouped
def tokenizer(
    model: options.Model,
    *,
    part: TokenizerPart,
    format_: options.Format = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """Show tokens, special ids, chat templates and context lengths, and where they disagree.

    Reads the model as inspect does, then the files of the tokenizer (tokenizer.json, vocab.json,
    vocab.txt, tekken.json, SentencePiece, tiktoken), or the key-values of a GGUF file; of a
    pipeline each tokenizer with its text encoder. Chat templates are parsed and never run.
    """
    from .. import api
    from ..reports.tokenizer_screen import lay_out
    from .output import checked_format, emit
    from .reading_line import reading_line

    checked_format(format_)
    with reading_line(model, revision=part.revision) as progress:
        facts = api.tokenizer(model, **arguments_of(part), **access.arguments(), progress=progress)
    emit(format_, lambda: lay_out(facts), facts.to_dict, output)
