"""Whether what was read is the whole model: one file for each kind of evidence.

``judge`` asks them all; each is a function from the evidence to problems, imported where a look at
the evidence says that it has something to say. Imports analysis, trees and below. A new kind of
evidence is a file here, and two lines of ``judge``.
"""
