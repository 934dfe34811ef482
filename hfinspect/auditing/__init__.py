"""Coded rules, one function each, and the facts they judge. Changes nothing on disk.

The room is not called ``audit`` because ``hfinspect.audit`` is the function: importing a package of
that name would put the package in the function's place.
"""
