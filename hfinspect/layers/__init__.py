"""What families share: blocks, attention, heads, encoders, towers.

A function belongs here when a second family needs it: a new
file, or a function in the file of its kind. Imports trees, core and errors; never a
family. A family that is used by one other only stays in ``architectures/``.
"""
