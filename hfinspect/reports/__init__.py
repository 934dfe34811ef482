"""Results as documents of blocks, and documents as text.

A layout makes a ``Document`` of a result, a renderer makes text of any document. Imports auditing,
explaining, sizing, inspecting and below; prints nothing. A new output is a file with ``render`` and
a line in ``registry``.
"""
