"""How many tokens an image, a video or a sound takes: the rules of the models' processors.

Imports ``core`` alone. One file is one way to count, and names the model types that count so. A new
family is a subclass of ``TokenRule`` with all of its members, in a file of its own (a line of
``registry.py``) or next to one that counts alike, and its changed settings in
``tests/oracle/record_media_tokens.py``.
"""
