"""Which files are the model, and reading them: layouts, choices, indexes, shards.

From a source to ``ModelFiles`` in as few rounds of requests as possible. ``one_file`` is the only
reader of headers, indexes and configs: a value or an error, of which inspecting raises the first
and auditing makes findings. Imports layers, formats, sources and below. A new name of weight files
goes to ``filenames``, a new layout of a repo to ``repo_layout``.
"""
