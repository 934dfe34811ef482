"""hfinspect in a browser: one page with two answerers.

``python -m hfinspect.web --output DIR`` makes static files with no server behind them: the page in
``app/`` has a worker that runs this package in Pyodide and calls ``answering`` (``in_page.js``).
``serving`` is the server of ``hfinspect serve``, which calls the same (``by_server.js``). Imports
pictures, api and below. A new tab of the page is a function in ``answering`` and a line of
``KINDS`` in ``app/app.js``.
"""
