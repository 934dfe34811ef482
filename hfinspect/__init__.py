"""What is inside a Hugging Face model, before downloading it."""

from __future__ import annotations

from ._version import __version__

__all__ = ["__version__"]
