"""Whether what was read is the whole model: one file for each kind of evidence.

``judge.py`` asks them all; each is a function from the evidence to problems, and imports what only
it needs when it is asked.
"""
