"""Which release of transformers the package speaks of: the one constant for it.

The catalog, the caches, the rules of activations and the lists of classes were recorded from this
release; ``python -m tests.oracle release`` takes a later one and writes its number here. A single
recording may name an older release: it stays until something in it changes.
"""

from typing import Final

#: The release itself, as ``transformers.__version__`` says it.
TRANSFORMERS: Final = "5.23.0"
#: The same as texts name it: major and minor number.
TRANSFORMERS_SERIES: Final = ".".join(TRANSFORMERS.split(".")[:2])
