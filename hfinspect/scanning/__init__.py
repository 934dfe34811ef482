"""Many models at once: targets, the engine that reads them, and rows that survive a crash.

Imports api and below. A new column goes to ``rows``, a new kind of list of targets to ``targets``.
A target never stops the others: what went wrong is a ``Failure`` in its row.
"""

from .engine import inspect_one, run, scan
from .summary import report

__all__ = ["inspect_one", "report", "run", "scan"]
