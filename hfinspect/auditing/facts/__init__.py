"""What an audit knows of a model: each file read at most once; a damaged one stops no other.

``collect`` puts everything together as the ``Facts`` of ``target``; headers, indexes and configs
come from the reader that inspecting has too (``checkpoints/one_file``). Imports inspecting,
checkpoints and below, never a rule. A new fact is a field of ``Facts``, collected by a file of this
folder.
"""
