"""hfinspect in a browser: static files that answer there, with no server behind them.

``python -m hfinspect.web --output DIR`` puts them together. ``app/`` is the page; its worker runs
this package in Pyodide and calls ``answering``. Imports pictures, api and below. A new tab of the
page is a function in ``answering`` and a line of ``KINDS`` in ``app/app.js``.
"""
