"""What a page calls the models that it is about: short, different from each other, no path."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from ..core.refs import Origin


def page_names(models: Sequence[tuple[str, Origin | None]]) -> list[str]:
    """One name for each (target, origin): the repo, the folder's own name, or the name that was
    given in Python. Folders of one name have those that they lie in before it."""
    names = [_short(target, origin) for target, origin in models]
    counts = Counter(names)
    return [
        _longer(target, [other for other, _ in models]) if counts[name] > 1 else name
        for name, (target, _) in zip(names, models, strict=True)
    ]


def _short(target: str, origin: Origin | None) -> str:
    path = PurePath(target)
    if origin is not None and (target == origin.name or path.is_absolute()):
        return origin.short_name
    return path.name if path.is_absolute() and path.name else target


def _longer(target: str, others: Sequence[str]) -> str:
    """The end of a path that no other one has; the same model twice keeps its name."""
    parts = target.strip("/").split("/")
    for count in range(1, len(parts) + 1):
        end = "/".join(parts[-count:])
        alike = [other for other in others if f"/{other.strip('/')}".endswith(f"/{end}")]
        if len(set(alike)) == 1:
            return end
    return target.strip("/")
