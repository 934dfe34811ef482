"""``hfinspect audit TARGET ...``: is this checkpoint whole, consistent and safe?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.choices import listed
from ..core.read_fields import ModelPart
from ..reports.registry import OF_FINDINGS, OF_RULES
from . import options
from .option_groups import arguments_of, grouped

if TYPE_CHECKING:
    from ..auditing.baseline import FindingKey
    from ..auditing.registry import Rule
    from ..core.results import Failure
    from ..core.verdicts import AuditResult
    from ..reports.document import Document

_THRESHOLDS = ("error", "warning", "note", "never")


def register(app: typer.Typer) -> None:
    app.command(
        "audit", epilog="Example: hfinspect audit ./checkpoint --fail-on warning --format sarif"
    )(audit)


@grouped
def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET...", help="Directories, weight files or Hub repos.", show_default=False
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select", metavar="CODES", help="Run only these rules (HI2, HI301); repeatable."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="CODES", help="Skip these rules; repeatable."),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            help="Exit with code 1 at this severity or worse: error, warning, note or never. "
            "Default: error.",
            autocompletion=lambda: list(_THRESHOLDS),
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Do not repeat the findings of this earlier audit (JSON)."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read [tool.hfinspect] from this pyproject.toml."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Expect the same tensors and shapes as this model, or its base."
        ),
    ] = None,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also read the weights: checksums, NaN, Inf and all-zero tensors."
        ),
    ] = False,
    pointers: Annotated[
        bool,
        typer.Option("--pointers", help="Accept Git LFS pointers: check names and sizes only."),
    ] = False,
    recursive: Annotated[
        bool,
        typer.Option("--recursive", help="Audit every checkpoint directory below the targets."),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="CODE", help="Explain one rule: what it checks, why, and how to fix it."
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the rules, limited by --select and --ignore.")
    ] = False,
    *,
    part: ModelPart,
    format_: Annotated[str, options.format_option(OF_FINDINGS)] = "table",
    output: options.Output = None,
    access: options.AccessFlags,
) -> None:
    """Check that a checkpoint is complete, consistent and safe.

    Reads headers only, unless --deep is given. Exit code 1 if a finding reaches the severity of
    --fail-on.
    """
    from .. import api
    from ..auditing.baseline import without_known
    from ..auditing.registry import chosen
    from ..core.results import Failure
    from ..core.text import clean
    from ..core.verdicts import AuditResult
    from ..errors import HfinspectError, UsageError
    from .audit_config import find_config
    from .output import checked_format
    from .reading_line import reading_line

    checked_format(format_, OF_FINDINGS)
    if explain is not None:
        return _explain(explain, format_, output)
    project, remark = find_config(targets or (), config)
    if remark:
        typer.echo(f"note: {clean(remark, 1000)}", err=True)
    selected = tuple(select or project.select)
    ignored = tuple(ignore or project.ignore)
    fail_on = fail_on or project.fail_on or "error"
    if list_:
        return _list(chosen(selected, ignored, deep=True), format_, output)
    if fail_on not in _THRESHOLDS:
        raise UsageError(f"--fail-on {fail_on}", "is unknown", expected=", ".join(_THRESHOLDS))
    # Unknown codes and a baseline that is none are reported before anything is read.
    chosen(selected, (*ignored, *(c for _, codes in project.per_path for c in codes)), deep=deep)
    known = _baseline(baseline)

    def one(target: str) -> AuditResult | Failure:
        try:
            with reading_line(target, revision=part.revision) as progress:
                result = api.audit(
                    target,
                    select=selected,
                    ignore=(*ignored, *project.ignored_at(target)),
                    reference=reference,
                    deep=deep,
                    pointers=pointers,
                    **arguments_of(part),
                    **access.arguments(),
                    progress=progress,
                )
                return without_known(result, known)
        except UsageError:
            raise
        except HfinspectError as error:
            return Failure(target, error)

    results = [one(target) for target in _named(targets, recursive)]
    failures = [result for result in results if isinstance(result, Failure)]
    if len(failures) == len(results) == 1:
        raise failures[0].error
    _show(results, format_, fail_on, output)
    if failures:
        for failure in failures:
            typer.echo(f"error: {clean(str(failure.error), 1000)}", err=True)
        raise typer.Exit(max(failure.error.exit_code for failure in failures))
    if any(r.failing(fail_on) for r in results if isinstance(r, AuditResult)):
        raise typer.Exit(1)
    return None


def _baseline(path: Path | None) -> Counter[FindingKey]:
    """The findings of an earlier audit. Raises UsageError where the file is none."""
    from ..auditing.baseline import MAX_BASELINE, known_findings
    from ..core.nesting import NestingError, loads
    from ..errors import UsageError

    if path is None:
        return Counter()
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BASELINE + 1)
        if len(data) > MAX_BASELINE:
            raise UsageError(f"--baseline {path}", f"has more than {MAX_BASELINE:,} bytes")
        return known_findings(str(path), loads(data))
    except OSError as error:
        raise UsageError(
            f"--baseline {path}",
            f"cannot be read: {error.strerror or error}",
            hint=f"hfinspect audit TARGET -f json -o {path} creates one",
        ) from None
    except NestingError as error:
        raise UsageError(f"--baseline {path}", error.found, expected=error.expected) from None
    except ValueError:
        raise UsageError(f"--baseline {path}", "is not JSON") from None


def _named(targets: Sequence[str] | None, recursive: bool) -> list[str]:
    """The targets, or with ``--recursive`` the checkpoints below them: the outermost ones, since an
    audit covers all that lies in a directory."""
    from ..errors import NothingToInspectError, UsageError

    if not targets:
        raise UsageError("audit", "needs a target", expected="a directory, a file or a repo")
    if not recursive:
        return list(targets)
    from ..scanning.targets import below

    names: list[str] = []
    for target in targets:
        for folder in below(Path(target).expanduser()):
            inside = any(_is_inside(folder, other) for other in names)
            if not inside:
                names.append(folder)
    if not names:
        raise NothingToInspectError(targets[0], "contains no checkpoint, at any depth")
    return names


def _is_inside(folder: str, other: str) -> bool:
    return Path(other) in Path(folder).parents


def _show(
    results: Sequence[AuditResult | Failure], format_: str, fail_on: str, output: Path | None
) -> None:
    from ..auditing.registry import rules
    from ..reports import cyclonedx, junit, sarif
    from ..reports.verdict import Audits, lay_out, lay_out_page
    from .output import emit, write

    if format_ == "sarif":
        write(sarif.render(results, rules()), output)
    elif format_ == "cyclonedx":
        write(cyclonedx.render(results), output)
    elif format_ == "junit":
        write(junit.render(results, rules(), fail_on), output)
    else:

        def laid_out() -> Document:
            if format_ == "html":
                return lay_out_page(results)
            return lay_out(results, lines=format_ == "table")

        emit(format_, laid_out, Audits(results).to_dict, output)


def _list(rules: Sequence[Rule], format_: str, output: Path | None) -> None:
    from ..reports.verdict import RuleList, lay_out_rules
    from .output import emit

    _not_of_rules("--list", format_)
    emit(
        format_,
        lambda: lay_out_rules(rules, lines=format_ == "table"),
        RuleList(rules).to_dict,
        output,
    )


def _not_of_rules(option: str, format_: str) -> None:
    from ..errors import UsageError

    if format_ not in OF_RULES:
        raise UsageError(f"{option} as {format_}", "is not available", expected=listed(OF_RULES))


def _explain(code: str, format_: str, output: Path | None) -> None:
    from ..auditing.registry import get_rule
    from ..reports.verdict import lay_out_rule
    from .output import emit

    rule = get_rule(code)
    _not_of_rules("--explain", format_)
    emit(format_, lambda: lay_out_rule(rule), rule.to_dict, output)
