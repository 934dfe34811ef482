"""Engines: how each holds weights, caches and states, and what it needs next to them.

Imports the sizing rules of layers and the nouns of core, never a report. ``interface.py`` says what
an engine must answer. A new one is a file of its own, a line in ``registry.py``, and its name in
``core/choices.py``.
"""
