"""Coded rules, one function each, and the facts they judge. Changes nothing on disk.

Imports inspecting, checkpoints and below. A new rule is a function in a file of ``rules/``; what it
needs to know is a fact, collected in ``facts/``.

The room is not called ``audit`` because ``hfinspect.audit`` is the function: importing a package of
that name would put the package in the function's place.
"""
