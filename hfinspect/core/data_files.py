"""Tables that are data, recorded by the tools of ``tests/oracle/``: files of JSON.

Some repeat themselves much. A wheel has those as xz streams, ``<name>.xz``, which take two thirds
of the space that its own compression needs (``tests/packaging/pack_data.py``).
"""

import json
import pkgutil
from typing import Any

from ..errors import HfinspectError


def read(room: str, name: str) -> dict[str, Any]:
    """The table ``name`` of the package ``room``.

    Raises HfinspectError where this Python cannot read what a wheel has.
    """
    try:
        content = pkgutil.get_data(room, name)
    except FileNotFoundError:
        content = unpacked(pkgutil.get_data(room, f"{name}.xz"), name)
    assert content is not None
    data: dict[str, Any] = json.loads(content)
    return data


def unpacked(stream: bytes | None, name: str) -> bytes:
    """What an xz stream holds. Raises HfinspectError where this Python has no lzma."""
    assert stream is not None
    try:
        import lzma
    except ImportError:
        raise HfinspectError(
            name,
            "is in a form that this Python cannot read: it was built without lzma",
            hint="install a Python that has it",
        ) from None
    return lzma.decompress(stream)
