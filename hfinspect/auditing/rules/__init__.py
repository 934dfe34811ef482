"""The rules: one decorated function each, which yields what it found.

Those that differ in their texts alone are rows of one ``rules_alike``.

A rule judges ``Facts`` and reads nothing. Imports ``facts``, the registry and below. A new rule
goes to the file of its subject, with the next free code of its hundred; its docstring says what,
why and how to repair, and becomes docs/audit-rules.md.
"""
