"""What a notebook shows of each result: its report, as Markdown, HTML or a DataFrame."""

from typing import Any

from ..analysis.count import per_layer
from ..analysis.differences import Comparison
from ..core.cache_derivation import CacheDerivation
from ..core.engine_answers import EngineAnswers
from ..core.explanation import Explanation
from ..core.footprint import Memory
from ..core.refs import Origin
from ..core.results import Failure, Inspection
from ..core.verdicts import AuditResult
from ..errors import UsageError
from ..inspecting.assumed import assumed_alone
from ..inspecting.build import from_prediction
from ..trees.prediction import Prediction
from . import (
    cache_derived,
    comparison,
    explained,
    fragment,
    memory_screen,
    overview,
    runs_screen,
    verdict,
)
from . import markdown as markdown_report
from .document import Document, Paragraph, Table

Result = (
    Inspection
    | Explanation
    | CacheDerivation
    | Memory
    | EngineAnswers
    | AuditResult
    | Comparison
    | Prediction
    | Failure
)


def document_of(result: Result, *, short: bool = False) -> Document:
    """The report on a result; ``short`` is for the screen: with bars, without what is long."""
    if isinstance(result, Inspection):
        return overview.lay_out(result, layers=per_layer(result.tensors))
    if isinstance(result, Explanation):
        return explained.lay_out(result, depth="model" if short else None, drawn=short)
    if isinstance(result, CacheDerivation):
        return cache_derived.lay_out(result)
    if isinstance(result, Memory):
        return memory_screen.lay_out(result, drawn=short)
    if isinstance(result, EngineAnswers):
        return runs_screen.lay_out(result, drawn=short)
    if isinstance(result, AuditResult):
        return verdict.lay_out_page([result]) if short else verdict.lay_out([result])
    if isinstance(result, Comparison):
        return comparison.lay_out(result, drawn=short)
    if isinstance(result, Prediction):
        origin = Origin("mapping", result.architecture)
        notes = assumed_alone(result)
        return document_of(from_prediction(result.architecture, origin, result, findings=notes))
    return Document(result.target, (Paragraph(str(result.error), "error"),))


def markdown(result: Result) -> str:
    """As ``--format markdown`` writes it."""
    return markdown_report.render(document_of(result))


def html(result: Result) -> str:
    """One element without scripts, below 20,000 bytes."""
    return fragment.render(document_of(result, short=True))


def frame(result: Result) -> Any:
    """The main table as a DataFrame: plain numbers under the names of the csv's columns.

    Raises UsageError where pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise UsageError(
            "to_pandas", "needs pandas", hint="pip install pandas, or use to_dict()"
        ) from None
    document = document_of(result)
    blocks = [block for block in document.blocks if isinstance(block, Table)]
    table = document.main or (blocks[0] if blocks else Table((), ()))
    shown = [i for i, column in enumerate(table.columns) if column.kind != "bar"]
    rows = [[row[i] for i in shown] for row in table.rows]
    return pandas.DataFrame(rows, columns=[table.columns[i].name for i in shown])
