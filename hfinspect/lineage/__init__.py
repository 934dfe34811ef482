"""Where a checkpoint comes from: which files and which weights it has in common with another.

``opened`` compares hashes that are known without reading. ``weight_reading`` is the only place
outside of ``audit --deep`` that reads weights, and only where ``compare`` was given
``--sample`` or ``--values``. Imports inspecting and below. A new method of comparing weights is
a function of ``weight_reading`` and a name in ``opened``.
"""
