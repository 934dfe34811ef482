"""Tokens of images and sounds by the keys of an mmproj file, as llama.cpp counts them.

Imports core and the rules' own words of media. A new type of projector is an entry of
``projectors.py`` or ``projected_sounds.py`` and a case of ``tests/oracle/record_mmproj_tokens.py``.
"""
