"""The reviewed lists of names in pickles, as data: a use, a name and a reason on each line.

``runs_code`` are dangerous, ``libraries`` known, ``weights_only`` what torch itself lets through.
Read by ``facts/pickle_names``; imports nothing. A new name is a line, in order, with what it does:
docs/pickles.md says what the lists are and are not.
"""
