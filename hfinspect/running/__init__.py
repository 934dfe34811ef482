"""Which engines load a model, why others do not, and with what line: the answers of ``runs``.

Imports sizing, analysis, trees and core. A new engine is a file here, whose class says all abstract
members of ``loader.py``, a line in ``registry.py`` and a name in ``core/choices.py``; its lists are
recorded from its own source by ``python -m tests.oracle record engine-lists``.
"""
