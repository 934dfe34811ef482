"""Which releases of transformers the package speaks of, each in one constant.

``python -m tests.oracle release`` takes a later release and writes ``TRANSFORMERS``. A single
recording may name an older release: it stays until something in it changes.
"""

from typing import Final

#: Names and shapes, keys of configs, and lists of classes are of this release.
TRANSFORMERS: Final = "5.24.0"
#: Since this one some classes save other tensors, and keep routers in float32 (``saved_between``).
REVISED: Final = "5.24"
#: Caches and activations were recorded by running models of this release.
TRANSFORMERS_RUN: Final = "5.24.0"
#: The same as texts name it: major and minor number.
TRANSFORMERS_RUN_SERIES: Final = ".".join(TRANSFORMERS_RUN.split(".")[:2])
