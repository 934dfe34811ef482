"""The reviewed lists of names in pickles, as data: a use, a name and a reason on each line.

docs/pickles.md says what the lists are and are not.
"""
