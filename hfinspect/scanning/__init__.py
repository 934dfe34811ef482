"""Many models at once: targets, the engine that asks for them, and rows that survive a crash."""

from .engine import inspect_one, run, scan

__all__ = ["inspect_one", "run", "scan"]
