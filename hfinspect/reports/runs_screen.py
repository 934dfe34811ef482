"""The layout of ``runs``: one row for each engine, then the lines, the kernels and the training."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..core.engine_answers import NO, EngineAnswer, EngineAnswers, LaunchLine
from ..core.text import byte_size
from .document import Block, Cell, Column, Document, Facts, Paragraph, Preformatted, Table
from .judgement import judgement, remarks

_PLAIN = ("engine", "label", "version", "read", "answer", "runs_as", "reasons", "launch", "notes")


def lay_out(answers: EngineAnswers, *, drawn: bool = False) -> Document:
    """``drawn``: a page, whose title has the answer on its right."""
    answer = in_a_line(answers)
    blocks: list[Block] = [*judgement(answers.problems)]
    blocks += [_table(answers)] if drawn else [Paragraph(answer), _each(answers)]
    blocks += remarks(answers.problems)
    blocks += _notes(answers)
    blocks += _kernels(answers)
    blocks += (
        _in_public(answers, [*_lines(answers), *_training(answers)]) if drawn else _lines(answers)
    )
    blocks += () if drawn else _training(answers)
    plain = tuple(_row(one) for one in answers.answers)
    main = Table(tuple(Column(name, name) for name in _PLAIN), plain)
    name = answers.origin.short_name if drawn else answers.origin.name
    return Document(name, tuple(blocks), main, answer if drawn else "")


def _in_public(answers: EngineAnswers, blocks: list[Block]) -> list[Block]:
    """For a page, which others see: without the way to a folder of this machine."""
    target = answers.target
    short = answers.origin.short_name
    if not Path(target).is_absolute():
        return blocks
    return [
        replace(one, text=one.text.replace(target, short)) if isinstance(one, Preformatted) else one
        for one in blocks
    ]


def in_a_line(answers: EngineAnswers) -> str:
    """``LlamaForCausalLM, BF16: 6 of 7 engines load it on RTX 4090``."""
    what = answers.architecture or answers.model_type or "no class is named"
    packed = f", {answers.precision}" if answers.precision else ""
    loading = sum(one.answer == "yes" for one in answers.answers)
    where = ""
    if answers.device is not None:
        name, _, count = answers.device
        where = f" on {f'{count} x ' if count > 1 else ''}{name}"
    if len(answers.answers) == 1:
        only = answers.answers[0]
        word = {"yes": "loads it", "no": "does not load it"}.get(only.answer, "may load it")
        return f"{what}{packed}: {only.label} {word}{where}"
    return f"{what}{packed}: {loading} of {len(answers.answers)} engines load it{where}"


def _each(answers: EngineAnswers) -> Facts:
    """A line for each engine, which wraps in a narrow window."""
    return Facts(tuple((one.label, _sentence(one)) for one in answers.answers))


def _sentence(one: EngineAnswer) -> str:
    """``yes: class ChatGLMModel, as ChatGLMForCausalLM (0.33.0)``."""
    reasons = "; ".join(one.reasons)
    loads = one.answer != NO and one.runs_as
    runs_as = one.runs_as if loads and one.runs_as not in reasons.split() else ""
    return f"{one.answer}: {reasons}{f', as {runs_as}' if runs_as else ''} ({one.version})"


def _table(answers: EngineAnswers) -> Table:
    columns = (
        Column("label", "engine"),
        Column("answer", "loads it"),
        Column("version", "version read"),
        Column("runs_as", "runs as"),
        Column("reasons", "why"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one.label, one.answer, one.version, one.runs_as or "", "; ".join(one.reasons))
        for one in answers.answers
    )
    return Table(columns, rows, optional=("version", "runs_as"))


def _row(one: EngineAnswer) -> tuple[Cell, ...]:
    return (
        one.engine,
        one.label,
        one.version,
        one.read,
        one.answer,
        one.runs_as,
        "; ".join(one.reasons),
        " && ".join(line.command for line in one.launch),
        "; ".join(one.notes),
    )


def _notes(answers: EngineAnswers) -> Iterator[Block]:
    for one in answers.answers:
        for note in one.notes:
            yield Paragraph(f"{one.label}: {note}", "note")


def _kernels(answers: EngineAnswers) -> Iterator[Block]:
    for one in answers.answers:
        if one.kernels:
            columns = (Column("generation", "cards"), Column("kernels", "tried in this order"))
            rows = tuple((row.generation, ", ".join(row.kernels)) for row in one.kernels)
            title = f"{one.label}'s kernels for packed linear layers (experts have their own)"
            yield Table(columns, rows, title=title)


def _lines(answers: EngineAnswers) -> Iterator[Block]:
    lines = [text for one in answers.answers for text in _commented(one.label, one.launch)]
    if lines:
        yield Preformatted("\n".join(lines), "sh")
    silent: dict[tuple[str, str], list[str]] = {}
    for one in answers.answers:
        if one.answer != NO and one.launch_unknown:
            what = "no further line" if one.launch else "no line"
            silent.setdefault((what, one.launch_unknown), []).append(one.label)
    for (what, reason), labels in silent.items():
        yield Paragraph(f"{what} for {', '.join(labels)}: {reason}", "note")


def _commented(label: str, lines: tuple[LaunchLine, ...]) -> Iterator[str]:
    """The commands under comments: whose they are, and where their numbers come from."""
    for at, line in enumerate(lines):
        if at == 0:
            yield f"# {label}"
        yield from (f"#   {reason}" for reason in line.because)
        yield line.command


def _with_file(file: str, config: str, label: str, line: LaunchLine) -> Iterator[str]:
    """The command after its comments and after what writes the file that it reads."""
    *comments, command = _commented(label, (line,))
    yield from comments
    if file:
        yield f"cat > {file} <<'END'"
        yield config
        yield "END"
    yield command


def _training(answers: EngineAnswers) -> Iterator[Block]:
    if answers.training_unknown:
        yield Paragraph(f"no line for training: {answers.training_unknown}", "note")
    lines = [
        text
        for training in answers.training
        if training.launch is not None
        for text in _with_file(
            training.file, training.config, f"training with {training.framework}", training.launch
        )
    ]
    if lines:
        yield Preformatted("\n".join(lines), "sh")
    for training in answers.training:
        if training.launch is None:
            least = (
                f": at least {byte_size(training.least)} on each device" if training.least else ""
            )
            yield Paragraph(f"training with {training.framework} does not fit{least}", "note")
