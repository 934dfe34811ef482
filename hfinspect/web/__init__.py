"""hfinspect in a browser: static files that answer there, with no server behind them.

``python -m hfinspect.web --output DIR`` puts them together. ``app/`` is the page, its worker runs
this package in Pyodide, and ``answering.py`` is what the worker calls.
"""
